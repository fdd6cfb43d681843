// An expert that was used lights up and cools down, so that the eye can follow a token through the
// layers although the feed only speaks four times a second.
import { kUsed } from './states.js';

export const kCoolingMs = 1400;

export class Glow {
  #usedAt;
  #hottest = -Infinity;

  constructor(count) {
    this.#usedAt = new Float64Array(count).fill(-Infinity);
  }

  take(states, now) {
    for (let i = 0; i < states.length; ++i) {
      if (states[i] !== kUsed) continue;
      this.#usedAt[i] = now;
      this.#hottest = now;
    }
  }

  /** 1 right after the use, 0 when it is over. */
  heat(index, now) {
    const age = (now - this.#usedAt[index]) / kCoolingMs;
    return age >= 1 ? 0 : (1 - age) * (1 - age);
  }

  /** How long ago an expert was last used, in ms; Infinity when it never was. */
  ageOf(index, now) {
    return now - this.#usedAt[index];
  }

  isWarm(now) {
    return now - this.#hottest < kCoolingMs;
  }
}
