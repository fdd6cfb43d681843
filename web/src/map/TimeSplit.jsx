import { percent } from '../format.js';
import { kSamples, kShares } from './history.js';

const kHeight = 48;
const kLabels = {
  attention: 'Attention',
  experts: 'Experts',
  waiting: 'Waiting for disk',
  head: 'Output head',
  other: 'Other',
};

/** Where the time of the steps went: stacked over the last minute, and in numbers now. */
export function TimeSplit({ history }) {
  const samples = history.series('shares');
  const now = samples.findLast((shares) => total(shares) > 0) ?? kShares.map(() => 0);
  return (
    <section class="time-split">
      <h3>Where the time goes</h3>
      <svg viewBox={`0 0 ${kSamples - 1} ${kHeight}`} preserveAspectRatio="none" aria-hidden="true">
        {kShares.map((name, index) => (
          <path key={name} class={`share ${name}`} d={band(samples, index)} />
        ))}
      </svg>
      <ul class="shares">
        {kShares.map((name, index) => (
          <li key={name}>
            <span class={`swatch ${name}`} />
            {kLabels[name]}
            <b>{percent(now[index])}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}

const total = (shares) => shares.reduce((sum, share) => sum + share, 0);

/** The outline of one band: along its upper edge, and back along its lower one. */
function band(samples, index) {
  if (samples.length === 0) return '';
  const edge = (shares, count) => {
    const below = total(shares.slice(0, count));
    return (kHeight - kHeight * Math.min(1, below)).toFixed(2);
  };
  const x = (sample) => kSamples - samples.length + sample;
  const upper = samples.map((shares, sample) => `${x(sample)} ${edge(shares, index + 1)}`);
  const lower = samples.map((shares, sample) => `${x(sample)} ${edge(shares, index)}`).reverse();
  return `M${[...upper, ...lower].join('L')}z`;
}
