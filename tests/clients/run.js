// node run.js SMOE REPOSITORY [PART OF A NAME]: real clients against a real server with the demo
// model.
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, runAll, Server, temporaryFolder } from './harness.js';
import './anthropic.js';
import './errors.js';
import './helpers.js';
import './many.js';
import './openai_chat.js';
import './openai_completions.js';
import './openai_responses.js';
import './server_life.js';
import './structured.js';

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
// The demo model in the clothes of one that calls tools.
const calling = join(folder, 'calling');
cpSync(model, calling, { recursive: true });
writeFileSync(
  join(calling, 'chat_template.jinja'),
  `{%- if tools %}<|im_start|>system
Calls look like <tool_call>: {{ tools | tojson }}<|im_end|>
{%- endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`,
);
const caller = await Server.start(binary, ['serve', calling, '--port', '0', ...options]);
const context = { url: server.url, calling: caller.url, locked: locked.url, binary, folder, model, options };
const good = await runAll(context, only);
const status = [await server.stop(), await locked.stop(), await caller.stop()];
if (status.some((code) => code !== 0)) console.log(`the servers ended with ${status}`);
process.exitCode = good && status.every((code) => code === 0) ? 0 : 1;
