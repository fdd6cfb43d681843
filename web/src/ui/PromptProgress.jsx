import { count, duration } from '../format.js';

/** What happens before the first word: the wait for a turn, then the reading of the prompt. */
export function PromptProgress({ progress }) {
  if (!progress || !(progress.total > 0))
    return (
      <p class="waiting-dots" role="img" aria-label="Waiting for the first word">
        <span />
        <span />
        <span />
      </p>
    );
  const { total, cache = 0, processed = 0, time_ms = 0 } = progress;
  const fresh = processed - cache;
  const left = fresh > 0 && time_ms > 500 ? (time_ms / fresh) * (total - processed) : 0;
  return (
    <div class="prompt-progress">
      <span>
        Reading the prompt: {count(processed)} of {count(total)} tokens
        {cache > 0 && <>, {count(cache)} of them known already</>}
        {left > 1000 && <>; about {duration(left)} left</>}
      </span>
      <progress aria-label="Prompt read" max={total} value={processed} />
    </div>
  );
}
