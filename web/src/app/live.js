// The live feed, as the page holds it: the newest event, the last minute, and what glows.
import { followFeed } from '../map/feed.js';
import { Glow } from '../map/glow.js';
import { History } from '../map/history.js';
import { createStore } from './store.js';

export const live = createStore({
  event: null, // as of liveFrom()
  glow: new Glow(0),
  history: new History(),
  status: 'connecting', // on, lost, refused
});

function take(event) {
  const { event: before, glow, history } = live.get();
  const isSameModel =
    before?.model === event.model && before.states.length === event.states.length;
  const next = {
    event,
    status: 'on',
    glow: isSameModel ? glow : new Glow(event.states.length),
    history: isSameModel ? history : new History(),
  };
  next.glow.take(event.states, performance.now());
  next.history.add(event);
  live.set(next);
}

/** Follows the feed while the page is looked at. */
export function keepLive() {
  let controller = null;
  const follow = () => {
    if (document.hidden) {
      controller?.abort();
      controller = null;
    } else if (!controller) {
      controller = new AbortController();
      followFeed({
        signal: controller.signal,
        onEvent: take,
        onLost: (refused) => live.set({ status: refused ? 'refused' : 'lost' }),
      });
    }
  };
  document.addEventListener('visibilitychange', follow);
  follow();
}
