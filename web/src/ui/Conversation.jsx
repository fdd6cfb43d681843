import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { path, place } from '../chat/tree.js';
import { currentConversation } from '../app/conversations.js';
import { state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { AnswerMessage } from './AnswerMessage.jsx';
import { EmptyChat } from './EmptyChat.jsx';
import { Icon } from './Icon.jsx';
import { UserMessage } from './UserMessage.jsx';

// Within this distance of the end the view follows a growing answer.
const kNearEnd = 60;

export function Conversation() {
  const conversation = useStore(state, currentConversation);
  const run = useStore(state, ({ running, current }) => running[current]);
  const messages = path(conversation);
  const scroller = useRef();
  const isFollowing = useRef(true);
  const [isAway, setAway] = useState(false);

  const toEnd = () => {
    const { current: box } = scroller;
    box.scrollTop = box.scrollHeight;
  };
  const onScroll = () => {
    const { current: box } = scroller;
    isFollowing.current = box.scrollHeight - box.scrollTop - box.clientHeight < kNearEnd;
    setAway(!isFollowing.current);
  };
  // A new message, or another conversation, is shown from its end.
  useEffect(() => {
    isFollowing.current = true;
    toEnd();
  }, [conversation.id, messages.at(-1)?.id]);
  useLayoutEffect(() => {
    if (isFollowing.current) toEnd();
  });

  return (
    <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label="Messages">
      {messages.length === 0 ? (
        <EmptyChat />
      ) : (
        <div class="messages">
          {messages.map((node) => (
            <Message
              key={node.id}
              node={node}
              siblings={place(conversation, node.id)}
              run={run?.node === node.id ? run : null}
              isBusy={Boolean(run)}
            />
          ))}
        </div>
      )}
      {isAway && (
        <button type="button" class="to-end" onClick={toEnd}>
          <Icon name="down" /> Newest
        </button>
      )}
    </div>
  );
}

function Message({ node, ...rest }) {
  return node.role === 'user' ? (
    <UserMessage node={node} {...rest} />
  ) : (
    <AnswerMessage node={node} {...rest} />
  );
}
