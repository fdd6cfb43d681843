// Gathers the chunks of a streamed answer.

export class Answer {
  content = '';
  reasoning = '';
  finish = '';
  /** @type {{total: number, cache: number, processed: number, time_ms: number} | null} */
  progress = null;
  #started;
  #first = 0;
  #last = 0;
  #thought = 0;
  #pieces = 0;
  #usage = {};
  #timings = {};
  #experts = {};
  #limit = '';
  #limits = new Map();

  constructor(now) {
    this.#started = now;
  }

  /** Takes one chunk, as of `/v1/chat/completions`. */
  take(chunk, now) {
    const choice = chunk.choices?.[0];
    const delta = choice?.delta ?? {};
    const thought = delta.reasoning_content ?? delta.reasoning ?? '';
    const words = delta.content ?? '';
    if (thought || words) this.#piece(thought, words, now);
    if (choice?.finish_reason) this.finish = choice.finish_reason;
    if (chunk.prompt_progress) this.progress = chunk.prompt_progress;
    if (chunk.usage) this.#usage = chunk.usage;
    if (chunk.timings) this.#timings = chunk.timings;
    const experts = chunk.experts ?? chunk.usage?.experts ?? chunk.timings?.experts;
    if (experts) this.#experts = experts;
    if (chunk.limited_by && chunk.limited_by !== 'none') this.#limit = String(chunk.limited_by);
  }

  /** Notes what held the engine up at a moment of this answer. */
  limitedBy(cause) {
    if (cause && cause !== 'none') this.#limits.set(cause, (this.#limits.get(cause) ?? 0) + 1);
  }

  get isReadingPrompt() {
    return this.#first === 0;
  }

  /** What it cost: the server's own figures where it gives them, else as seen from here. */
  stats() {
    const { predicted_n, predicted_per_second, prompt_n, prompt_ms, cache_n } = this.#timings;
    const seconds = (this.#last - this.#first) / 1000;
    const seen = this.#pieces > 1 && seconds > 0 ? (this.#pieces - 1) / seconds : undefined;
    const cached = this.#usage.prompt_tokens_details?.cached_tokens;
    return withoutUndefined({
      firstTokenMs: this.#first ? this.#first - this.#started : undefined,
      thoughtMs: this.#thought || undefined,
      tokens: this.#usage.completion_tokens ?? predicted_n ?? (this.#pieces || undefined),
      tokensPerSecond: predicted_per_second ?? seen,
      promptTokens: this.#usage.prompt_tokens ?? prompt_n,
      promptMs: prompt_ms,
      cachedTokens: cached ?? cache_n,
      totalTokens: this.#usage.total_tokens,
      expertHits: this.#experts.hits,
      expertMisses: this.#experts.misses,
      bytesRead: this.#experts.bytes_read,
      stallMs: this.#experts.stall_ms,
      limitedBy: this.#limit || mostFrequent(this.#limits),
    });
  }

  #piece(thought, words, now) {
    this.#first ||= now;
    this.#last = now;
    this.#pieces += 1;
    this.reasoning += thought;
    this.content += words;
    if (thought) this.#thought = now - this.#first;
  }
}

function withoutUndefined(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function mostFrequent(counts) {
  let best;
  for (const [cause, count] of counts) if (count > (counts.get(best) ?? 0)) best = cause;
  return best;
}
