import { useMemo } from 'preact/hooks';
import { GrowingBlocks, wholeBlocks } from '../markdown/blocks.js';
import { makeSanitizer } from '../markdown/sanitize.js';
import { copyText } from './copy.js';
import { memo } from './memo.js';

const sanitize = makeSanitizer(window);

/** The text of a model. While it grows only its last block is drawn again. */
export const Markdown = memo(function Markdown({ text, isGrowing }) {
  const growing = useMemo(() => new GrowingBlocks(sanitize), []);
  const blocks = useMemo(
    () => (isGrowing ? growing.update(text) : wholeBlocks(text, sanitize)),
    [text, isGrowing],
  );
  return (
    <div class="markdown" onClick={onClick}>
      {blocks.map((html, index) => (
        <Block key={index} html={html} />
      ))}
    </div>
  );
});

const Block = memo(function Block({ html }) {
  return <div class="block" dangerouslySetInnerHTML={{ __html: html }} />;
});

// One listener for all the buttons that the renderer puts above code.
async function onClick(event) {
  const button = event.target.closest?.('.copy-code');
  if (!button) return;
  const code = button.closest('.code').querySelector('pre').textContent;
  if (!(await copyText(code))) return;
  button.textContent = 'Copied';
  setTimeout(() => (button.textContent = 'Copy'), 1500);
}
