// Follows the server's live feed and keeps it going.
import { streamEvents } from '../api/client.js';
import { decodeStates } from './states.js';

const kRetryMs = [500, 1000, 2000, 5000];
// A server without the feed, or one that wants a key, is asked again only now and then.
const kRefusedMs = 15000;

const number = (value) => (Number.isFinite(value) ? value : 0);

/** An event of the feed with every field there, whatever the server left out. */
export function liveFrom(event) {
  const layers = Math.trunc(number(event.layers));
  const experts = Math.trunc(number(event.experts));
  return {
    ...event,
    layers,
    experts,
    states: decodeStates(event.states, layers * experts),
    read_bytes_per_s: number(event.read_bytes_per_s),
    tokens_per_s: number(event.tokens_per_s),
    hits: number(event.hits),
    misses: number(event.misses),
    time_share: event.time_share ?? {},
    memory: event.memory ?? {},
    context: event.context ?? {},
    requests: event.requests ?? {},
    limited_by: typeof event.limited_by === 'string' ? event.limited_by : 'none',
  };
}

/**
 * Calls `onEvent` for every event and `onLost` whenever the feed is away, with whether the server
 * refused it. Ends when `signal` is aborted.
 */
export async function followFeed({ onEvent, onLost, signal }) {
  let failures = 0;
  while (!signal.aborted) {
    let refused = false;
    try {
      for await (const { event, data } of streamEvents('/live', { signal })) {
        if (event !== 'live') continue;
        failures = 0;
        onEvent(liveFrom(JSON.parse(data)));
      }
    } catch (error) {
      if (signal.aborted) return;
      refused = error.status >= 400 && error.status < 500;
    }
    onLost(refused);
    const wait = refused ? kRefusedMs : kRetryMs[Math.min(failures++, kRetryMs.length - 1)];
    await pause(wait, signal);
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
