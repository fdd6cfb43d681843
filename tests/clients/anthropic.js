// /v1/messages as the npm package `@anthropic-ai/sdk` uses it.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { collect, events, post, rejection, test } from './harness.js';

const client = ({ url }) => new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 });
const user = (content) => [{ role: 'user', content }];
const story = { model: 'tales', messages: user('Tell me a story about a fox.'), max_tokens: 8, temperature: 0 };
const say = (context, more = {}) => client(context).messages.create({ ...story, ...more });

test('Messages', 'AnswerAQuestion', async (context) => {
  const message = await say(context);
  assert.equal(message.type, 'message');
  assert.equal(message.role, 'assistant');
  assert.match(message.id, /^msg_/);
  assert.equal(message.content[0].type, 'text');
  assert.equal(message.stop_reason, 'max_tokens');
  assert.equal(message.stop_sequence, null);
  assert.equal(message.usage.output_tokens, 8);
  assert.ok(message.usage.input_tokens + message.usage.cache_read_input_tokens > 0);
});

test('Messages', 'SayTheSameAsTheOtherApi', async (context) => {
  const { json } = await post(`${context.url}/v1/chat/completions`, story);
  assert.equal((await say(context)).content[0].text, json.choices[0].message.content);
});

test('Messages', 'StreamNamedEventsInTheirOrder', async ({ url }) => {
  const all = await events(`${url}/v1/messages`, { ...story, stream: true });
  const kinds = all.map(({ event }) => event).filter((event, i, list) => event !== list[i - 1]);
  assert.deepEqual(kinds, [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  for (const { event, data } of all) assert.equal(data.type, event);
  assert.equal(all[0].data.message.stop_reason, null);
});

test('Messages', 'WorkWithTheHelperForStreams', async (context) => {
  const stream = client(context).messages.stream(story);
  const pieces = [];
  stream.on('text', (text) => pieces.push(text));
  const message = await stream.finalMessage();
  const whole = await say(context);
  assert.equal(message.content[0].text, whole.content[0].text);
  assert.equal(pieces.join(''), whole.content[0].text);
  assert.equal(message.stop_reason, 'max_tokens');
  assert.equal(message.usage.output_tokens, 8);
});

test('Messages', 'SayWhichTextStoppedThem', async (context) => {
  const whole = (await say(context, { max_tokens: 16 })).content[0].text;
  const stop = whole.slice(8, 14);
  const message = await say(context, { max_tokens: 16, stop_sequences: ['never there', stop] });
  assert.equal(message.stop_reason, 'stop_sequence');
  assert.equal(message.stop_sequence, stop);
  assert.equal(message.content[0].text, whole.slice(0, whole.indexOf(stop)));
});

test('Messages', 'TakeASystemTextInBothForms', async (context) => {
  const plain = await say(context, { system: 'Be kind.' });
  const blocks = await say(context, {
    system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }],
  });
  assert.deepEqual(blocks.content, plain.content);
});

test('Messages', 'CountTokens', async (context) => {
  const { input_tokens } = await client(context).messages.countTokens({ model: 'tales', messages: story.messages });
  const { usage } = await say(context);
  assert.equal(input_tokens, usage.input_tokens + usage.cache_read_input_tokens);
});

// Trap 24: one client's first line changes with every call.
test('Messages', 'LeaveOutTheLineThatAlwaysChanges', async (context) => {
  const count = async (system) =>
    (await client(context).messages.countTokens({ model: 'tales', messages: story.messages, system })).input_tokens;
  const blocks = (cch) => [
    { type: 'text', text: `x-anthropic-billing-header: cc_version=2; cch=${cch};` },
    { type: 'text', text: 'You are an agent.' },
  ];
  assert.equal(await count(blocks('00000')), await count('You are an agent.'));
  const first = await say(context, { system: blocks('abcde') });
  const second = await say(context, { system: blocks('f0123') });
  assert.deepEqual(second.content, first.content);
});

test('Messages', 'TakeAConversationWithTools', async (context) => {
  const message = await say(context, {
    tools: [{ name: 'f', description: 'd', input_schema: { type: 'object', properties: {} } }],
    messages: [
      ...user('weather?'),
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: '' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 't1', name: 'f', input: { city: 'Paris' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'sunny' }] },
          { type: 'text', text: 'and?' },
        ],
      },
    ],
  });
  assert.equal(message.usage.output_tokens, 8);
});

test('Messages', 'GoOnFromABeginning', async (context) => {
  const message = await say(context, {
    messages: [...story.messages, { role: 'assistant', content: 'Once upon a time' }],
  });
  assert.ok(message.content[0].text.length > 0);
});

test('Messages', 'AreFoundWithAnApiKeyHeader', async ({ locked }) => {
  const right = new Anthropic({ baseURL: locked, apiKey: 'right', maxRetries: 0 });
  assert.equal((await right.messages.create(story)).type, 'message');
  const bearer = new Anthropic({ baseURL: locked, authToken: 'also-right', apiKey: null, maxRetries: 0 });
  assert.equal((await bearer.messages.create(story)).type, 'message');
  const wrong = new Anthropic({ baseURL: locked, apiKey: 'wrong', maxRetries: 0 });
  const error = await rejection(wrong.messages.create(story));
  assert.equal(error.status, 401);
  assert.equal(error.error.type, 'error');
  assert.equal(error.error.error.type, 'authentication_error');
});

test('Messages', 'StreamToTheEndOfManyAtOnce', async (context) => {
  const all = await Promise.all(
    Array.from({ length: 6 }, async () => collect(await say(context, { stream: true }))),
  );
  for (const list of all) assert.equal(list.at(-1).type, 'message_stop');
});

test('Messages', 'ListModels', async (context) => {
  const models = await collect(client(context).models.list());
  assert.deepEqual(models.map(({ id }) => id), ['tales']);
});

for (const [name, more, status, type] of [
  ['NoMaxTokens', { max_tokens: undefined }, 400, 'invalid_request_error'],
  ['NoMessages', { messages: [] }, 400, 'invalid_request_error'],
  ['AnUnknownRole', { messages: [{ role: 'king', content: 'x' }] }, 400, 'invalid_request_error'],
  ['Images', { messages: user([{ type: 'image', source: {} }]) }, 400, 'invalid_request_error'],
  ['AHotTemperature', { temperature: 3 }, 400, 'invalid_request_error'],
  ['AForcedCall', { tool_choice: { type: 'any' } }, 400, 'invalid_request_error'],
  ['AnotherModel', { model: 'claude' }, 404, 'not_found_error'],
  ['TooLongAPrompt', { messages: user('word '.repeat(3000)) }, 400, 'invalid_request_error'],
  ['AWrongStop', { stop_sequences: [''] }, 400, 'invalid_request_error'],
]) {
  test('Messages', `Refuse${name}`, async (context) => {
    const error = await rejection(say(context, more));
    assert.equal(error.status, status);
    assert.equal(error.error.type, 'error');
    assert.equal(error.error.error.type, type);
  });
}
