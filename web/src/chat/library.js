// Keeps conversations in the browser: one entry each, and one list of what there is.
import { conversationFrom } from './stored.js';
import { titleOf } from './tree.js';

const kList = 'smoe.chats';
const kOne = 'smoe.chat.';

/** What lists show: `{id, title, updated}`, newest first. */
export class Library {
  #storage;

  /** @param {Storage} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  list() {
    const found = this.#read(kList);
    if (!Array.isArray(found)) return [];
    return found
      .filter((entry) => typeof entry?.id === 'string' && typeof entry.title === 'string')
      .map(({ id, title, updated }) => ({ id, title, updated: Number(updated) || 0 }))
      .sort((a, b) => b.updated - a.updated);
  }

  /** @returns null when there is none, or when it can't be read */
  load(id) {
    return conversationFrom(this.#read(kOne + id));
  }

  /** @returns {boolean} false when the browser has no room for it */
  save(conversation) {
    const { id, updated } = conversation;
    const others = this.list().filter((entry) => entry.id !== id);
    try {
      this.#storage.setItem(kOne + id, JSON.stringify(conversation));
      this.#write([{ id, title: titleOf(conversation), updated }, ...others]);
      return true;
    } catch {
      return false;
    }
  }

  remove(id) {
    this.#storage.removeItem(kOne + id);
    this.#write(this.list().filter((entry) => entry.id !== id));
  }

  #write(entries) {
    this.#storage.setItem(kList, JSON.stringify(entries));
  }

  #read(name) {
    try {
      return JSON.parse(this.#storage.getItem(name));
    } catch {
      return null;
    }
  }
}

/** Storage for a browser that refuses its own: lasts until the page is left. */
export function memoryStorage() {
  const kept = new Map();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, String(value)),
    removeItem: (name) => void kept.delete(name),
  };
}
