import assert from 'node:assert/strict';
import test from 'node:test';
import '../support/crypto.js';
import {
  append, kRoot, newConversation, path, pathTo, place, titleOf, update, walk,
} from '../../../web/src/chat/tree.js';

const texts = (conversation) => path(conversation).map(({ content }) => content);

/** Two turns: u1 a1 u2 a2. */
function twoTurns() {
  let conversation = newConversation(0);
  let parent = kRoot;
  for (const [id, role] of [['u1', 'user'], ['a1', 'assistant'], ['u2', 'user'], ['a2', 'assistant']]) {
    conversation = append(conversation, parent, { id, role, content: id });
    parent = id;
  }
  return conversation;
}

test('Tree: messages are shown in the order in which they were said', () => {
  assert.deepEqual(texts(twoTurns()), ['u1', 'a1', 'u2', 'a2']);
});

test('Tree: an edited message is a sibling, chosen, and what followed the old one stays there', () => {
  const edited = append(twoTurns(), kRoot, { id: 'u1b', role: 'user', content: 'other' });
  assert.deepEqual(texts(edited), ['other']);
  assert.deepEqual(place(edited, 'u1b'), { index: 1, count: 2 });
  assert.deepEqual(texts(walk(edited, 'u1b', -1)), ['u1', 'a1', 'u2', 'a2']);
});

test('Tree: every branch remembers which of its own branches was chosen', () => {
  let conversation = append(twoTurns(), 'u2', { id: 'a2b', role: 'assistant', content: 'a2b' });
  conversation = append(conversation, kRoot, { id: 'u1b', role: 'user', content: 'u1b' });
  assert.deepEqual(texts(walk(conversation, 'u1b', -1)), ['u1', 'a1', 'u2', 'a2b']);
});

test('Tree: walking past either end stays there', () => {
  const conversation = append(twoTurns(), 'u2', { id: 'a2b', role: 'assistant', content: 'a2b' });
  assert.deepEqual(texts(walk(conversation, 'a2b', 5)).at(-1), 'a2b');
  assert.deepEqual(texts(walk(conversation, 'a2b', -5)).at(-1), 'a2');
});

test('Tree: the way to a message does not depend on what is chosen', () => {
  const conversation = append(twoTurns(), kRoot, { id: 'u1b', role: 'user', content: 'u1b' });
  assert.deepEqual(pathTo(conversation, 'u2').map(({ id }) => id), ['u1', 'a1', 'u2']);
  assert.deepEqual(pathTo(conversation, kRoot), []);
});

test('Tree: a change makes a new value and leaves the old one alone', () => {
  const before = twoTurns();
  const after = update(before, 'a1', { content: 'new' });
  assert.equal(before.nodes.a1.content, 'a1');
  assert.equal(after.nodes.a1.content, 'new');
  assert.equal(after.nodes.u1, before.nodes.u1);
  assert.equal(update(before, 'gone', { content: 'x' }), before);
});

test('Tree: a conversation is called by its first words until it has a name', () => {
  const long = append(newConversation(0), kRoot, { role: 'user', content: ` many\n words ${'x'.repeat(90)}` });
  assert.match(titleOf(long), /^many words x+…$/);
  assert.ok(titleOf(long).length <= 60);
  assert.equal(titleOf({ ...long, title: 'Mine' }), 'Mine');
  assert.equal(titleOf(newConversation(0)), 'New chat');
});
