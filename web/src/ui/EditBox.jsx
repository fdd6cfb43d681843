import { useEffect, useRef, useState } from 'preact/hooks';
import { fitHeight } from './fit.js';

/** Calls onDone with the new text, or with null when it is left as it was. */
export function EditBox({ text, action, onDone }) {
  const box = useRef();
  const [draft, setDraft] = useState(text);
  useEffect(() => {
    box.current.focus();
    box.current.setSelectionRange(text.length, text.length);
  }, []);
  useEffect(() => fitHeight(box.current), [draft]);
  const save = () => onDone(draft.trim() && draft !== text ? draft : null);
  const onKeyDown = (event) => {
    if (event.isComposing) return;
    if (event.key === 'Escape') {
      event.preventDefault();
      onDone(null);
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      save();
    }
  };
  return (
    <div class="edit-box">
      <textarea
        ref={box}
        aria-label="Edit the message"
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div class="edit-actions">
        <button type="button" onClick={() => onDone(null)}>
          Cancel
        </button>
        <button type="button" class="primary" onClick={save}>
          {action}
        </button>
      </div>
    </div>
  );
}
