import { live } from '../app/live.js';
import { focusBox } from '../app/shortcuts.js';
import { state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { bytes, count } from '../format.js';

const kBeginnings = [
  'Tell me a story about a fox and a king.',
  'Explain how a Mixture-of-Experts model works.',
  'Write a small program that counts words.',
];

export function EmptyChat() {
  const model = useStore(state, ({ model: name }) => name);
  const event = useStore(live, ({ event: newest }) => newest);
  return (
    <div class="empty">
      <h2>{model || 'No model yet'}</h2>
      {event && event.layers > 0 && (
        <p class="dim">
          {count(event.layers)} layers × {count(event.experts)} experts
          {event.memory.budget_bytes > 0 && <>, running in {bytes(event.memory.budget_bytes)}</>}. The
          experts come from the disk as they are needed; the live map shows it.
        </p>
      )}
      <div class="beginnings">
        {kBeginnings.map((text) => (
          <button key={text} type="button" onClick={() => (state.set({ draft: text }), focusBox())}>
            {text}
          </button>
        ))}
      </div>
    </div>
  );
}
