import assert from 'node:assert/strict';
import test from 'node:test';
import { bytes, bytesPerSecond, duration, percent, rate } from '../../../web/src/format.js';

test('Format: sizes have three digits', () => {
  assert.deepEqual(
    [0, 999, 1000, 1234567, 99.9e6, 999.4e6, 999.6e6, 8e9, 1.5e13, -3].map(bytes),
    ['0 B', '999 B', '1.00 kB', '1.23 MB', '99.9 MB', '999 MB', '1.00 GB', '8.00 GB', '15.0 TB', '0 B'],
  );
  assert.equal(bytesPerSecond(5e8), '500 MB/s');
});

test('Format: times, rates and shares', () => {
  assert.deepEqual([120, 995, 9949, 9951, 59400, 61000].map(duration), ['0.12 s', '1.0 s', '9.9 s', '10 s', '59 s', '1 min 1 s']);
  assert.deepEqual([0, 7.24, 99.96, 123.4].map(rate), ['0.0', '7.2', '100.0', '123']);
  assert.equal(percent(0.876), '88 %');
});
