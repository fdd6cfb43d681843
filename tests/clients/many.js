// Many clients at once for a while: RELIABILITY S1, S9. Eight seconds; with SMOE_TEST_LONG five minutes.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fetchText, post, Server, sleep, test } from './harness.js';

const kClients = 32;
const kSeconds = process.env.SMOE_TEST_LONG ? 300 : 8;

const tale = 'Once upon a time there was a little girl who lived at the edge of the wood. ';
// Greedy and sampled; prompts that share nothing, a beginning, or all.
const questions = Array.from({ length: 12 }, (_, i) => ({
  prompt: [tale.repeat(1 + (i % 3)), tale + `She saw ${'abcdefghijkl'[i]} fox`, tale.slice(i)][i % 3],
  max_tokens: 6 + i,
  temperature: i % 2 ? 0.9 : 0,
  seed: i,
}));

const residentBytes = (pid) => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) * 1024;
const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** Connections that the clients keep alive end by themselves after some seconds. */
async function descriptorsFallTo(pid, count) {
  for (const begun = Date.now(); descriptors(pid) > count; await sleep(100))
    if (Date.now() - begun > 20_000) return false;
  return true;
}

async function load(server) {
  const ask = (question) => post(`${server.url}/v1/completions`, question);
  const { pid } = server.child;
  const before = descriptors(pid);
  const alone = [];
  for (const question of questions) {
    const { status, json } = await ask(question);
    assert.equal(status, 200);
    alone.push(json.choices[0].text);
  }
  const done = new Array(kClients).fill(0);
  const health = [];
  const memory = [];
  const begun = Date.now();
  const over = () => Date.now() - begun > kSeconds * 1000;
  const client = async (number) => {
    for (let i = number; !over(); i += 1) {
      const { status, json, text } = await ask(questions[i % questions.length]);
      assert.equal(status, 200, text);
      assert.equal(json.choices[0].text, alone[i % questions.length], `question ${i % questions.length}`);
      done[number] += 1;
    }
  };
  const watch = async () => {
    while (!over()) {
      const asked = performance.now();
      assert.equal((await fetchText(`${server.url}/health`)).status, 200);
      health.push(performance.now() - asked);
      memory.push(residentBytes(pid));
      await sleep(50);
    }
  };
  await Promise.all([watch(), ...done.map((_, number) => client(number))]);

  const [least, most] = [Math.min(...done), Math.max(...done)];
  assert.ok(least > 0 && most <= 2 * least, `the clients got between ${least} and ${most} answers`);
  // After the first fifth everything that is made once is there.
  const settled = memory.slice(Math.floor(memory.length / 5));
  const growth = settled.at(-1) / settled[0];
  if (kSeconds > 60) {
    health.sort((a, b) => a - b);
    const p99 = health[Math.floor(health.length * 0.99)];
    console.log(
      `${done.reduce((sum, n) => sum + n, 0)} answers, ${least} to ${most} a client; /health p99 ${p99.toFixed(1)} ms; ` +
        `memory ${(settled.at(-1) / 2 ** 20).toFixed(1)} MiB, ${((growth - 1) * 100).toFixed(2)} % since the first fifth`,
    );
  }
  // A sanitizer keeps what was freed.
  if (process.env.SMOE_SANITIZED !== '1') assert.ok(growth <= 1.01, `memory grew from ${settled[0]} to ${settled.at(-1)} bytes`);
  assert.ok(await descriptorsFallTo(pid, before), `${descriptors(pid)} descriptors, ${before} before`);
}

test('Load', 'AnswersManyClientsFairlyAndAsIfEachWereAlone', async (context) => {
  const server = await Server.start(context.binary, ['serve', context.model, '--port', '0', '--parallel', '8', ...context.options]);
  try {
    await load(server);
  } finally {
    assert.equal(await server.stop(), 0);
  }
}, (kSeconds + 60) * 1000);

// S9: load is no reason not to stop in time, nor to cut answers off that can end.
test('Stop', 'EndsUnderLoad', async (context) => {
  const server = await Server.start(context.binary, ['serve', context.model, '--port', '0', ...context.options]);
  const long = { prompt: tale, max_tokens: 100, temperature: 0, ignore_eos: true, logit_bias: { 0: -100, 2: -100 } };
  const answers = Array.from({ length: 4 }, () => post(`${server.url}/v1/completions`, long));
  await sleep(200);
  const begun = Date.now();
  const ended = server.stop();
  for (const { status, json } of await Promise.all(answers)) {
    assert.equal(status, 200);
    assert.equal(json.usage.completion_tokens, 100);
  }
  assert.equal(await ended, 0);
  assert.ok(Date.now() - begun < 30_000);
});
