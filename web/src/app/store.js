// State that components share. Whoever changes it replaces it; whoever shows it is told.
import { useEffect, useReducer, useRef } from 'preact/hooks';

export function createStore(initial) {
  let state = initial;
  const listeners = new Set();
  return {
    get: () => state,
    /** @param changes the fields to replace, or a function from the state to them */
    set(changes) {
      state = { ...state, ...(typeof changes === 'function' ? changes(state) : changes) };
      for (const listener of [...listeners]) listener();
    },
    /** @returns a function that ends it */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function isSame(before, after) {
  if (!Array.isArray(before) || !Array.isArray(after)) return Object.is(before, after);
  return before.length === after.length && before.every((value, i) => Object.is(value, after[i]));
}

/**
 * What `select` takes from the store: a value, or an array of values. The component is drawn again
 * when one of them is another. While an answer grows the store changes twenty times a second, so
 * whoever takes less is drawn less.
 */
export function useStore(store, select) {
  const [, redraw] = useReducer((count) => count + 1, 0);
  const value = select(store.get());
  const latest = useRef();
  latest.current = { select, value };
  useEffect(() => {
    const look = () => {
      const { select: selected, value: shown } = latest.current;
      if (!isSame(shown, selected(store.get()))) redraw();
    };
    look(); // it may have changed before this effect ran
    return store.subscribe(look);
  }, [store]);
  return value;
}
