// llama-server's helpers, and what the server tells about itself.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { collect, fetchText, post, test } from './harness.js';

test('Helpers', 'HealthIsOk', async ({ url }) => {
  for (const path of ['/health', '/v1/health']) {
    const { status, text, headers } = await fetchText(url + path);
    assert.equal(status, 200);
    assert.equal(text, '{"status":"ok"}\n');
    assert.equal(headers.get('content-type'), 'application/json');
  }
});

test('Helpers', 'HealthAnswersWhileEveryPlaceIsBusy', async ({ url }) => {
  const body = { model: 'tales', messages: [{ role: 'user', content: 'hi' }], max_tokens: 200, ignore_eos: true };
  const answers = Array.from({ length: 10 }, () => post(`${url}/v1/chat/completions`, body));
  const times = [];
  for (let i = 0; i < 30; ++i) {
    const begin = performance.now();
    assert.equal((await fetchText(`${url}/health`)).status, 200);
    times.push(performance.now() - begin);
  }
  await Promise.all(answers);
  times.sort((a, b) => a - b);
  assert.ok(times[15] < 100, `${times[15]} ms`);
});

test('Helpers', 'ModelsAreListed', async ({ url }) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' });
  const [model] = await collect(await client.models.list());
  assert.equal(model.id, 'tales');
  assert.equal(model.object, 'model');
  assert.equal(model.owned_by, 'smoe');
  assert.equal(model.meta.n_vocab, 4096);
  assert.equal((await client.models.retrieve('tales')).id, 'tales');
});

for (const content of ['Once upon a time', '', ' a\n\nb ', 'é\u{1f638}', '<|im_end|>', '\u0000']) {
  test('Helpers', `TokensComeBackAsText_${JSON.stringify(content)}`, async ({ url }) => {
    const { json } = await post(`${url}/tokenize`, { content, add_special: false });
    const back = await post(`${url}/detokenize`, { tokens: json.tokens });
    assert.equal(back.json.content, content);
  });
}

test('Helpers', 'PiecesThatAreNoTextAreBytes', async ({ url }) => {
  const { json } = await post(`${url}/tokenize`, { content: '\u{1f638}', with_pieces: true });
  const bytes = json.tokens.flatMap(({ piece }) =>
    typeof piece === 'string' ? [...Buffer.from(piece)] : piece,
  );
  assert.deepEqual(bytes, [...Buffer.from('\u{1f638}')]);
});

test('Helpers', 'SpecialTokensAreTextWhereAsked', async ({ url }) => {
  const special = await post(`${url}/tokenize`, { content: '<|im_end|>' });
  const plain = await post(`${url}/tokenize`, { content: '<|im_end|>', parse_special: false });
  assert.equal(special.json.tokens.length, 1);
  assert.ok(plain.json.tokens.length > 1);
});

for (const [path, body, param] of [
  ['/tokenize', {}, 'content'],
  ['/tokenize', { content: 7 }, 'content'],
  ['/detokenize', {}, 'tokens'],
  ['/detokenize', { tokens: ['a'] }, 'tokens'],
  ['/detokenize', { tokens: [-1] }, 'tokens'],
  ['/apply-template', {}, 'messages'],
]) {
  test('Helpers', `Refuse_${path.slice(1)}_${JSON.stringify(body)}`, async ({ url }) => {
    const { status, json } = await post(url + path, body);
    assert.equal(status, 400);
    assert.equal(json.error.param, param);
  });
}

test('Helpers', 'ATemplateIsApplied', async ({ url }) => {
  const { json } = await post(`${url}/apply-template`, { messages: [{ role: 'user', content: 'hi' }] });
  assert.equal(json.prompt, '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n');
});

test('Helpers', 'PropsTellWhatIsInForce', async ({ url }) => {
  const { json } = await fetchText(`${url}/props`);
  assert.equal(json.default_generation_settings.n_ctx, 1024);
  assert.ok(Math.abs(json.default_generation_settings.params.temperature - 0.7) < 1e-6);
  assert.equal(json.default_generation_settings.params.top_k, 40);
  assert.equal(json.total_slots, 4);
  assert.equal(json.model_alias, 'tales');
  assert.match(json.chat_template, /im_start/);
  assert.equal(json.eos_token, '<|im_end|>');
  assert.match(json.build_info, /^smoe /);
  assert.ok(json.memory.ring_bytes > 0);
});

test('Helpers', 'SlotsTellWhatTheyDo', async ({ url }) => {
  const { json } = await fetchText(`${url}/slots`);
  assert.equal(json.length, 4);
  assert.deepEqual(json.map(({ id }) => id), [0, 1, 2, 3]);
  assert.ok(json.every(({ n_ctx }) => n_ctx === 1024));
});

test('Helpers', 'MetricsAreWellFormed', async ({ url }) => {
  await post(`${url}/v1/completions`, { model: 'tales', prompt: 'a', max_tokens: 3 });
  const { text, headers } = await fetchText(`${url}/metrics`);
  assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4');
  assert.ok(text.endsWith('\n'));
  const families = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
  assert.equal(new Set(families).size, families.length);
  for (const line of text.trimEnd().split('\n'))
    assert.match(line, /^(# (HELP|TYPE) \S+ .+|[a-z_]+(\{.*\})? [-+0-9.e]+)$/);
  for (const name of ['smoe_requests_total', 'smoe_ttft_seconds', 'smoe_expert_bytes_read_total', 'smoe_ring_slots'])
    assert.ok(families.includes(name), name);
  const count = text.match(/^smoe_ttft_seconds_count (\d+)$/m)[1];
  assert.equal(text.match(/^smoe_ttft_seconds_bucket\{le="\+Inf"\} (\d+)$/m)[1], count);
});

test('Helpers', 'MetricsAreOffUnlessAsked', async ({ locked }) => {
  const { status } = await fetchText(`${locked}/metrics`, { headers: { 'x-api-key': 'right' } });
  assert.equal(status, 501);
});

test('Helpers', 'ThePageIsServedOnceAndThenRemembered', async ({ url }) => {
  const { status, text, headers } = await fetchText(`${url}/`);
  assert.equal(status, 200);
  assert.match(text, /<html/);
  assert.match(headers.get('content-security-policy'), /default-src 'none'/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  const again = await fetch(`${url}/`, { headers: { 'if-none-match': headers.get('etag') } });
  assert.equal(again.status, 304);
});

test('Live', 'ShowsWhatHappens', async ({ url }) => {
  const abort = new AbortController();
  const response = await fetch(`${url}/live`, { signal: abort.signal });
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const busy = post(`${url}/v1/completions`, { model: 'tales', prompt: 'a', max_tokens: 200, ignore_eos: true });
  let text = '';
  const list = [];
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const data = block.match(/^event: live\ndata: (.*)$/)?.[1];
      if (data) list.push(JSON.parse(data));
    }
    if (list.length >= 4) break;
  }
  abort.abort();
  await busy;
  for (const event of list) {
    assert.equal(event.model, 'tales');
    assert.equal(Buffer.from(event.states, 'base64').length, event.layers * event.experts);
    const share = Object.values(event.time_share).reduce((sum, part) => sum + part, 0);
    assert.ok(share >= 0 && share < 1.01);
    assert.ok(event.context.size === 1024);
  }
  assert.ok(list.some(({ tokens_per_s }) => tokens_per_s > 0));
  assert.ok(list.some(({ states }) => Buffer.from(states, 'base64').includes(3)));
});
