// Opening, naming, deleting and keeping conversations.
import { asJson, asMarkdown, fileName } from '../chat/export.js';
import { conversationFrom } from '../chat/stored.js';
import { newConversation, newId } from '../chat/tree.js';
import { library, notify, state } from './state.js';

const kSaveMs = 600;
const unsaved = new Set();
let saveTimer = 0;

export const currentConversation = (shown = state.get()) => shown.open[shown.current];

/** Replaces a conversation by a newer one of the same id, and keeps it. */
export function put(conversation) {
  state.set(({ open }) => ({ open: { ...open, [conversation.id]: conversation } }));
  unsaved.add(conversation.id);
  saveTimer ||= setTimeout(saveAll, kSaveMs);
}

/** Changes a conversation if it is still there. */
export function change(id, makeNext) {
  const conversation = state.get().open[id];
  if (conversation) put(makeNext(conversation));
}

export function saveAll() {
  clearTimeout(saveTimer);
  saveTimer = 0;
  if (unsaved.size === 0) return;
  for (const id of unsaved) {
    const conversation = state.get().open[id];
    if (conversation && !library.save(conversation))
      notify('The browser has no room left to keep this chat. Export it, or delete others.');
  }
  unsaved.clear();
  state.set({ chats: library.list() });
}

export function startChat() {
  const conversation = newConversation();
  // It enters the list with its first message.
  state.set(({ open }) => ({
    open: { ...open, [conversation.id]: conversation },
    current: conversation.id,
  }));
}

/** @returns {boolean} whether it could be opened */
export function openChat(id) {
  const conversation = state.get().open[id] ?? library.load(id);
  if (!conversation) return false;
  state.set(({ open }) => ({ open: { ...open, [id]: conversation }, current: id }));
  return true;
}

export function rename(id, title) {
  if (!state.get().open[id] && !load(id)) return;
  change(id, (conversation) => ({ ...conversation, title: title.trim().slice(0, 200) }));
  saveAll();
}

export function remove(id) {
  saveAll();
  state.get().running[id]?.controller.abort();
  const conversation = state.get().open[id] ?? library.load(id);
  library.remove(id);
  state.set(({ open }) => {
    const others = { ...open };
    delete others[id];
    return { open: others, chats: library.list() };
  });
  if (state.get().current === id) startChat();
  notify('Chat deleted.', () => {
    if (!conversation) return;
    put(conversation);
    saveAll();
    openChat(id);
  });
}

/** @param {'md' | 'json'} format */
export function exportChat(id, format) {
  const conversation = state.get().open[id] ?? library.load(id);
  if (!conversation) return;
  const text = format === 'md' ? asMarkdown(conversation) : asJson(conversation);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = fileName(conversation, format);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** @param {File} file as written by exportChat */
export async function importChat(file) {
  let conversation = null;
  try {
    conversation = conversationFrom(JSON.parse(await file.text()));
  } catch {
    // told below
  }
  if (!conversation) {
    notify(`${file.name} holds no chat of this page.`);
    return;
  }
  // Another id: importing an older copy must not replace what went on since.
  conversation.id = newId();
  conversation.updated = Date.now();
  put(conversation);
  saveAll();
  openChat(conversation.id);
}

/** Another tab changed something. */
export function refreshFromStorage() {
  const { current, running } = state.get();
  state.set({ chats: library.list() });
  if (running[current] || unsaved.has(current)) return;
  const stored = library.load(current);
  if (stored) state.set(({ open }) => ({ open: { ...open, [current]: stored } }));
}

function load(id) {
  const conversation = library.load(id);
  if (conversation) state.set(({ open }) => ({ open: { ...open, [id]: conversation } }));
  return conversation;
}
