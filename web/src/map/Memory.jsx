import { bytes, count } from '../format.js';

const kParts = [
  { name: 'scout', label: 'Always there', field: 'scout_bytes' },
  { name: 'ring', label: 'Experts', field: 'ring_bytes' },
  { name: 'kv', label: 'Context', field: 'kv_bytes' },
];

/** What the memory is used for, how full the context is, and who waits. */
export function Memory({ event }) {
  const { memory, context, requests } = event;
  const parts = kParts.map((part) => ({ ...part, size: memory[part.field] ?? 0 }));
  const used = parts.reduce((sum, { size }) => sum + size, 0);
  const budget = Math.max(memory.budget_bytes ?? 0, used, 1);
  return (
    <section class="memory">
      <h3>
        Memory <span>{bytes(used)} of {bytes(budget)}</span>
      </h3>
      <div class="bar" aria-hidden="true">
        {parts.map(({ name, size }) => (
          <span key={name} class={name} style={{ width: `${(100 * size) / budget}%` }} />
        ))}
      </div>
      <ul class="shares">
        {parts.map(({ name, label, size }) => (
          <li key={name}>
            <span class={`swatch ${name}`} />
            {label}
            <b>{bytes(size)}</b>
          </li>
        ))}
      </ul>
      {context.size > 0 && (
        <>
          <h3>
            Context <span>{count(context.used ?? 0)} of {count(context.size)} tokens</span>
          </h3>
          <div class="bar" aria-hidden="true">
            <span class="kv" style={{ width: `${(100 * (context.used ?? 0)) / context.size}%` }} />
          </div>
        </>
      )}
      <p class="dim requests">
        {count(requests.processing ?? 0)} being answered, {count(requests.deferred ?? 0)} waiting
      </p>
    </section>
  );
}
