// node run.js SMOE REPOSITORY [PART OF A NAME]: real clients against a real server with the demo
// model.
import { join } from 'node:path';
import { run, runAll, Server, temporaryFolder } from './harness.js';
import './anthropic.js';
import './errors.js';
import './helpers.js';
import './openai_chat.js';
import './openai_completions.js';
import './openai_responses.js';
import './server_life.js';

const [binary, repository, only] = process.argv.slice(2);
const folder = temporaryFolder();
const model = join(folder, 'models', 'tales');
const shattered = await run(binary, ['shatter', join(repository, 'models', 'tales'), model, '--quiet']);
if (shattered.status !== 0) throw new Error(shattered.err);

const options = ['--threads', '2', '--memory', '512M', '--log-level', 'warn'];
const server = await Server.start(binary, ['serve', model, '--port', '0', '--metrics', ...options]);
const locked = await Server.start(binary, [
  'serve', model, '--port', '0', '--api-key', 'right', '--api-key', 'also-right',
  '--cors-origins', 'https://app.example', '--no-ui', '--alias', '*', '--parallel', '1',
  '--max-queue', '1', '--reasoning-field', 'reasoning', ...options,
]);
const context = { url: server.url, locked: locked.url, binary, folder, model, options };
const good = await runAll(context, only);
const status = [await server.stop(), await locked.stop()];
if (status.some((code) => code !== 0)) console.log(`the servers ended with ${status}`);
process.exitCode = good && status.every((code) => code === 0) ? 0 : 1;
