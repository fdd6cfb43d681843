// Paints the grid. Only cells whose colour changed are touched: a large model has thousands of
// experts, and the machine has better things to do.
import { cellAt } from './grid.js';
import { kStates, kUsed } from './states.js';

// Shades between "just used" and "in memory".
const kShades = 24;

/** The colours of the page's style, as numbers. `element` is where they are looked up. */
export function readPalette(element) {
  const probe = document.createElement('span');
  element.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  };
  const states = kStates.map(({ name }) => colour(`state-${name}`));
  const label = `rgb(${colour('dim')})`;
  probe.remove();
  const shades = Array.from({ length: kShades + 1 }, (_, shade) =>
    states.map((base) => mixed(base, states[kUsed], shade / kShades)),
  );
  return { label, shades };
}

const mixed = (from, to, share) =>
  `rgb(${from.map((part, i) => Math.round(part + (to[i] - part) * share)).join(' ')})`;

// Cells that are too small for a gap touch each other.
const gapOf = (size) => (size >= 4 ? Math.max(1, Math.round(size / 8)) : 0);

export class Painter {
  #context;
  #grid = null;
  #palette = null;
  #painted = new Int16Array(0); // what every cell shows; -1 is nothing yet

  constructor(canvas) {
    this.#context = canvas.getContext('2d');
  }

  /** Starts over with an empty canvas of the grid's size. */
  reset(grid, palette, scale) {
    const { canvas } = this.#context;
    canvas.width = grid.width;
    canvas.height = grid.height;
    canvas.style.width = `${grid.width / scale}px`;
    canvas.style.height = `${grid.height / scale}px`;
    this.#grid = grid;
    this.#palette = palette;
    this.#painted = new Int16Array(grid.layers * grid.experts).fill(-1);
    if (grid.left > 0) this.#labels(scale);
  }

  /** @param now the time that the glow is seen at; null for no glow */
  paint(states, glow, now) {
    for (let i = 0; i < this.#painted.length; ++i) {
      const heat = now === null ? Number(states[i] === kUsed) : glow.heat(i, now);
      // A used expert that cooled down is an expert in memory.
      const state = states[i] === kUsed ? kUsed - 1 : states[i];
      const look = state + kStates.length * Math.round(heat * kShades);
      if (this.#painted[i] === look) continue;
      this.#painted[i] = look;
      this.#cell(i, this.#palette.shades[Math.floor(look / kStates.length)][state]);
    }
  }

  #cell(index, colour) {
    const { experts, cellWidth, cellHeight } = this.#grid;
    const { x, y } = cellAt(this.#grid, Math.floor(index / experts), index % experts);
    this.#context.fillStyle = colour;
    this.#context.fillRect(x, y, cellWidth - gapOf(cellWidth), cellHeight - gapOf(cellHeight));
  }

  #labels(scale) {
    const { layers, brick, left, rows, cellHeight } = this.#grid;
    const size = 10 * scale;
    this.#context.font = `${size}px system-ui, sans-serif`;
    this.#context.fillStyle = this.#palette.label;
    this.#context.textAlign = 'right';
    this.#context.textBaseline = 'middle';
    const every = Math.max(1, Math.ceil((size * 1.3) / brick));
    const pace = every <= 2 ? every : Math.ceil(every / 4) * 4;
    for (let layer = 0; layer < layers; layer += pace) {
      const middle = layer * brick + (rows * cellHeight) / 2;
      this.#context.fillText(String(layer), left - 6 * scale, Math.max(size / 2, middle));
    }
  }
}
