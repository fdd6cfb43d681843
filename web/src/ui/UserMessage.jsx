import { memo } from './memo.js';
import { useState } from 'preact/hooks';
import { sayAgain } from '../app/answering.js';
import { Branches } from './Branches.jsx';
import { CopyButton } from './CopyButton.jsx';
import { EditBox } from './EditBox.jsx';
import { IconButton } from './Icon.jsx';

export const UserMessage = memo(function UserMessage({ node, siblings, isBusy }) {
  const [isEditing, setEditing] = useState(false);
  if (isEditing)
    return (
      <article class="message user editing" aria-label="Your message">
        <EditBox
          text={node.content}
          action="Send"
          onDone={(text) => {
            setEditing(false);
            if (text !== null) sayAgain(node.id, text);
          }}
        />
      </article>
    );
  return (
    <article class="message user" aria-label="Your message">
      <h2 class="visually-hidden">You</h2>
      <div class="bubble">{node.content}</div>
      <div class="actions">
        <Branches id={node.id} {...siblings} />
        <CopyButton text={node.content} />
        <IconButton icon="edit" label="Edit this message" disabled={isBusy} onClick={() => setEditing(true)} />
      </div>
    </article>
  );
});
