import { exportChat } from '../app/conversations.js';
import { state } from '../app/state.js';
import { Dialog } from './Dialog.jsx';

const kFormats = [
  { format: 'md', label: 'Markdown', hint: 'the messages that are shown, for reading' },
  { format: 'json', label: 'JSON', hint: 'all versions, to be imported again' },
];

export function ExportDialog() {
  const save = (format) => {
    exportChat(state.get().exported, format);
    state.set({ dialog: '' });
  };
  return (
    <Dialog title="Export the chat">
      <div class="choices">
        {kFormats.map(({ format, label, hint }) => (
          <button key={format} type="button" onClick={() => save(format)}>
            <b>{label}</b>
            <small>{hint}</small>
          </button>
        ))}
      </div>
    </Dialog>
  );
}
