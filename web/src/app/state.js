// What the page shows, and the choices that outlive it.
import { Library, memoryStorage } from '../chat/library.js';
import { kDefaultSettings, settingsFrom } from '../chat/settings.js';
import { createStore } from './store.js';

function browserStorage() {
  try {
    localStorage.getItem('smoe');
    return localStorage;
  } catch {
    return memoryStorage(); // blocked by the browser's settings
  }
}

export const storage = browserStorage();
export const library = new Library(storage);

const kPreferences = 'smoe.preferences';

function loadPreferences() {
  try {
    return JSON.parse(storage.getItem(kPreferences)) ?? {};
  } catch {
    return {};
  }
}

const kept = loadPreferences();

/** Below this width the list and the map lie over the chat, and start closed. */
export const isNarrow = () => matchMedia('(max-width: 1099px)').matches;

export const state = createStore({
  models: [],
  model: typeof kept.model === 'string' ? kept.model : '',
  contextSize: 0,
  serverError: '',
  chats: library.list(),
  current: '',
  open: {}, // conversations by id
  running: {}, // by conversation: what is being answered there
  settings: kept.settings ? settingsFrom(kept.settings) : kDefaultSettings,
  theme: ['dark', 'light'].includes(kept.theme) ? kept.theme : 'system',
  listOpen: !isNarrow(),
  mapOpen: !isNarrow() && kept.mapOpen !== false,
  mapWide: false,
  dialog: '',
  exported: '', // the chat that the export dialog is about
  notice: null,
  spoken: '', // read out by screen readers
  draft: '',
});

export function keepPreferences() {
  const { model, settings, theme, mapOpen } = state.get();
  try {
    storage.setItem(kPreferences, JSON.stringify({ model, settings, theme, mapOpen }));
  } catch {
    // Full or blocked: the choice holds until the page is left.
  }
}

export function prefer(changes) {
  state.set(changes);
  keepPreferences();
}

/** Shows a line for a while. `undo` is offered beside it. */
export function notify(text, undo = null) {
  const notice = { text, undo };
  state.set({ notice });
  setTimeout(() => {
    if (state.get().notice === notice) state.set({ notice: null });
  }, 8000);
}
