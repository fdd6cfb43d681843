import { path } from '../chat/tree.js';
import { toggleList, toggleMap } from '../app/shortcuts.js';
import { currentConversation, startChat } from '../app/conversations.js';
import { live } from '../app/live.js';
import { loadModels } from '../app/models.js';
import { prefer, state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { isDark, switchTheme } from '../app/theme.js';
import { count } from '../format.js';
import { focusBox } from '../app/shortcuts.js';
import { IconButton } from './Icon.jsx';

export function TopBar() {
  const [listOpen, mapOpen, theme] = useStore(state, (shown) => [shown.listOpen, shown.mapOpen, shown.theme]);
  const dark = isDark(theme);
  return (
    <header class="top-bar">
      <h1 class="visually-hidden">S-MoE</h1>
      <IconButton icon="menu" label="Chats" aria-expanded={listOpen} onClick={toggleList} />
      {!listOpen && (
        <IconButton icon="plus" label="New chat" onClick={() => (startChat(), focusBox())} />
      )}
      <ModelMenu />
      <span class="grow" />
      <ContextMeter />
      <IconButton
        icon={dark ? 'sun' : 'moon'}
        label={dark ? 'Light colours' : 'Dark colours'}
        onClick={switchTheme}
      />
      <IconButton icon="settings" label="Settings" onClick={() => state.set({ dialog: 'settings' })} />
      <IconButton icon="map" label="Live map" aria-expanded={mapOpen} onClick={toggleMap} />
    </header>
  );
}

function ModelMenu() {
  const [models, model, serverError] = useStore(state, (shown) => [shown.models, shown.model, shown.serverError]);
  if (serverError)
    return (
      <button type="button" class="model-menu broken" title={serverError} onClick={loadModels}>
        No server – try again
      </button>
    );
  return (
    <select
      class="model-menu"
      aria-label="Model"
      value={model}
      onChange={(event) => prefer({ model: event.currentTarget.value })}
    >
      {models.map((id) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  );
}

/** How much of the model's context this conversation takes. */
function ContextMeter() {
  const fallback = useStore(state, ({ contextSize }) => contextSize);
  const size = useStore(live, ({ event }) => event?.context.size) || fallback;
  const used = useStore(state, usedTokens);
  if (!size) return null;
  const share = Math.min(1, used / size);
  const label = `${count(used)} of ${count(size)} tokens of context used`;
  return (
    <div class="context-meter" role="img" aria-label={label} title={label}>
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <circle cx="10" cy="10" r="7.5" class="ring" />
        <circle
          cx="10"
          cy="10"
          r="7.5"
          pathLength="100"
          class={share > 0.9 ? 'arc nearly-full' : 'arc'}
          stroke-dasharray={`${share * 100} 100`}
          transform="rotate(-90 10 10)"
        />
      </svg>
      <span class="wide-only">
        {count(used)} / {count(size)}
      </span>
    </div>
  );
}

function usedTokens(shown) {
  const conversation = currentConversation(shown);
  const run = shown.running[shown.current];
  if (run?.progress) return run.progress.total + (run.stats.tokens ?? 0);
  const answered = conversation && path(conversation).findLast((node) => node.stats?.totalTokens);
  return answered?.stats.totalTokens ?? 0;
}
