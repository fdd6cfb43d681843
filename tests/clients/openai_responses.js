// /v1/responses as the npm package `openai` uses it.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { collect, rejection, test } from './harness.js';

const client = ({ url }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
const ask = { model: 'tales', input: 'Tell me a story.', max_output_tokens: 8, temperature: 0 };
const go = (context, more = {}) => client(context).responses.create({ ...ask, ...more });

test('Responses', 'AnswerAText', async (context) => {
  const response = await go(context);
  assert.equal(response.object, 'response');
  assert.match(response.id, /^resp_/);
  assert.ok(response.output_text.length > 0);
  assert.equal(response.output[0].type, 'message');
  assert.equal(response.status, 'incomplete');
  assert.equal(response.incomplete_details.reason, 'max_output_tokens');
  assert.equal(response.usage.output_tokens, 8);
  assert.equal(response.usage.total_tokens, response.usage.input_tokens + 8);
});

test('Responses', 'StreamEventsInTheirOrder', async (context) => {
  const all = await collect(await go(context, { stream: true }));
  const kinds = all.map(({ type }) => type).filter((type, i, list) => type !== list[i - 1]);
  assert.deepEqual(kinds, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.incomplete',
  ]);
  assert.deepEqual(all.map(({ sequence_number }) => sequence_number), all.map((_, i) => i));
  const deltas = all.filter(({ type }) => type === 'response.output_text.delta');
  const whole = (await go(context)).output_text;
  assert.equal(deltas.map(({ delta }) => delta).join(''), whole);
  assert.equal(all.at(-1).response.output[0].content[0].text, whole);
});

test('Responses', 'WorkWithTheHelperForStreams', async (context) => {
  const stream = client(context).responses.stream(ask);
  for await (const event of stream) assert.ok(event.type);
  const final = await stream.finalResponse();
  assert.equal(final.output[0].content[0].text, (await go(context)).output_text);
});

test('Responses', 'TakeInstructionsAndItems', async (context) => {
  const messages = [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: 'hi' }];
  const chat = await client(context).chat.completions.create({ model: 'tales', messages, max_tokens: 1 });
  const response = await go(context, {
    instructions: 'Be kind.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
  });
  assert.equal(response.usage.input_tokens, chat.usage.prompt_tokens);
  assert.equal(response.instructions, 'Be kind.');
});

test('Responses', 'TakeAConversationWithCalls', async (context) => {
  const response = await go(context, {
    input: [
      { role: 'user', content: 'weather?' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"city":"Paris"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }],
  });
  assert.equal(response.usage.output_tokens, 8);
  assert.equal(response.tools[0].name, 'f');
});

for (const [name, more, param] of [
  ['AnEarlierResponse', { previous_response_id: 'resp_1' }, 'previous_response_id'],
  ['AStoredConversation', { conversation: 'conv_1' }, 'conversation'],
  ['WorkInTheBackground', { background: true }, 'background'],
  ['Truncation', { truncation: 'auto' }, 'truncation'],
  ['AFormat', { text: { format: { type: 'yaml' } } }, 'text.format.type'],
  ['NoInput', { input: undefined }, 'input'],
  ['AnEmptyList', { input: [] }, 'input'],
  ['Images', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input[0].content[0].type'],
  ['AForcedCall', { tool_choice: 'required' }, 'tool_choice'],
  ['AWrongNumber', { max_output_tokens: -1 }, 'max_output_tokens'],
  ['AServersTool', { tools: [{ type: 'web_search' }] }, 'tools[0]'],
  ['TooLongAnInput', { input: 'word '.repeat(3000) }, 'input'],
]) {
  test('Responses', `Refuse${name}`, async (context) => {
    const error = await rejection(go(context, more));
    assert.equal(error.status, 400);
    assert.equal(error.param, param);
  });
}
