import assert from 'node:assert/strict';
import test from 'node:test';
import { SseParser } from '../../../web/src/api/sse.js';

const parse = (...pieces) => {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
};
const data = (events) => events.map((event) => event.data);

test('Sse: an event is its data lines, joined', () => {
  assert.deepEqual(parse('data: a\ndata: b\n\n'), [{ event: 'message', data: 'a\nb' }]);
});

test('Sse: the name of an event holds for that event alone', () => {
  const events = parse('event: live\ndata: 1\n\ndata: 2\n\n');
  assert.deepEqual(events.map(({ event }) => event), ['live', 'message']);
});

test('Sse: comments keep the stream alive and mean nothing', () => {
  assert.deepEqual(data(parse(': keepalive\n\n', 'data: x\n\n', ':\n\n')), ['x']);
});

test('Sse: every way of ending a line is understood', () => {
  assert.deepEqual(data(parse('data: a\r\n\r\ndata: b\r\rdata: c\n\n')), ['a', 'b', 'c']);
});

test('Sse: only one space after the colon is left out', () => {
  assert.deepEqual(data(parse('data:a\n\ndata:  b\n\ndata\n\n')), ['a', ' b', '']);
});

test('Sse: fields that are not known, and events without data, are passed over', () => {
  assert.deepEqual(data(parse('id: 7\nretry: 10\n\nevent: x\n\ndata: y\n\n')), ['y']);
});

test('Sse: however the stream is cut, the same events come out', () => {
  const stream = 'event: live\r\ndata: {"a":1}\r\n\r\n: keepalive\n\ndata: ö→𝄞\ndata:\n\ndata: [DONE]\n\n';
  const whole = parse(stream);
  assert.equal(whole.length, 3);
  for (let first = 0; first <= stream.length; ++first)
    for (let second = first; second <= stream.length; second += 3)
      assert.deepEqual(
        parse(stream.slice(0, first), stream.slice(first, second), stream.slice(second)),
        whole,
        `cut at ${first} and ${second}`,
      );
});
