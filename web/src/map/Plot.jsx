import { kSamples } from './history.js';

const kHeight = 40;

/** A number and its last minute. The newest value is at the right edge. */
export function Plot({ label, value, unit, series, top, kind }) {
  const highest = top ?? Math.max(1e-9, ...series.map((sample) => sample ?? 0)) * 1.1;
  return (
    <figure class={`plot ${kind}`}>
      <figcaption>{label}</figcaption>
      <p class="plot-value">
        {value}
        {unit && <small> {unit}</small>}
      </p>
      <svg
        viewBox={`0 0 ${kSamples - 1} ${kHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label} over the last minute, now ${value} ${unit ?? ''}`}
      >
        {pieces(series, highest).map((points) => (
          <g key={points[0][0]}>
            <path class="area" d={`M${points[0][0]} ${kHeight}L${joined(points)}L${points.at(-1)[0]} ${kHeight}z`} />
            <path class="line" d={`M${joined(points)}`} />
          </g>
        ))}
      </svg>
    </figure>
  );
}

const joined = (points) => points.map(([x, y]) => `${x} ${y.toFixed(2)}`).join('L');

/** Runs of values as points; moments without a value are gaps. */
function pieces(series, highest) {
  const runs = [];
  let run = null;
  series.forEach((sample, index) => {
    if (sample === null) {
      run = null;
      return;
    }
    if (!run) runs.push((run = []));
    run.push([kSamples - series.length + index, kHeight - 1 - (kHeight - 2) * Math.min(1, sample / highest)]);
  });
  return runs;
}
