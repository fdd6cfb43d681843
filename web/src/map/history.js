// The last minute of the feed, for the plots.

export const kSamples = 240;
export const kShares = ['attention', 'experts', 'waiting', 'head', 'other'];

export class History {
  #samples = [];

  /** @param event as of the feed */
  add(event) {
    const looked = event.hits + event.misses;
    const share = event.time_share ?? {};
    this.#samples.push({
      readBytesPerSecond: event.read_bytes_per_s,
      hitRate: looked > 0 ? event.hits / looked : null,
      tokensPerSecond: event.tokens_per_s,
      shares: kShares.map((name) => share[name] ?? 0),
    });
    if (this.#samples.length > kSamples) this.#samples.shift();
  }

  get samples() {
    return this.#samples;
  }

  /** One series, oldest first; a moment without a value is null. */
  series(name) {
    return this.#samples.map((sample) => sample[name]);
  }

  /** The newest value that there is. */
  latest(name) {
    return this.#samples.findLast((sample) => sample[name] !== null)?.[name] ?? null;
  }
}
