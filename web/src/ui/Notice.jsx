import { state } from '../app/state.js';
import { useStore } from '../app/store.js';

export function Notice() {
  const notice = useStore(state, ({ notice: shown }) => shown);
  const undo = () => {
    state.set({ notice: null });
    notice.undo();
  };
  return (
    <div class="notice-place" role="status" aria-live="polite">
      {notice && (
        <div class="notice">
          <span>{notice.text}</span>
          {notice.undo && (
            <button type="button" onClick={undo}>
              Undo
            </button>
          )}
        </div>
      )}
    </div>
  );
}
