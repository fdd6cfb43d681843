// Splits the text of an event stream into events, however the network cut it.

const kLineEnd = /\r\n|\n|\r/;

export class SseParser {
  #rest = '';
  #event = '';
  #data = [];

  /**
   * Takes the next piece of the stream.
   * @param {string} text
   * @returns {{event: string, data: string}[]} the events that this piece completed
   */
  push(text) {
    this.#rest += text;
    const events = [];
    for (;;) {
      const end = this.#rest.match(kLineEnd);
      // A carriage return at the very end may be the first half of a line end.
      if (!end || (end[0] === '\r' && end.index === this.#rest.length - 1)) return events;
      this.#line(this.#rest.slice(0, end.index), events);
      this.#rest = this.#rest.slice(end.index + end[0].length);
    }
  }

  #line(line, events) {
    if (line === '') {
      if (this.#data.length > 0)
        events.push({ event: this.#event || 'message', data: this.#data.join('\n') });
      this.#event = '';
      this.#data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment: the server is alive
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    if (field === 'event') this.#event = value;
  }
}
