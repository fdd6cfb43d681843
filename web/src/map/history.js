// The last minute of the feed, for the plots.

export const kSamples = 240;
// Numbers and words that change with every event can't be read: they tell of the last second or two.
const kRecent = 4;
const kRecentLimits = 8;
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
      limitedBy: event.limited_by,
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

  /** The mean of the newest values that there are; null without one. */
  recent(name) {
    const values = this.series(name).filter((value) => value !== null).slice(-kRecent);
    return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  }

  /** What was named most often lately, 'none' only when nothing else was. */
  recentLimit() {
    const causes = this.series('limitedBy').slice(-kRecentLimits).filter((cause) => cause && cause !== 'none');
    const times = (cause) => causes.filter((other) => other === cause).length;
    return causes.reduce((best, cause) => (times(cause) >= times(best) ? cause : best), causes[0]) ?? 'none';
  }
}
