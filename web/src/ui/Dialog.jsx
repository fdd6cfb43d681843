import { useEffect, useRef } from 'preact/hooks';
import { state } from '../app/state.js';
import { IconButton } from './Icon.jsx';

const close = () => state.set({ dialog: '' });

/** A modal window. Escape, its cross and a click beside it close it. */
export function Dialog({ title, children }) {
  const element = useRef();
  useEffect(() => {
    const { current: dialog } = element;
    const focused = document.activeElement;
    dialog.showModal();
    (dialog.querySelector('.first-field') ?? dialog).focus();
    return () => focused?.focus?.();
  }, []);
  const onClick = (event) => event.target === element.current && close();
  return (
    <dialog ref={element} class="dialog" tabIndex={-1} aria-labelledby="dialog-title" onClose={close} onClick={onClick}>
      <div class="dialog-body">
        <header>
          <h2 id="dialog-title">{title}</h2>
          <IconButton icon="close" label="Close" onClick={close} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
