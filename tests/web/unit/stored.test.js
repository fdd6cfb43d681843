import assert from 'node:assert/strict';
import test from 'node:test';
import '../support/crypto.js';
import { Library, memoryStorage } from '../../../web/src/chat/library.js';
import { asJson, asMarkdown, fileName } from '../../../web/src/chat/export.js';
import { conversationFrom } from '../../../web/src/chat/stored.js';
import { append, kRoot, newConversation, path } from '../../../web/src/chat/tree.js';

function oneTurn(content = 'hello') {
  const asked = append(newConversation(5), kRoot, { id: 'u1', role: 'user', content });
  return append(asked, 'u1', {
    id: 'a1', role: 'assistant', content: 'hi', reasoning: 'hm', model: 'm', finish: 'stop', stats: { tokens: 1 },
  });
}
const plain = (value) => JSON.parse(JSON.stringify(value));

test('Stored: what was written is read back', () => {
  const written = plain(oneTurn());
  assert.deepEqual(plain(conversationFrom(written)), written);
});

test('Stored: what is no conversation is refused', () => {
  for (const value of [null, 7, 'x', [], {}, { nodes: null }, { nodes: {} }, { nodes: { root: {} } }, { nodes: { root: { children: ['a'] } } }])
    assert.equal(conversationFrom(value), null);
});

test('Stored: fields of the wrong kind become harmless', () => {
  const bad = plain(oneTurn());
  bad.title = { toString: 1 };
  bad.created = 'yesterday';
  bad.id = '../x';
  bad.nodes.a1.content = ['<b>'];
  bad.nodes.a1.stats = { tokens: 'many', promptMs: 3, limitedBy: 'disk' };
  bad.nodes.u1.chosen = 1e300;
  const read = conversationFrom(bad);
  assert.equal(read.title, '');
  assert.match(read.id, /^[a-z0-9]+$/);
  assert.equal(read.nodes.a1.content, '');
  assert.deepEqual(read.nodes.a1.stats, { promptMs: 3, limitedBy: 'disk' });
  assert.equal(path(read).length, 2);
});

test('Stored: a tree that loops, or names what is not there, ends', () => {
  const bad = plain(oneTurn());
  bad.nodes.a1.children = ['u1', 'root', 'a1', 'gone', 7, '__proto__', 'constructor'];
  const read = conversationFrom(bad);
  assert.deepEqual(path(read).map(({ id }) => id), ['u1', 'a1']);
});

test('Stored: messages of other roles are left out with all below them', () => {
  const bad = plain(oneTurn());
  bad.nodes.u1.role = 'system';
  assert.equal(conversationFrom(bad), null);
});

test('Library: lists what was saved, newest first, and forgets what was removed', () => {
  const library = new Library(memoryStorage());
  const older = { ...oneTurn('older'), updated: 1 };
  const newer = { ...oneTurn('newer'), updated: 2 };
  assert.ok(library.save(newer));
  assert.ok(library.save(older));
  assert.deepEqual(library.list().map(({ title }) => title), ['newer', 'older']);
  assert.equal(library.load(older.id).nodes.u1.content, 'older');
  library.remove(newer.id);
  assert.deepEqual(library.list().map(({ title }) => title), ['older']);
  assert.equal(library.load(newer.id), null);
});

test('Library: a full or damaged storage is no exception', () => {
  const full = { ...memoryStorage(), setItem: () => { throw new Error('QuotaExceededError'); } };
  assert.equal(new Library(full).save(oneTurn()), false);
  const damaged = memoryStorage();
  damaged.setItem('smoe.chats', '{"not":"a list"');
  damaged.setItem('smoe.chat.x', '[[[');
  assert.deepEqual(new Library(damaged).list(), []);
  assert.equal(new Library(damaged).load('x'), null);
});

test('Export: the JSON file is read back with all branches', () => {
  const branched = append(oneTurn(), 'u1', { id: 'a2', role: 'assistant', content: 'other' });
  assert.equal(Object.keys(conversationFrom(JSON.parse(asJson(branched))).nodes).length, 4);
});

test('Export: the Markdown file has what is shown, thoughts as a quotation', () => {
  const text = asMarkdown(oneTurn());
  assert.match(text, /^# hello\n/);
  assert.match(text, /## Answer \(m\)\n\n> hm\n\nhi\n/);
});

test('Export: a file has a name that every system takes', () => {
  assert.equal(fileName(oneTurn('A/B: "c"…?'), 'md'), 'a-b-c.md');
  assert.equal(fileName(oneTurn('日本'), 'json'), 'chat.json');
});
