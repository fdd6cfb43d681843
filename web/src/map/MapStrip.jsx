import { useEffect, useRef } from 'preact/hooks';
import { live } from '../app/live.js';
import { state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { bytesPerSecond, percent, rate } from '../format.js';
import { readPalette } from './paint.js';
import { countStates, kLoading, kUsed } from './states.js';

const kHeight = 28;

/** On a narrow screen the map is a strip under the title: one column a layer. A tap opens it. */
export function MapStrip() {
  const { event, history, status } = useStore(live, (newest) => newest);
  if (!event || event.layers === 0 || status !== 'on') return null;
  const hitRate = history.recent('hitRate');
  const facts = [
    `${rate(history.recent('tokensPerSecond'))} tok/s`,
    bytesPerSecond(history.recent('readBytesPerSecond')),
    hitRate !== null && `${percent(hitRate)} hits`,
  ].filter(Boolean);
  return (
    <button type="button" class="map-strip" onClick={() => state.set({ mapOpen: true, listOpen: false })}>
      <Columns event={event} />
      <span class="visually-hidden">Open the live map: </span>
      <span class="strip-facts">{facts.join(' · ')}</span>
    </button>
  );
}

/** Each layer's experts by state, stacked from the bottom: what is in memory, what moves on top. */
function Columns({ event }) {
  const canvas = useRef();
  const theme = useStore(state, ({ theme: chosen }) => chosen);
  const palette = useRef(null);
  useEffect(() => {
    palette.current = readPalette(canvas.current.parentElement);
  }, [theme]);
  useEffect(() => drawColumns(canvas.current, event, palette.current));
  return <canvas ref={canvas} width={event.layers * 8} height={kHeight} aria-hidden="true" />;
}

const kOrder = [2, kUsed, 4, kLoading, 0]; // from the bottom up

function drawColumns(canvas, event, palette) {
  const context = canvas.getContext('2d');
  for (let layer = 0; layer < event.layers; ++layer) {
    const counts = countStates(event.states, layer * event.experts, (layer + 1) * event.experts);
    let bottom = kHeight;
    for (const state of kOrder) {
      const height = (kHeight * counts[state]) / event.experts;
      const shade = state === kUsed ? palette.shades.length - 1 : 0;
      context.fillStyle = palette.shades[shade][state === kUsed ? 2 : state];
      context.fillRect(layer * 8, bottom - height, 7, height);
      bottom -= height;
    }
  }
}
