// What goes wrong, as clients hear of it.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { fetchText, post, rejection, test } from './harness.js';

const user = [{ role: 'user', content: 'hi' }];
const chat = { model: 'tales', messages: user, max_tokens: 2, temperature: 0 };

// Trap 46: every number with values that it cannot have.
const numbers = ['temperature', 'top_p', 'top_k', 'min_p', 'max_tokens', 'n', 'presence_penalty', 'frequency_penalty', 'repeat_penalty', 'seed', 'top_logprobs'];
for (const name of numbers) {
  test('Errors', `NameTheField_${name}`, async ({ url }) => {
    for (const value of ['-3', '1e309', '"5"', '[]', '{}', 'true']) {
      const body = JSON.stringify({ ...chat, logprobs: true }).replace(/}$/, `,"${name}":${value}}`);
      const { status, json } = await post(`${url}/v1/chat/completions`, body);
      assert.equal(status, 400, `${name}: ${value}`);
      assert.equal(json.error.param, name);
      assert.equal(json.error.type, 'invalid_request_error');
    }
  });
}

for (const [name, more, param] of [
  ['ASchema', { response_format: { type: 'json_schema', json_schema: {} } }, 'response_format'],
  ['AGrammar', { grammar: 'root ::= a' }, 'grammar'],
  ['OldFunctions', { functions: [{ name: 'f' }] }, 'functions'],
  ['Audio', { audio: { voice: 'x' } }, 'audio'],
  ['AForcedCall', { tool_choice: 'required', tools: [{ type: 'function', function: { name: 'f' } }] }, 'tool_choice'],
  ['AlternativesWithoutProbabilities', { top_logprobs: 2 }, 'top_logprobs'],
  ['TooManyChoices', { n: 17 }, 'n'],
  ['SeventeenStops', { stop: Array.from({ length: 17 }, (_, i) => `s${i}`) }, 'stop'],
  ['ALongStop', { stop: 'x'.repeat(257) }, 'stop'],
  ['TypicalP', { typical_p: 0.5 }, 'typical_p'],
  ['AnImage', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }, 'messages[0].content[0].type'],
  ['MessagesThatAreText', { messages: 'hi' }, 'messages'],
  ['AModelThatIsANumber', { model: 7 }, 'model'],
  ['StreamThatIsText', { stream: 'yes' }, 'stream'],
]) {
  test('Errors', `Refuse${name}`, async ({ url }) => {
    const { status, json } = await post(`${url}/v1/chat/completions`, { ...chat, ...more });
    assert.equal(status, 400);
    assert.equal(json.error.param, param);
    assert.deepEqual(Object.keys(json.error), ['message', 'type', 'param', 'code']);
  });
}

for (const [name, body] of Object.entries({
  Nothing: '',
  HalfAnObject: '{"model":',
  AList: '[]',
  ANumber: '7',
  TwoValues: '{} {}',
  TooDeep: `{"a":${'['.repeat(200)}${']'.repeat(200)}}`,
  ALoneSurrogate: '{"model":"\\ud800"}',
})) {
  test('Errors', `RefuseABodyOf${name}`, async ({ url }) => {
    for (const path of ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/tokenize']) {
      const { status, json, text } = await post(url + path, body);
      assert.equal(status, 400, path);
      assert.ok(json.error.message);
      assert.ok(text.endsWith('}\n'));
    }
  });
}

test('Errors', 'BytesThatAreNoTextAreRefused', async ({ url }) => {
  const bytes = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d]);
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: bytes });
  assert.equal(response.status, 400);
});

test('Errors', 'AnotherModelIsNotFound', async ({ url }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const error = await rejection(client.chat.completions.create({ ...chat, model: 'gpt-9' }));
  assert.equal(error.status, 404);
  assert.equal(error.code, 'model_not_found');
  assert.equal(error.type, 'not_found_error');
  assert.equal(error.param, 'model');
  assert.match(error.requestID, /^req_/);
});

