// The keyboard. The list that people see and the one that is obeyed are the same.
import { path } from '../chat/tree.js';
import { isRunning, regenerate, stop } from './answering.js';
import { currentConversation, startChat } from './conversations.js';
import { isNarrow, prefer, state } from './state.js';

export const focusBox = () => document.getElementById('box')?.focus();

function regenerateLast() {
  const last = path(currentConversation()).at(-1);
  if (last?.role === 'assistant') regenerate(last.id);
}

export function toggleMap() {
  const mapOpen = !state.get().mapOpen;
  if (isNarrow()) state.set({ mapOpen, listOpen: false });
  else prefer({ mapOpen });
}

export function toggleList() {
  const listOpen = !state.get().listOpen;
  state.set(isNarrow() ? { listOpen, mapOpen: false } : { listOpen });
}

export const kShortcuts = [
  { keys: 'Enter', does: 'Send' },
  { keys: 'Shift Enter', does: 'New line' },
  { keys: 'Escape', does: 'Stop the answer; leave an edit; close what lies over the chat' },
  { keys: 'Alt C', does: 'Go to the message box', code: 'KeyC', run: focusBox },
  { keys: 'Alt N', does: 'New chat', code: 'KeyN', run: () => (startChat(), focusBox()) },
  { keys: 'Alt R', does: 'Another answer', code: 'KeyR', run: regenerateLast },
  { keys: 'Alt B', does: 'Show or hide the chats', code: 'KeyB', run: toggleList },
  { keys: 'Alt M', does: 'Show or hide the live map', code: 'KeyM', run: toggleMap },
  { keys: 'Alt S', does: 'Settings', code: 'KeyS', run: () => state.set({ dialog: 'settings' }) },
  { keys: 'Alt K', does: 'This list', code: 'KeyK', run: () => state.set({ dialog: 'shortcuts' }) },
  { keys: 'Arrow keys', does: 'On the map: from expert to expert' },
];

function escape() {
  const { listOpen, mapOpen } = state.get();
  if (isNarrow() && (listOpen || mapOpen)) state.set({ listOpen: false, mapOpen: false });
  else if (isRunning()) stop();
}

export function onKeyDown(event) {
  if (event.defaultPrevented || state.get().dialog || event.isComposing) return;
  if (event.key === 'Escape') escape();
  if (!event.altKey || event.ctrlKey || event.metaKey) return;
  const shortcut = kShortcuts.find(({ code }) => code === event.code);
  if (!shortcut) return;
  event.preventDefault();
  shortcut.run();
}
