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

/** What `select` takes from the store; the component is drawn again when that is another value. */
export function useStore(store, select = (state) => state) {
  const [, redraw] = useReducer((count) => count + 1, 0);
  const value = select(store.get());
  const latest = useRef();
  latest.current = { select, value };
  useEffect(() => {
    const look = () => {
      const { select: selected, value: shown } = latest.current;
      if (!Object.is(selected(store.get()), shown)) redraw();
    };
    look(); // it may have changed before this effect ran
    return store.subscribe(look);
  }, [store]);
  return value;
}
