// How a server begins, changes models, and ends.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fetchText, post, run, Server, sleep, test } from './harness.js';

const chat = (model) => ({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 4, temperature: 0 });

for (const [name, args, words] of [
  ['APortThatIsTaken', ({ url }, model) => [model, '--port', new URL(url).port], /is taken by smoe \(process \d+\)/],
  ['NoModel', () => ['/nowhere'], /is no model folder/],
  ['AnOpenAddressWithoutAKey', (_, model) => [model, '--host', '0.0.0.0'], /without a key/],
  ['AHostThatIsNone', (_, model) => [model, '--host', 'no.such.host.invalid', '--allow-unauthenticated'], /no address/],
  ['AKeyFileWithoutKeys', (_, model) => [model, '--api-key-file', '/dev/null'], /no key/],
]) {
  test('Start', `Refuses${name}`, async (context) => {
    const { status, err } = await run(context.binary, ['serve', ...args(context, context.model), ...context.options]);
    assert.notEqual(status, 0);
    assert.match(err, words);
  });
}

test('Fleet', 'ServesWhatLiesBelowAFolderAndSwitches', async (context) => {
  const folder = join(context.folder, 'fleet');
  for (const name of ['fox', 'owl']) cpSync(context.model, join(folder, name), { recursive: true });
  const server = await Server.start(context.binary, ['serve', folder, '--port', '0', ...context.options]);
  const ids = (await fetchText(`${server.url}/v1/models`)).json.data.map(({ id }) => id);
  assert.deepEqual(ids, ['fox', 'owl']);
  const texts = [];
  for (const name of ['owl', 'fox', 'owl', '']) {
    const { status, json } = await post(`${server.url}/v1/chat/completions`, chat(name));
    assert.equal(status, 200);
    if (name) assert.equal(json.model, name);
    texts.push(json.choices[0].message.content);
  }
  assert.equal(new Set(texts).size, 1);
  const mixed = await Promise.all(
    ['fox', 'owl', 'fox', 'owl'].map((name) => post(`${server.url}/v1/chat/completions`, chat(name))),
  );
  for (const { status } of mixed) assert.equal(status, 200);
  assert.equal(await server.stop(), 0);
});

// RELIABILITY S9.
test('Stop', 'LetsAnAnswerEnd', async (context) => {
  const server = await Server.start(context.binary, ['serve', context.model, '--port', '0', ...context.options]);
  const answer = post(`${server.url}/v1/chat/completions`, { ...chat('tales'), max_tokens: 100, ignore_eos: true });
  await sleep(150);
  const ended = server.stop();
  const { status, json } = await answer;
  assert.equal(status, 200);
  assert.equal(json.usage.completion_tokens, 100);
  assert.equal(await ended, 0);
});

test('Stop', 'ServesAUnixSocketAndRemovesIt', async (context) => {
  const path = join(context.folder, 's.sock');
  const server = await Server.start(context.binary, ['serve', context.model, '--host', path, ...context.options]);
  assert.equal(server.url, `unix:${path}`);
  assert.equal(await server.stop(), 0);
});
