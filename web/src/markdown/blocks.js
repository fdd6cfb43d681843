// Renders a text that grows at its end. Blocks that can't change any more are kept; only what follows
// them, as a rule one block, is rendered again: a long answer costs no more per token than a short one.
import { blocksOf, htmlOf, normalise } from './markdown.js';

export class GrowingBlocks {
  #sanitize;
  #done = [];
  #doneText = '';

  /** @param {(html: string) => string} sanitize */
  constructor(sanitize) {
    this.#sanitize = sanitize;
  }

  /**
   * @param {string} raw the whole text so far
   * @returns {string[]} HTML, one piece a block; equal strings for blocks that did not change
   */
  update(raw) {
    const text = normalise(raw);
    if (!text.startsWith(this.#doneText)) {
      this.#done = [];
      this.#doneText = '';
    }
    this.#finish(text.slice(this.#doneText.length, text.lastIndexOf('\n') + 1));
    return [...this.#done, ...wholeBlocks(text.slice(this.#doneText.length), this.#sanitize)];
  }

  // All but the last block of the lines that are complete. A line that is not may still join the
  // block above it: "3" becomes "3." and with that a part of the list.
  #finish(lines) {
    const blocks = blocksOf(lines);
    const last = blocks.findLastIndex((block) => block.type !== 'space');
    for (const block of blocks.slice(0, Math.max(0, last))) {
      this.#doneText += block.raw;
      if (block.type !== 'space') this.#done.push(this.#sanitize(htmlOf([block])));
    }
  }
}

/** The same for a text that is complete; here a reference may come after its use. */
export function wholeBlocks(raw, sanitize) {
  const blocks = blocksOf(normalise(raw));
  return blocks.filter((block) => block.type !== 'space').map((block) => sanitize(htmlOf([block])));
}
