import { kShortcuts } from '../app/shortcuts.js';
import { Dialog } from './Dialog.jsx';

export function ShortcutsDialog() {
  return (
    <Dialog title="Keyboard">
      <dl class="shortcuts">
        {kShortcuts.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              {keys === 'Arrow keys' ? <kbd>{keys}</kbd> : keys.split(' ').map((key) => <kbd key={key}>{key}</kbd>)}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