test('Errors', 'AnotherNameMayStandForTheModel', async ({ locked }) => {
  const client = new OpenAI({ baseURL: `${locked}/v1`, apiKey: 'right', maxRetries: 0 });
  assert.equal((await client.chat.completions.create({ ...chat, model: 'gpt-9' })).model, 'tales');
});

for (const [name, headers, status] of [
  ['NoKey', {}, 401],
  ['AWrongKey', { authorization: 'Bearer wrong' }, 401],
  ['HalfAKey', { authorization: 'Bearer righ' }, 401],
  ['AnEmptyKey', { authorization: 'Bearer ' }, 401],
  ['ABearer', { authorization: 'Bearer right' }, 200],
  ['TheSecondKey', { authorization: 'Bearer also-right' }, 200],
  ['AnApiKeyHeader', { 'x-api-key': 'right' }, 200],
]) {
  test('Keys', `${name}Gets${status}`, async ({ locked }) => {
    const answer = await fetchText(`${locked}/v1/models`, { headers });
    assert.equal(answer.status, status);
    if (status === 401) {
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      assert.equal(answer.json.error.code, 'invalid_api_key');
    }
  });
}

test('Keys', 'HealthWantsNone', async ({ locked }) => {
  assert.equal((await fetchText(`${locked}/health`)).status, 200);
});

test('Keys', 'ThePageCanBeLeftOut', async ({ locked }) => {
  assert.equal((await fetchText(`${locked}/`, { headers: { 'x-api-key': 'right' } })).status, 404);
});

for (const [name, origin, status] of [
  ['AnotherSite', 'https://evil.example', 403],
  ['AnAllowedSite', 'https://app.example', 200],
  ['NoSite', 'null', 403],
]) {
  test('Origins', `${name}Gets${status}`, async ({ locked }) => {
    const answer = await fetchText(`${locked}/v1/models`, { headers: { 'x-api-key': 'right', origin } });
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get('access-control-allow-origin'), status === 200 ? origin : null);
  });
}

test('Origins', 'APreflightIsAnswered', async ({ locked }) => {
  const answer = await fetchText(`${locked}/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
  });
  assert.equal(answer.status, 204);
  assert.match(answer.headers.get('access-control-allow-methods'), /POST/);
});

for (const [name, method, path, status] of [
  ['AnUnknownPath', 'GET', '/nothing', 404],
  ['AnUnknownPathOfTheApi', 'POST', '/v1/embeddings', 404],
  ['AGetOfChats', 'GET', '/v1/chat/completions', 405],
  ['APostToModels', 'POST', '/v1/models', 405],
  ['ADelete', 'DELETE', '/v1/messages', 405],
  ['AnUnknownModel', 'GET', '/v1/models/other', 404],
  ['APathThatClimbs', 'GET', '/../../etc/passwd', 404],
]) {
  test('Paths', `${name}Gets${status}`, async ({ url }) => {
    const answer = await fetchText(url + path, { method, body: method === 'POST' ? '{}' : undefined });
    assert.equal(answer.status, status);
    assert.ok(answer.json.error.message);
    if (status === 405) assert.ok(answer.headers.get('allow'));
  });
}

// C35: the surplus is told to come back, and the SDK does.
test('Queue', 'TellsTheSurplusToComeBack', async ({ locked }) => {
  const headers = { 'x-api-key': 'right' };
  const long = { ...chat, max_tokens: 60, ignore_eos: true };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => post(`${locked}/v1/chat/completions`, long, headers)),
  );
  const refused = answers.filter(({ status }) => status === 429);
  assert.ok(refused.length > 0);
  assert.ok(answers.some(({ status }) => status === 200));
  for (const answer of refused) {
    assert.equal(answer.json.error.type, 'rate_limit_error');
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  }
  const client = new OpenAI({ baseURL: `${locked}/v1`, apiKey: 'right', maxRetries: 20 });
  const retried = await Promise.all(
    Array.from({ length: 4 }, () => client.chat.completions.create({ ...long, max_tokens: 10 })),
  );
  assert.equal(retried.length, 4);
});
