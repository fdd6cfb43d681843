// What comes from storage or from a file is somebody else's: it is rebuilt field by field, so that
// the rest of the page meets only well-formed conversations.
import { kRoot, newConversation, newId } from './tree.js';

const kRoles = new Set(['user', 'assistant']);
const kMaxMessages = 20000;

const text = (value) => (typeof value === 'string' ? value : '');
const number = (value, otherwise) => (Number.isFinite(value) ? value : otherwise);

function numbersOf(value) {
  if (!value || typeof value !== 'object') return null;
  const kept = {};
  for (const [name, field] of Object.entries(value))
    if (Number.isFinite(field)) kept[name] = field;
    else if (name === 'limitedBy') kept[name] = text(field);
  return kept;
}

function message(value, id, parent) {
  const node = { id, parent, role: value.role, content: text(value.content), children: [], chosen: 0 };
  if (value.reasoning) node.reasoning = text(value.reasoning);
  if (value.model) node.model = text(value.model);
  if (value.error) node.error = text(value.error);
  if (value.finish) node.finish = text(value.finish);
  if (value.stats) node.stats = numbersOf(value.stats);
  return node;
}

/**
 * A conversation with the given one's content. Messages that are no messages are left out, with all
 * below them; a message that is its own ancestor is met once.
 * @returns null when nothing of it is usable
 */
export function conversationFrom(value, now = Date.now()) {
  if (!value || typeof value !== 'object' || !value.nodes || typeof value.nodes !== 'object')
    return null;
  const conversation = newConversation(number(value.created, now));
  conversation.id = /^[a-z0-9]{8,40}$/.test(text(value.id)) ? value.id : newId();
  conversation.title = text(value.title).slice(0, 200);
  conversation.updated = number(value.updated, conversation.created);
  const nodes = new Map([[kRoot, conversation.nodes[kRoot]]]);
  const waiting = [kRoot];
  while (waiting.length > 0 && nodes.size < kMaxMessages) {
    const id = waiting.shift();
    const source = Object.hasOwn(value.nodes, id) ? value.nodes[id] : null;
    const children = Array.isArray(source?.children) ? source.children : [];
    const node = nodes.get(id);
    for (const child of children) {
      const found = typeof child === 'string' && Object.hasOwn(value.nodes, child);
      if (!found || nodes.has(child) || !kRoles.has(value.nodes[child]?.role)) continue;
      nodes.set(child, message(value.nodes[child], child, id));
      node.children.push(child);
      waiting.push(child);
    }
    const chosen = Math.trunc(number(source?.chosen, 0));
    node.chosen = Math.min(Math.max(0, chosen), Math.max(0, node.children.length - 1));
  }
  if (nodes.size === 1) return null;
  // No prototype: a message may have any id, also one that an object would inherit.
  conversation.nodes = Object.assign(Object.create(null), Object.fromEntries(nodes));
  return conversation;
}
