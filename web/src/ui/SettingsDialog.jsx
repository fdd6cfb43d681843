import { useState } from 'preact/hooks';
import { kDefaultSettings, kSamplingFields, within } from '../chat/settings.js';
import { prefer, state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { apiKey, setApiKey } from '../api/key.js';
import { loadModels } from '../app/models.js';
import { Dialog } from './Dialog.jsx';

const change = (changes) => prefer({ settings: { ...state.get().settings, ...changes } });

export function SettingsDialog() {
  const settings = useStore(state, ({ settings: chosen }) => chosen);
  return (
    <Dialog title="Settings">
      <label class="field">
        <span>System prompt</span>
        <textarea
          rows={4}
          value={settings.system}
          placeholder="Stands before every conversation"
          onInput={(event) => change({ system: event.currentTarget.value })}
        />
      </label>
      <label class="field inline">
        <span>Thinking</span>
        <select value={settings.thinking} onChange={(event) => change({ thinking: event.currentTarget.value })}>
          <option value="default">As the model does</option>
          <option value="on">On</option>
          <option value="off">Off</option>
        </select>
      </label>
      <fieldset>
        <legend>Sampling</legend>
        <p class="dim">An empty field leaves the choice to the model's own settings.</p>
        <div class="sampling">
          {kSamplingFields.map((field) => (
            <SamplingField key={field.name} field={field} value={settings.sampling[field.name]} />
          ))}
        </div>
      </fieldset>
      <KeyField />
      <footer>
        <button type="button" onClick={() => prefer({ settings: kDefaultSettings })}>
          Reset
        </button>
        <button type="button" class="primary" onClick={() => state.set({ dialog: '' })}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}

function SamplingField({ field, value }) {
  // What is being typed, until the field is left: it need not be a number yet.
  const [typed, setTyped] = useState(null);
  const set = (text) => {
    setTyped(text);
    const sampling = { ...state.get().settings.sampling };
    const number = text === '' ? NaN : Number(text);
    if (Number.isFinite(number)) sampling[field.name] = within(field, number);
    else delete sampling[field.name];
    change({ sampling });
  };
  return (
    <label class="field">
      <span>{field.label}</span>
      <input
        type="number"
        min={field.min}
        max={field.max}
        step={field.step}
        value={typed ?? value ?? ''}
        placeholder={field.empty ?? "model's own"}
        onInput={(event) => set(event.currentTarget.value)}
        onBlur={() => setTyped(null)}
      />
      <small>{field.hint}</small>
    </label>
  );
}

function KeyField() {
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        <span>API key</span>
        <input
        type="password"
        autoComplete="off"
        defaultValue={apiKey()}
        placeholder="only if the server asks for one"
        onChange={(event) => (setApiKey(event.currentTarget.value.trim()), loadModels())}
      />
        <small>Kept until this tab is closed.</small>
      </label>
    </form>
  );
}
