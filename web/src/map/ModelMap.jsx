import { useEffect, useRef, useState } from 'preact/hooks';
import { live } from '../app/live.js';
import { state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { duration } from '../format.js';
import { cellAt, expertAt, layOut, step } from './grid.js';
import { Painter, readPalette } from './paint.js';
import { describe, kStates } from './states.js';

const kFrameMs = 40;
const kGutter = 26; // for the layers' numbers

/** What the screen leaves for the map beside the plots, in CSS pixels. */
const wishedHeight = () => Math.min(560, Math.max(220, innerHeight - 500));

/** Every expert of the model as a small square that shows what it is doing. */
export function ModelMap() {
  const canvas = useRef();
  const grid = useRef(null);
  const [pointed, point] = useState(null);
  const layers = useStore(live, ({ event }) => event.layers);
  const experts = useStore(live, ({ event }) => event.experts);
  const theme = useStore(state, ({ theme: chosen }) => chosen);
  useEffect(() => keepPainted(canvas.current, grid, layers, experts), [layers, experts, theme]);

  const onPointerMove = (event) => {
    const scale = devicePixelRatio;
    if (grid.current) point(expertAt(grid.current, event.offsetX * scale, event.offsetY * scale));
  };
  const onKeyDown = (event) => {
    const next = step({ layers, experts }, pointed ?? { layer: 0, expert: 0 }, event.key);
    if (!next) return;
    event.preventDefault();
    point(pointed ? next : { layer: 0, expert: 0 });
  };
  return (
    <div class="model-map">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`Map of the experts. ${describe(live.get().event)}`}
        onPointerMove={onPointerMove}
        onPointerLeave={() => point(null)}
        onKeyDown={onKeyDown}
        onBlur={() => point(null)}
      />
      {pointed && grid.current && <Pointer grid={grid.current} {...pointed} />}
    </div>
  );
}

/** A frame around the expert that is pointed at, and what is known about it. */
function Pointer({ grid, layer, expert }) {
  const { event, glow } = useStore(live, (newest) => newest);
  const index = layer * event.experts + expert;
  const scale = devicePixelRatio;
  const { x, y } = cellAt(grid, layer, expert);
  const age = glow.ageOf(index, performance.now());
  const used = age < 60000 ? `, used ${duration(age)} ago` : '';
  const size = { width: `${grid.cellWidth / scale}px`, height: `${grid.cellHeight / scale}px` };
  const side = x > grid.width / 2 ? 'left' : 'right';
  return (
    <>
      <div class="map-frame" style={{ left: `${x / scale}px`, top: `${y / scale}px`, ...size }} />
      <div
        class={`map-tip ${side}`}
        role="status"
        style={{ left: `${(x + grid.cellWidth / 2) / scale}px`, top: `${(y + grid.cellHeight) / scale}px` }}
      >
        Layer {layer}, expert {expert}
        <br />
        {kStates[event.states[index]].label.toLowerCase()}
        {used}
      </div>
    </>
  );
}

/** Paints until the returned function is called: at every event, and between them while it glows. */
function keepPainted(canvas, grid, layers, experts) {
  const painter = new Painter(canvas);
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let timer = 0;
  const paint = () => {
    clearTimeout(timer);
    const { event, glow } = live.get();
    if (event.layers !== layers || event.experts !== experts || !grid.current) return;
    const now = performance.now();
    painter.paint(event.states, glow, still.matches ? null : now);
    if (!still.matches && glow.isWarm(now)) timer = setTimeout(paint, kFrameMs);
  };
  const lay = () => {
    const scale = devicePixelRatio;
    const width = Math.floor(canvas.parentElement.clientWidth * scale);
    if (width === 0) return;
    grid.current = layOut({ layers, experts, width, height: wishedHeight() * scale, gutter: kGutter * scale });
    painter.reset(grid.current, readPalette(canvas.parentElement), scale);
    paint();
  };
  const observer = new ResizeObserver(lay);
  observer.observe(canvas.parentElement);
  dark.addEventListener('change', lay);
  const unsubscribe = live.subscribe(paint);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
    dark.removeEventListener('change', lay);
    unsubscribe();
  };
}
