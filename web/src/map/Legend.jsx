import { count } from '../format.js';
import { countStates, kStates } from './states.js';

/** The colours of the map, with how many experts have each. */
export function Legend({ states }) {
  const counts = countStates(states);
  return (
    <ul class="legend">
      {kStates.map(({ name, label, hint }, state) => (
        <li key={name} title={hint}>
          <span class={`swatch state-${name}`} />
          {label}
          <b>{count(counts[state])}</b>
        </li>
      ))}
    </ul>
  );
}
