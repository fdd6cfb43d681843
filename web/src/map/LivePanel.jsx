import { live } from '../app/live.js';
import { isNarrow, state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { bytesPerSecond, percent, rate } from '../format.js';
import { IconButton } from '../ui/Icon.jsx';
import { Legend } from './Legend.jsx';
import { limitHint, limitName } from './limits.js';
import { MapTable } from './MapTable.jsx';
import { Memory } from './Memory.jsx';
import { ModelMap } from './ModelMap.jsx';
import { Plot } from './Plot.jsx';
import { TimeSplit } from './TimeSplit.jsx';

/** The engine at work. */
export function LivePanel() {
  const { event, history, status } = useStore(live, (newest) => newest);
  return (
    <aside class="live-panel" aria-label="Live map of the model">
      <header>
        <h2>Live map</h2>
        {status === 'on' && event.layers > 0 && <Limit cause={history.recentLimit()} />}
        <span class="grow" />
        <WidthButton />
        <IconButton icon="close" label="Close the map" onClick={close} />
      </header>
      {status !== 'on' && <Absence status={status} />}
      {status === 'on' && event.layers === 0 && (
        <p class="absence">No model with experts is in memory; a message brings it there.</p>
      )}
      {event?.layers > 0 && (
        <div class={status === 'on' ? 'live-body' : 'live-body stale'} tabIndex={0} role="region" aria-label="Measurements">
          <Tiles history={history} />
          <section class="map-section">
            <h3>
              {event.layers} layers × {event.experts} experts
            </h3>
            <ModelMap />
            <Legend states={event.states} />
            <MapTable event={event} />
          </section>
          <TimeSplit history={history} />
          <Memory event={event} />
        </div>
      )}
    </aside>
  );
}

function close() {
  state.set({ mapOpen: false, mapWide: false });
}

function WidthButton() {
  const isWide = useStore(state, ({ mapWide }) => mapWide);
  if (isNarrow()) return null;
  return (
    <IconButton
      icon="wide"
      label={isWide ? 'Narrow map' : 'Wide map'}
      aria-pressed={isWide}
      onClick={() => state.set({ mapWide: !isWide })}
    />
  );
}

function Limit({ cause }) {
  if (cause === 'none') return <span class="limit idle">idle</span>;
  return (
    <span class={`limit ${cause}`} title={limitHint(cause)}>
      limited by {limitName(cause)}
    </span>
  );
}

const kAbsences = {
  connecting: 'Waiting for the first measurement.',
  lost: 'The server does not answer; trying again.',
  refused: 'This server keeps its measurements to itself.',
};

function Absence({ status }) {
  return <p class="absence">{kAbsences[status]}</p>;
}

function Tiles({ history }) {
  const hitRate = history.recent('hitRate');
  return (
    <div class="tiles">
      <Plot
        label="Tokens"
        value={rate(history.recent('tokensPerSecond'))}
        unit="tok/s"
        series={history.series('tokensPerSecond')}
        kind="tokens"
      />
      <Plot
        label="Disk reads"
        value={bytesPerSecond(history.recent('readBytesPerSecond'))}
        series={history.series('readBytesPerSecond')}
        kind="reads"
      />
      <Plot
        label="Hit rate"
        value={hitRate === null ? '–' : percent(hitRate)}
        series={history.series('hitRate')}
        top={1}
        kind="hits"
      />
    </div>
  );
}
