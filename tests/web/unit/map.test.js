import assert from 'node:assert/strict';
import test from 'node:test';
import { liveFrom } from '../../../web/src/map/feed.js';
import { Glow, kCoolingMs } from '../../../web/src/map/glow.js';
import { cellAt, expertAt, layOut, step } from '../../../web/src/map/grid.js';
import { History, kSamples } from '../../../web/src/map/history.js';
import { countStates, decodeStates, describe } from '../../../web/src/map/states.js';

const base64 = (...states) => Buffer.from(states).toString('base64');

test('States: come from base64, and what is missing or unknown is absent', () => {
  assert.deepEqual([...decodeStates(base64(0, 1, 2, 3, 4, 9), 8)], [0, 1, 2, 3, 4, 0, 0, 0]);
  assert.deepEqual([...decodeStates('%%%', 2)], [0, 0]);
  assert.deepEqual([...decodeStates(undefined, 2)], [0, 0]);
  assert.deepEqual(countStates(decodeStates(base64(0, 1, 2, 3, 4, 2), 6), 2, 6), [0, 0, 2, 1, 1]);
});

test('States: the map can be put into words', () => {
  const live = liveFrom({ layers: 2, experts: 3, states: base64(0, 1, 2, 3, 4, 2) });
  assert.equal(describe(live), '2 layers with 3 experts each. 4 of 6 experts are in memory, 1 were just used, 1 are being read.');
});

test('Feed: an event without fields is an event of zeros', () => {
  const live = liveFrom({ hits: 'many', time_share: null, limited_by: 7 });
  assert.deepEqual([live.layers, live.experts, live.states.length, live.hits, live.limited_by], [0, 0, 0, 0, 'none']);
  assert.deepEqual(live.memory, {});
});

const kRooms = [
  { layers: 6, experts: 64, width: 362, height: 400, gutter: 26 },
  { layers: 48, experts: 128, width: 362, height: 400, gutter: 26 },
  { layers: 58, experts: 256, width: 724, height: 800, gutter: 52 },
  { layers: 92, experts: 160, width: 900, height: 400, gutter: 26 },
  { layers: 32, experts: 8, width: 300, height: 300, gutter: 26 },
  { layers: 24, experts: 61, width: 300, height: 300, gutter: 0 },
  { layers: 1, experts: 1, width: 100, height: 100, gutter: 0 },
];

test('Grid: every expert has a place inside the width, and a point leads back to it', () => {
  for (const room of kRooms) {
    const grid = layOut(room);
    assert.ok(grid.width <= room.width, JSON.stringify(grid));
    for (let layer = 0; layer < room.layers; ++layer)
      for (let expert = 0; expert < room.experts; ++expert) {
        const { x, y } = cellAt(grid, layer, expert);
        assert.ok(x >= room.gutter && x + grid.cellWidth <= grid.width && y + grid.cellHeight <= grid.height);
        assert.deepEqual(expertAt(grid, x, y), { layer, expert });
        assert.deepEqual(expertAt(grid, x + grid.cellWidth - 1, y + grid.cellHeight - 1), { layer, expert });
      }
  }
});

test('Grid: the room is used, and cells stay nearly square', () => {
  for (const room of kRooms.slice(0, 4)) {
    const { width, cellWidth, cellHeight } = layOut(room);
    assert.ok(width > room.width * 0.7, `${width} of ${room.width}`);
    assert.ok(cellHeight <= 1.25 * cellWidth + 1 && cellWidth <= 2 * cellHeight + 1, `${cellWidth}x${cellHeight}`);
  }
});

test('Grid: points beside the cells are nobody', () => {
  const grid = layOut(kRooms[0]);
  assert.equal(expertAt(grid, 3, 3), null);
  assert.equal(expertAt(grid, grid.width + 1, 3), null);
  assert.equal(expertAt(grid, grid.left, grid.height + 1), null);
  assert.equal(expertAt(grid, grid.left, grid.rows * grid.cellHeight), null);
});

test('Grid: arrow keys walk from expert to expert and stay inside', () => {
  const model = { layers: 2, experts: 3 };
  assert.deepEqual(step(model, { layer: 0, expert: 0 }, 'ArrowRight'), { layer: 0, expert: 1 });
  assert.deepEqual(step(model, { layer: 1, expert: 2 }, 'ArrowDown'), { layer: 1, expert: 2 });
  assert.deepEqual(step(model, { layer: 1, expert: 1 }, 'End'), { layer: 1, expert: 2 });
  assert.equal(step(model, { layer: 1, expert: 1 }, 'a'), null);
});

test('Glow: an expert lights up when it is used, and cools down', () => {
  const glow = new Glow(2);
  assert.equal(glow.heat(0, 0), 0);
  glow.take([3, 2], 1000);
  assert.equal(glow.heat(0, 1000), 1);
  assert.equal(glow.heat(1, 1000), 0);
  assert.ok(glow.heat(0, 1000 + kCoolingMs / 2) > 0.2);
  assert.equal(glow.heat(0, 1000 + kCoolingMs), 0);
  assert.ok(glow.isWarm(1000 + kCoolingMs - 1) && !glow.isWarm(1000 + kCoolingMs));
  assert.equal(glow.ageOf(0, 1500), 500);
});

test('History: keeps the last minute; a moment without lookups has no hit rate', () => {
  const history = new History();
  for (let i = 0; i < kSamples + 10; ++i)
    history.add(liveFrom({ tokens_per_s: i, hits: i % 2 ? 3 : 0, misses: i % 2, time_share: { experts: 0.5 } }));
  assert.equal(history.samples.length, kSamples);
  assert.equal(history.recent('tokensPerSecond'), kSamples + 7.5);
  assert.deepEqual(history.series('hitRate').slice(-2), [null, 0.75]);
  assert.equal(history.recent('hitRate'), 0.75);
  assert.deepEqual(history.series('shares').at(-1), [0, 0.5, 0, 0, 0]);
  assert.equal(new History().recent('hitRate'), null);
});

test('History: what limits is what limited most lately, and nothing only when nothing did', () => {
  const history = new History();
  assert.equal(history.recentLimit(), 'none');
  for (const limited_by of ['compute', 'disk', 'none', 'disk', 'none', 'none']) history.add(liveFrom({ limited_by }));
  assert.equal(history.recentLimit(), 'disk');
  for (let i = 0; i < 8; ++i) history.add(liveFrom({ limited_by: 'none' }));
  assert.equal(history.recentLimit(), 'none');
});
