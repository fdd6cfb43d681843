import { useRef } from 'preact/hooks';
import { apiKey, setApiKey } from '../api/key.js';
import { loadModels } from '../app/models.js';
import { state } from '../app/state.js';
import { Dialog } from './Dialog.jsx';

/** Opens when the server refuses for want of a key. */
export function KeyDialog() {
  const field = useRef();
  const save = (event) => {
    event.preventDefault();
    setApiKey(field.current.value.trim());
    state.set({ dialog: '' });
    loadModels();
  };
  return (
    <Dialog title="This server wants a key">
      <form onSubmit={save}>
        <label class="field">
          <span>API key</span>
          <input ref={field} class="first-field" type="password" autoComplete="off" defaultValue={apiKey()} />
          <small>Kept until this tab is closed, and sent to this server only.</small>
        </label>
        <footer>
          <button type="submit" class="primary">
            Use it
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
