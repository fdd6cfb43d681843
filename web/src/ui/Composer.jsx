import { useEffect, useRef } from 'preact/hooks';
import { isRunning, say, stop } from '../app/answering.js';
import { state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { fitHeight } from './fit.js';
import { Icon } from './Icon.jsx';

export function Composer() {
  const draft = useStore(state, ({ draft: text }) => text);
  const busy = useStore(state, isRunning);
  const box = useRef();
  useEffect(() => box.current.focus(), []);
  useEffect(() => fitHeight(box.current), [draft]);
  const send = () => {
    if (busy || !draft.trim()) return;
    state.set({ draft: '' });
    say(draft);
  };
  const onKeyDown = (event) => {
    // While an input method composes, Enter accepts its suggestion.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form class="composer" onSubmit={(event) => (event.preventDefault(), send())}>
      <div class="composer-box">
        <textarea
          id="box"
          ref={box}
          rows={1}
          aria-label="Message"
          placeholder="Write a message"
          value={draft}
          onInput={(event) => state.set({ draft: event.currentTarget.value })}
          onKeyDown={onKeyDown}
        />
        {busy ? (
          <button type="button" class="send" aria-label="Stop" title="Stop (Escape)" onClick={() => stop()}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" class="send" aria-label="Send" title="Send (Enter)" disabled={!draft.trim()}>
            <Icon name="send" />
          </button>
        )}
      </div>
      <p class="composer-hint">
        {busy ? 'Escape stops the answer' : 'Enter sends, Shift Enter begins a new line, Alt K lists the keys'}
      </p>
    </form>
  );
}
