import { state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { bytes, count, duration, percent, rate } from '../format.js';
import { limitName } from '../map/limits.js';

/** One dim line: how fast the answer came, and what it took. */
export function AnswerStats({ stats, model }) {
  const isOneOfMany = useStore(state, ({ models }) => models.length > 1);
  if (!stats || !(stats.tokens > 0)) return null;
  const looked = (stats.expertHits ?? 0) + (stats.expertMisses ?? 0);
  const facts = [
    isOneOfMany && model && [model, 'the model'],
    stats.tokensPerSecond > 0 && [`${rate(stats.tokensPerSecond)} tok/s`, 'tokens a second'],
    stats.firstTokenMs > 0 && [`first after ${duration(stats.firstTokenMs)}`, 'time to the first token'],
    [`${count(stats.tokens)} tokens`, promptFact(stats)],
    looked > 0 && [`${percent(stats.expertHits / looked)} hits`, 'experts that were in memory already'],
    stats.bytesRead > 0 && [`${bytes(stats.bytesRead)} read`, 'experts read from the disk'],
    stats.limitedBy && [`limited by ${limitName(stats.limitedBy)}`, 'what the engine waited for most'],
  ].filter(Boolean);
  return (
    <ul class="stats">
      {facts.map(([text, title]) => (
        <li key={title} title={title}>
          {text}
        </li>
      ))}
    </ul>
  );
}

function promptFact({ promptTokens, cachedTokens }) {
  if (!promptTokens) return 'tokens of the answer';
  return `after a prompt of ${count(promptTokens)} tokens, ${count(cachedTokens ?? 0)} of them known already`;
}
