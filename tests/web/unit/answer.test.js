import assert from 'node:assert/strict';
import test from 'node:test';
import { Answer } from '../../../web/src/chat/answer.js';
import { completionRequest } from '../../../web/src/chat/request.js';
import { kDefaultSettings, settingsFrom } from '../../../web/src/chat/settings.js';

const delta = (fields, finish = null) => ({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });

test('Answer: words and thoughts are gathered apart', () => {
  const answer = new Answer(0);
  answer.take(delta({ role: 'assistant', content: '' }), 1);
  assert.ok(answer.isReadingPrompt);
  answer.take(delta({ reasoning_content: 'hm ' }), 100);
  answer.take(delta({ reasoning: 'well' }), 200);
  answer.take(delta({ content: 'Yes' }), 300);
  answer.take(delta({ content: '.' }, 'stop'), 400);
  assert.equal(answer.reasoning, 'hm well');
  assert.equal(answer.content, 'Yes.');
  assert.equal(answer.finish, 'stop');
  assert.equal(answer.stats().firstTokenMs, 100);
  assert.equal(answer.stats().thoughtMs, 100);
});

test('Answer: without figures of the server the speed is what was seen', () => {
  const answer = new Answer(0);
  for (let piece = 0; piece <= 10; ++piece) answer.take(delta({ content: 'x' }), 1000 + piece * 100);
  assert.equal(answer.stats().tokensPerSecond, 10);
  assert.equal(answer.stats().tokens, 11);
});

test('Answer: figures of the server win', () => {
  const answer = new Answer(0);
  answer.take(delta({ content: 'x' }), 10);
  answer.take({
    choices: [],
    usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14, prompt_tokens_details: { cached_tokens: 4 } },
    timings: { predicted_per_second: 42, prompt_ms: 7 },
    experts: { hits: 3, misses: 1, bytes_read: 1000, stall_ms: 2 },
  }, 20);
  const { tokens, tokensPerSecond, promptTokens, cachedTokens, totalTokens, expertHits, bytesRead } = answer.stats();
  assert.deepEqual([tokens, tokensPerSecond, promptTokens, cachedTokens, totalTokens, expertHits, bytesRead], [5, 42, 9, 4, 14, 3, 1000]);
});

test('Answer: the progress of the prompt is kept, and chunks without choices are fine', () => {
  const answer = new Answer(0);
  answer.take({ prompt_progress: { total: 10, cache: 2, processed: 4, time_ms: 5 } }, 1);
  answer.take({}, 2);
  assert.equal(answer.progress.processed, 4);
  assert.deepEqual(answer.stats(), {});
});

test('Answer: it was limited by what limited it most often', () => {
  const answer = new Answer(0);
  for (const cause of ['disk', 'compute', 'disk', 'none', 'none', 'none', '', undefined]) answer.limitedBy(cause);
  assert.equal(answer.stats().limitedBy, 'disk');
  answer.take({ limited_by: 'memory' }, 1);
  assert.equal(answer.stats().limitedBy, 'memory', 'the server knows better');
});

test('Request: carries the system prompt, the branch and only the settings that were made', () => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b', reasoning: 'r' },
    { role: 'assistant', content: '' },
    { role: 'user', content: 'c' },
  ];
  const settings = settingsFrom({ system: 'Be kind.', thinking: 'off', sampling: { temperature: 0, seed: 7 } });
  const body = completionRequest('m', messages, settings);
  assert.deepEqual(body.messages, [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b', reasoning_content: 'r' },
    { role: 'user', content: 'c' },
  ]);
  assert.deepEqual([body.model, body.temperature, body.seed, body.stream, body.return_progress], ['m', 0, 7, true, true]);
  assert.deepEqual(body.chat_template_kwargs, { enable_thinking: false });
  const plain = completionRequest('', messages, kDefaultSettings);
  for (const name of ['model', 'temperature', 'top_p', 'top_k', 'min_p', 'seed', 'max_tokens', 'chat_template_kwargs'])
    assert.ok(!(name in plain), name);
});

test('Settings: whatever was stored, only usable values come out', () => {
  const sampling = { temperature: 99, top_p: -1, top_k: 3.7, seed: 'x', max_tokens: NaN, other: 1 };
  assert.deepEqual(settingsFrom({ system: 5, thinking: 'maybe', sampling }), {
    system: '', thinking: 'default', sampling: { temperature: 2, top_p: 0, top_k: 4 },
  });
  for (const value of [null, undefined, 'x', {}, { sampling: null }]) assert.deepEqual(settingsFrom(value), { ...kDefaultSettings });
});
