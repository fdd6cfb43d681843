import { walk } from '../chat/tree.js';
import { change } from '../app/conversations.js';
import { isRunning } from '../app/answering.js';
import { state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { IconButton } from './Icon.jsx';

/** "< 2/3 >": the other versions of a message. */
export function Branches({ id, index, count }) {
  const busy = useStore(state, isRunning);
  if (count < 2) return null;
  const go = (by) => change(state.get().current, (conversation) => walk(conversation, id, by));
  return (
    <span class="branches" role="group" aria-label="Versions">
      <IconButton icon="left" label="Version before" disabled={busy || index === 0} onClick={() => go(-1)} />
      <span aria-label={`version ${index + 1} of ${count}`} role="img">
        {index + 1}/{count}
      </span>
      <IconButton icon="right" label="Version after" disabled={busy || index === count - 1} onClick={() => go(1)} />
    </span>
  );
}
