import { useState } from 'preact/hooks';
import { regenerate, rewrite } from '../app/answering.js';
import { AnswerStats } from './AnswerStats.jsx';
import { Branches } from './Branches.jsx';
import { CopyButton } from './CopyButton.jsx';
import { EditBox } from './EditBox.jsx';
import { Icon, IconButton } from './Icon.jsx';
import { Markdown } from './Markdown.jsx';
import { memo } from './memo.js';
import { PromptProgress } from './PromptProgress.jsx';
import { Thinking } from './Thinking.jsx';

export const AnswerMessage = memo(function AnswerMessage({ node, siblings, run, isBusy }) {
  const [isEditing, setEditing] = useState(false);
  if (isEditing)
    return (
      <article class="message answer" aria-label="Answer">
        <EditBox
          text={node.content}
          action="Keep as a version"
          onDone={(text) => {
            setEditing(false);
            if (text !== null) rewrite(node.id, text);
          }}
        />
      </article>
    );
  return (
    <article class="message answer" aria-label="Answer" aria-busy={Boolean(run)}>
      <h2 class="visually-hidden">Answer</h2>
      {node.reasoning && (
        <Thinking text={node.reasoning} isGrowing={Boolean(run) && !node.content} ms={(run ?? node).stats?.thoughtMs} />
      )}
      {node.content && <Markdown text={node.content} isGrowing={Boolean(run)} />}
      {run?.isReadingPrompt && <PromptProgress progress={run.progress} />}
      {!run && <Outcome node={node} />}
      <div class="actions">
        {!run && (
          <>
            <Branches id={node.id} {...siblings} />
            {node.content && <CopyButton text={node.content} />}
            {!isEmptyFailure(node) && (
              <IconButton icon="again" label="Another answer" disabled={isBusy} onClick={() => regenerate(node.id)} />
            )}
            {node.content && (
              <IconButton icon="edit" label="Edit this answer" disabled={isBusy} onClick={() => setEditing(true)} />
            )}
          </>
        )}
        <AnswerStats stats={(run ?? node).stats} model={node.model} />
      </div>
    </article>
  );
});

// It has its own button for another try.
const isEmptyFailure = ({ error, content }) => Boolean(error) && !content;

/** Why an answer ended, where that needs a word. */
function Outcome({ node }) {
  if (node.error)
    return (
      <div class="failure" role="alert">
        <p>{node.error}</p>
        <button type="button" onClick={() => regenerate(node.id)}>
          <Icon name="again" /> Try again
        </button>
      </div>
    );
  if (node.finish === 'length') return <p class="outcome">Ended at the longest answer that the settings allow.</p>;
  if (node.finish === 'stopped') return <p class="outcome">Stopped.</p>;
  if (!node.finish) return <p class="outcome">Interrupted: the page was left while it was written.</p>;
  if (!node.content && !node.reasoning) return <p class="outcome">The model ended at once, without a word.</p>;
  return null;
}
