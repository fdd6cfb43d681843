import { useState } from 'preact/hooks';
import { countStates, describe, kStates } from './states.js';

/** The map in words and numbers. */
export function MapTable({ event }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="map-table" open={isOpen} onToggle={(toggle) => setOpen(toggle.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <>
          <p class="dim">{describe(event)}</p>
          <div class="table" tabIndex={0} role="region" aria-label="Experts of each layer by state">
            <table>
              <thead>
                <tr>
                  <th scope="col">Layer</th>
                  {kStates.map(({ name, label }) => (
                    <th key={name} scope="col">
                      {label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {Array.from({ length: event.layers }, (_, layer) => (
                  <Row key={layer} event={event} layer={layer} />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </details>
  );
}

function Row({ event, layer }) {
  const counts = countStates(event.states, layer * event.experts, (layer + 1) * event.experts);
  return (
    <tr>
      <th scope="row">{layer}</th>
      {counts.map((number, state) => (
        <td key={state}>{number}</td>
      ))}
    </tr>
  );
}
