import { useEffect, useRef, useState } from 'preact/hooks';
import { duration } from '../format.js';
import { Markdown } from './Markdown.jsx';

/** Open while the model thinks, closed once it answers, unless the reader decided. */
export function Thinking({ text, isGrowing, ms }) {
  const [chosen, choose] = useState(null);
  const isOpen = chosen ?? isGrowing;
  const box = useRef();
  useEffect(() => {
    if (isGrowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, isGrowing, isOpen]);
  const label = isGrowing ? 'Thinking' : ms > 0 ? `Thought for ${duration(ms)}` : 'Thoughts';
  return (
    <section class="thinking">
      <button type="button" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
        {isGrowing && <span class="pulse" />}
        {label}
      </button>
      {isOpen && (
        <div class={isGrowing ? 'thoughts growing' : 'thoughts'} ref={box} tabIndex={0} role="region" aria-label="Thoughts">
          <Markdown text={text} isGrowing={isGrowing} />
        </div>
      )}
    </section>
  );
}
