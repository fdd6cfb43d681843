// Where every expert is drawn. A layer is a brick of one or more rows of cells; the brick's shape is
// chosen so that the cells come out as large as the room allows, and nearly square.

const kMaxRows = 32;
// Cells larger than this share of the width are no easier to read.
const kLargestCell = 1 / 34;
// A cell may be this much higher than it is wide, and as much wider than high.
const kTallest = 1.25;
const kWidest = 2;

/**
 * For a model with at least one layer and expert.
 * @param width, height the room in device pixels; the height is a wish that a large model exceeds
 * @param gutter left for the layers' numbers
 * @returns {{cellWidth, cellHeight, columns, rows, brick, left, width, height}} `brick` is the
 *   distance from layer to layer; all in whole pixels
 */
export function layOut({ layers, experts, width, height, gutter }) {
  const roomy = Math.max(1, Math.floor((width - gutter) * kLargestCell));
  let best = null;
  for (let rows = 1; rows <= Math.min(kMaxRows, experts); ++rows) {
    if (experts % rows !== 0) continue;
    const brick = brickOf({ layers, experts, width: width - gutter, height, rows });
    const size = Math.min(brick.cellWidth, brick.cellHeight, roomy);
    const area = brick.cellWidth * brick.columns * brick.cellHeight * rows;
    if (!best || size > best.size || (size === best.size && area > best.area))
      best = { ...brick, size, area };
  }
  const { cellWidth, cellHeight, columns, rows } = best;
  const gap = rows > 1 ? Math.max(1, Math.round(cellHeight / 2)) : 0;
  const brick = rows * cellHeight + gap;
  return {
    layers, experts, columns, rows, cellWidth, cellHeight, brick, left: gutter,
    width: gutter + columns * cellWidth,
    height: layers * brick - gap,
  };
}

function brickOf({ layers, experts, width, height, rows }) {
  const columns = experts / rows;
  const across = Math.max(1, Math.floor(width / columns));
  // Between bricks of several rows there is a gap of half a cell.
  const down = Math.max(1, Math.floor(height / (layers * (rows > 1 ? rows + 0.5 : 1))));
  return {
    columns, rows,
    cellWidth: Math.max(1, Math.min(across, Math.floor(down * kWidest))),
    cellHeight: Math.max(1, Math.min(down, Math.floor(across * kTallest))),
  };
}

/** The top left corner of an expert's cell. */
export function cellAt(grid, layer, expert) {
  return {
    x: grid.left + (expert % grid.columns) * grid.cellWidth,
    y: layer * grid.brick + Math.floor(expert / grid.columns) * grid.cellHeight,
  };
}

/** The expert under a point, or null. */
export function expertAt(grid, x, y) {
  const column = Math.floor((x - grid.left) / grid.cellWidth);
  const layer = Math.floor(y / grid.brick);
  const row = Math.floor((y - layer * grid.brick) / grid.cellHeight);
  if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) return null;
  if (layer < 0 || layer >= grid.layers) return null;
  return { layer, expert: row * grid.columns + column };
}

/** Where an arrow key leads from an expert; null for other keys. Stays inside. */
export function step({ layers, experts }, { layer, expert }, key) {
  const within = (value, count) => Math.min(count - 1, Math.max(0, value));
  if (key === 'ArrowLeft') return { layer, expert: within(expert - 1, experts) };
  if (key === 'ArrowRight') return { layer, expert: within(expert + 1, experts) };
  if (key === 'ArrowUp') return { layer: within(layer - 1, layers), expert };
  if (key === 'ArrowDown') return { layer: within(layer + 1, layers), expert };
  if (key === 'Home') return { layer, expert: 0 };
  if (key === 'End') return { layer, expert: experts - 1 };
  return null;
}
