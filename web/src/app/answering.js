// From a message to its answer.
import { isStopped, streamChunks } from '../api/client.js';
import { Answer } from '../chat/answer.js';
import { completionRequest } from '../chat/request.js';
import { append, path, pathTo, update } from '../chat/tree.js';
import { change, currentConversation, put, saveAll } from './conversations.js';
import { live } from './live.js';
import { state } from './state.js';

// Often enough to read as a flow, seldom enough to leave the machine to the model.
const kShowMs = 50;

export const isRunning = (shown = state.get()) => shown.current in shown.running;

/** Says something at the end of the shown branch, and asks for the answer. */
export function say(content) {
  const conversation = currentConversation();
  sayBelow(conversation, path(conversation).at(-1)?.id ?? 'root', content);
}

/** Says it differently: a sibling of the message grows, with an answer of its own. */
export function sayAgain(id, content) {
  const conversation = currentConversation();
  sayBelow(conversation, conversation.nodes[id].parent, content);
}

function sayBelow(conversation, parent, content) {
  if (conversation.id in state.get().running || !content.trim()) return;
  const next = append(conversation, parent, { role: 'user', content });
  const said = next.nodes[parent].children.at(-1);
  put({ ...next, updated: Date.now() });
  answer(conversation.id, said);
}

/** Another answer to the same message. A failed one without a word is replaced. */
export function regenerate(id) {
  const conversation = currentConversation();
  const node = conversation.nodes[id];
  if (conversation.id in state.get().running) return;
  const isEmpty = !node.content && !node.reasoning;
  answer(conversation.id, node.parent, isEmpty ? id : null);
}

/** A sibling of an answer with other words: what follows is based on them. */
export function rewrite(id, content) {
  const conversation = currentConversation();
  const { parent, model } = conversation.nodes[id];
  put(append(conversation, parent, { role: 'assistant', content, model, finish: 'edited' }));
}

export function stop(id = state.get().current) {
  state.get().running[id]?.controller.abort();
}

async function answer(chat, below, reuse = null) {
  const { model, settings, open } = state.get();
  const above = pathTo(open[chat], below);
  const node = reuse ?? begin(chat, below, model);
  const controller = new AbortController();
  const gathered = new Answer(performance.now());
  const blank = { content: '', reasoning: '', error: '', finish: '', stats: null, model };
  change(chat, (conversation) => update(conversation, node, blank));
  show(chat, node, controller, gathered);
  state.set({ spoken: 'Answering.' });

  const timer = setInterval(() => show(chat, node, controller, gathered), kShowMs);
  const unsubscribe = live.subscribe(() => gathered.limitedBy(live.get().event?.limited_by));
  let error = '';
  try {
    for await (const chunk of streamChunks(completionRequest(model, above, settings), controller.signal))
      gathered.take(chunk, performance.now());
  } catch (failure) {
    if (isStopped(failure)) gathered.finish = 'stopped';
    else error = failure.message;
    if (failure.status === 401) state.set({ dialog: 'key' });
  }
  clearInterval(timer);
  unsubscribe();
  finish(chat, node, gathered, error);
}

function begin(chat, below, model) {
  const next = append(state.get().open[chat], below, { role: 'assistant', model });
  put(next);
  return next.nodes[below].children.at(-1);
}

function show(chat, node, controller, gathered) {
  const { content, reasoning, progress, isReadingPrompt } = gathered;
  const shown = state.get().open[chat]?.nodes[node];
  if (shown && (shown.content !== content || (shown.reasoning ?? '') !== reasoning))
    change(chat, (conversation) => update(conversation, node, { content, reasoning }));
  const before = state.get().running[chat];
  const stats = gathered.stats();
  if (before && before.progress === progress && before.stats.tokens === stats.tokens) return;
  const run = { node, controller, progress, isReadingPrompt, stats };
  state.set(({ running }) => ({ running: { ...running, [chat]: run } }));
}

function finish(chat, node, gathered, error) {
  const { content, reasoning } = gathered;
  change(chat, (conversation) => ({
    ...update(conversation, node, {
      content, reasoning, error, finish: gathered.finish, stats: gathered.stats(),
    }),
    updated: Date.now(),
  }));
  state.set(({ running }) => {
    const others = { ...running };
    delete others[chat];
    const spoken = error ? `The answer failed: ${error}` : `Answer: ${content.slice(0, 600)}`;
    return { running: others, spoken };
  });
  saveAll();
}
