// A conversation is a tree of messages: editing or regenerating grows a sibling, and nothing that
// was said is lost. One child of every message is chosen; the chosen ones are what is shown.
//
// Conversations are values: every function returns a new one and shares what did not change.

/** The id of the message above the first ones. It has no text and is never shown. */
export const kRoot = 'root';

/** Also where `crypto.randomUUID` is missing: pages from another machine without TLS. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('');
}

export function newConversation(now = Date.now()) {
  const root = { id: kRoot, parent: null, role: 'root', children: [], chosen: 0 };
  return { id: newId(), title: '', created: now, updated: now, nodes: { [kRoot]: root } };
}

/** Adds a message below `parent` and chooses it. */
export function append(conversation, parent, message) {
  const above = conversation.nodes[parent];
  const node = { content: '', ...message, id: message.id ?? newId(), parent, children: [], chosen: 0 };
  const children = [...above.children, node.id];
  return {
    ...conversation,
    nodes: {
      ...conversation.nodes,
      [parent]: { ...above, children, chosen: children.length - 1 },
      [node.id]: node,
    },
  };
}

/** Replaces fields of a message. One that is gone meanwhile is no error. */
export function update(conversation, id, changes) {
  const node = conversation.nodes[id];
  if (!node) return conversation;
  return { ...conversation, nodes: { ...conversation.nodes, [id]: { ...node, ...changes } } };
}

/** The chosen messages, first to last, without the root. */
export function path(conversation) {
  const shown = [];
  let node = conversation.nodes[kRoot];
  for (;;) {
    node = conversation.nodes[node.children[node.chosen]];
    if (!node) return shown;
    shown.push(node);
  }
}

/** The messages from the first one down to `id`, whatever is chosen. */
export function pathTo(conversation, id) {
  const above = [];
  for (let node = conversation.nodes[id]; node && node.id !== kRoot; )
    node = (above.push(node), conversation.nodes[node.parent]);
  return above.reverse();
}

/** Where a message stands among its siblings. */
export function place(conversation, id) {
  const siblings = conversation.nodes[conversation.nodes[id].parent].children;
  return { index: siblings.indexOf(id), count: siblings.length };
}

/** Chooses the sibling `by` steps further; stays at the ends. */
export function walk(conversation, id, by) {
  const parent = conversation.nodes[conversation.nodes[id].parent];
  const last = parent.children.length - 1;
  const chosen = Math.min(last, Math.max(0, parent.children.indexOf(id) + by));
  return update(conversation, parent.id, { chosen });
}

/** What a list shows for it: the given title, or the first words. */
export function titleOf(conversation) {
  if (conversation.title) return conversation.title;
  const first = path(conversation).find((node) => node.role === 'user');
  const words = (first?.content ?? '').trim().replace(/\s+/g, ' ');
  if (!words) return 'New chat';
  return words.length > 60 ? words.slice(0, 59).trimEnd() + '…' : words;
}
