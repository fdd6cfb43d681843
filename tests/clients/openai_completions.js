// /v1/completions as the npm package `openai` uses it.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { collect, post, rejection, test } from './harness.js';

const client = ({ url }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
const once = { model: 'tales', prompt: 'Once upon a time', max_tokens: 6, temperature: 0 };
const go = (context, more = {}) => client(context).completions.create({ ...once, ...more });

test('Completions', 'ContinueAText', async (context) => {
  const answer = await go(context);
  assert.equal(answer.object, 'text_completion');
  assert.match(answer.id, /^cmpl-/);
  assert.ok(answer.choices[0].text.length > 0);
  assert.equal(answer.choices[0].finish_reason, 'length');
  assert.equal(answer.usage.completion_tokens, 6);
});

test('Completions', 'WriteSixteenTokensUnlessToldOtherwise', async (context) => {
  const answer = await go(context, { max_tokens: undefined, ignore_eos: true });
  assert.equal(answer.usage.completion_tokens, 16);
});

test('Completions', 'StreamTheSameText', async (context) => {
  const chunks = await collect(await go(context, { stream: true }));
  const whole = (await go(context)).choices[0].text;
  assert.equal(chunks.map((chunk) => chunk.choices[0].text).join(''), whole);
  assert.equal(chunks.at(-1).choices[0].finish_reason, 'length');
});

test('Completions', 'TakeTokensAndText', async (context) => {
  const { json } = await post(`${context.url}/tokenize`, { content: once.prompt, add_special: true });
  const tokens = (await go(context, { prompt: json.tokens })).choices[0].text;
  assert.equal(tokens, (await go(context)).choices[0].text);
});

test('Completions', 'TakeSeveralPrompts', async (context) => {
  const answer = await go(context, { prompt: ['Once upon a time', 'The king'], n: 2 });
  assert.deepEqual(answer.choices.map(({ index }) => index), [0, 1, 2, 3]);
  assert.equal(answer.choices[0].text, (await go(context)).choices[0].text);
  assert.equal(answer.choices[2].text, (await go(context, { prompt: 'The king' })).choices[0].text);
});

test('Completions', 'TakeSeveralPromptsOfTokens', async (context) => {
  const answer = await go(context, { prompt: [[5, 6, 7], [8, 9]] });
  assert.equal(answer.choices.length, 2);
  assert.equal(answer.usage.prompt_tokens, 5);
});

test('Completions', 'RepeatThePromptWhereAsked', async (context) => {
  const plain = (await go(context)).choices[0].text;
  assert.equal((await go(context, { echo: true })).choices[0].text, `Once upon a time${plain}`);
  const chunks = await collect(await go(context, { echo: true, stream: true }));
  assert.equal(chunks.map((chunk) => chunk.choices[0].text).join(''), `Once upon a time${plain}`);
});

test('Completions', 'TellProbabilitiesInTheOldForm', async (context) => {
  const { logprobs, text } = (await go(context, { logprobs: 2 })).choices[0];
  assert.equal(logprobs.tokens.join(''), text);
  assert.equal(logprobs.token_logprobs.length, 6);
  assert.equal(logprobs.text_offset[0], 0);
  assert.equal(logprobs.text_offset[1], logprobs.tokens[0].length);
  for (const [i, top] of logprobs.top_logprobs.entries()) assert.ok(logprobs.tokens[i] in top);
});

test('Completions', 'StopAtATextThatWasGiven', async (context) => {
  const whole = (await go(context, { max_tokens: 12 })).choices[0].text;
  const stop = whole.slice(8, 12);
  const answer = await go(context, { max_tokens: 12, stop: [stop] });
  assert.equal(answer.choices[0].text, whole.slice(0, whole.indexOf(stop)));
  assert.equal(answer.choices[0].finish_reason, 'stop');
});

for (const [name, more, param] of [
  ['NoPrompt', { prompt: undefined }, 'prompt'],
  ['AnEmptyPrompt', { prompt: '' }, 'prompt'],
  ['AnEmptyList', { prompt: [] }, 'prompt'],
  ['AMixedList', { prompt: ['a', [1]] , prompt_: 0, n: 0 }, 'n'],
  ['AnObject', { prompt: {} }, 'prompt'],
  ['ATokenBeyondTheVocabulary', { prompt: [999999] }, 'prompt'],
  ['ANegativeToken', { prompt: [-1] }, 'prompt'],
  ['ASuffix', { suffix: 'x' }, 'suffix'],
  ['BestOf', { best_of: 3 }, 'best_of'],
  ['EchoWithProbabilities', { echo: true, logprobs: 1 }, 'echo'],
  ['TooManyProbabilities', { logprobs: 21 }, 'logprobs'],
  ['TooLongAPrompt', { prompt: 'word '.repeat(3000) }, 'prompt'],
]) {
  test('Completions', `Refuse${name}`, async (context) => {
    const error = await rejection(go(context, more));
    assert.equal(error.status, 400);
    assert.equal(error.param, param);
    assert.equal(error.type, 'invalid_request_error');
  });
}
