// Answers that must be JSON, follow a schema or a grammar, or call a tool: whatever the model would
// rather say. C27 and what tool_choice forces. ajv is the judge, not the code that wrote the answer.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import OpenAI from 'openai';
import { collect, post, rejection, test } from './harness.js';

const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);

const client = ({ url }) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
const user = (content) => [{ role: 'user', content }];

function ask(context, schema, more = {}) {
  return client(context).chat.completions.create({
    model: 'tales', messages: user('Tell me'), max_tokens: 400, temperature: 1.5, seed: 1,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } }, ...more,
  });
}

const text = { type: 'string', maxLength: 12 };
const schemas = {
  person: { type: 'object', properties: { name: text, age: { type: 'integer', minimum: 0, maximum: 120 } }, required: ['name', 'age'], additionalProperties: false },
  optional: { type: 'object', properties: { a: { type: 'boolean' }, b: { type: 'null' }, c: { enum: ['x', 'y"z', 3] } }, additionalProperties: false },
  list: { type: 'array', items: { type: 'integer', exclusiveMinimum: -3, maximum: 1000 }, minItems: 2, maxItems: 5 },
  tuple: { type: 'array', prefixItems: [{ const: 'k' }, { type: 'number', minimum: 0, maximum: 1 }], items: false, minItems: 2 },
  union: { anyOf: [{ type: 'object', properties: { ok: { const: true } }, required: ['ok'], additionalProperties: false }, { type: 'null' }] },
  lengths: { type: 'string', minLength: 5, maxLength: 9 },
  pattern: { type: 'string', pattern: '^[A-Z][a-z]{2,5} \\d{1,3}$' },
  date: { type: 'string', format: 'date' },
  moment: { type: 'string', format: 'date-time' },
  uuid: { type: 'string', format: 'uuid' },
  email: { type: 'string', format: 'email' },
  address: { type: 'string', format: 'ipv4' },
  tree: {
    $defs: { node: { type: 'object', properties: { v: { type: 'integer', minimum: 0, maximum: 9 }, next: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/node' }] } }, required: ['v', 'next'], additionalProperties: false } },
    $ref: '#/$defs/node',
  },
  merged: { allOf: [{ type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] }, { properties: { b: { enum: [1, 2] } }, required: ['b'] }] },
  map: { type: 'object', properties: { kind: { const: 'm' } }, required: ['kind'], additionalProperties: { type: 'integer', minimum: 0, maximum: 5 } },
};

for (const [name, schema] of Object.entries(schemas)) {
  test('Structured', `AnswersAreValid_${name}`, async (context) => {
    const valid = ajv.compile(schema);
    const answers = await Promise.all([1, 2, 3, 4].map((seed) => ask(context, schema, { seed })));
    let ended = 0;
    for (const { choices: [{ message, finish_reason }] } of answers) {
      if (finish_reason === 'length') continue;
      ended += 1;
      assert.equal(finish_reason, 'stop');
      assert.ok(valid(JSON.parse(message.content)), `${message.content}: ${ajv.errorsText(valid.errors)}`);
    }
    assert.ok(ended > 0);
  });
}

test('Structured', 'AnObjectIsWrittenWhereOneIsAsked', async (context) => {
  const { choices: [choice] } = await ask(context, {}, { response_format: { type: 'json_object' }, temperature: 0.7 });
  assert.ok(choice.message.content.startsWith('{'));
  if (choice.finish_reason === 'stop') assert.equal(typeof JSON.parse(choice.message.content), 'object');
});

test('Structured', 'StreamsAreTheSameText', async (context) => {
  const whole = await ask(context, schemas.person);
  const chunks = await collect(await ask(context, schemas.person, { stream: true }));
  const streamed = chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('');
  assert.equal(streamed, whole.choices[0].message.content);
});

test('Structured', 'GrammarsAreFollowedByBothApisOfTexts', async ({ url }) => {
  const grammar = 'root ::= color (", " color){2}\ncolor ::= "red" | "green" | "blue"';
  for (const [path, body] of [
    ['/v1/completions', { prompt: 'Once', max_tokens: 60 }],
    ['/v1/chat/completions', { messages: user('colors?'), max_tokens: 60 }],
  ]) {
    const { status, json } = await post(url + path, { model: 'tales', grammar, ...body });
    assert.equal(status, 200, JSON.stringify(json));
    const answer = json.choices[0].text ?? json.choices[0].message.content;
    assert.match(answer, /^(red|green|blue)(, (red|green|blue)){2}$/);
    assert.equal(json.choices[0].finish_reason, 'stop');
  }
});

test('Structured', 'ResponsesTakeASchema', async (context) => {
  const response = await client(context).responses.create({
    model: 'tales', input: 'Tell me', max_output_tokens: 200,
    text: { format: { type: 'json_schema', name: 'p', schema: schemas.person, strict: true } },
  });
  assert.ok(ajv.compile(schemas.person)(JSON.parse(response.output_text)), response.output_text);
});

test('Structured', 'MessagesTakeASchema', async ({ url }) => {
  const { status, json } = await post(`${url}/v1/messages`, {
    model: 'tales', max_tokens: 200, messages: user('Tell me'),
    output_config: { format: { type: 'json_schema', schema: schemas.person } },
  });
  assert.equal(status, 200, JSON.stringify(json));
  assert.ok(ajv.compile(schemas.person)(JSON.parse(json.content[0].text)));
});

test('Structured', 'AnswersWithoutAGrammarAreWhatTheyWere', async (context) => {
  const plain = { response_format: undefined, temperature: 0, max_tokens: 20 };
  const before = await ask(context, {}, plain);
  await ask(context, schemas.person);
  const after = await ask(context, {}, plain);
  assert.equal(after.choices[0].message.content, before.choices[0].message.content);
});

for (const [name, more, word] of [
  ['AnUnknownKeyword', { response_format: { type: 'json_schema', json_schema: { schema: { multipleOf: 3 } } } }, 'multipleOf'],
  ['ABadType', { response_format: { type: 'json_schema', json_schema: { schema: { type: 'text' } } } }, 'type'],
  ['AnUnknownFormat', { response_format: { type: 'yaml' } }, 'json_object'],
  ['ABadGrammar', { grammar: 'root ::= (' }, 'line 1'],
  ['LeftRecursion', { grammar: 'root ::= root "a" | "b"' }, 'left recursion'],
  ['TwoWishes', { grammar: 'root ::= "a"', json_schema: { type: 'string' } }, 'two ways'],
]) {
  test('Structured', `Refuse${name}`, async ({ url }) => {
    const { status, json } = await post(`${url}/v1/chat/completions`, { model: 'tales', messages: user('x'), ...more });
    assert.equal(status, 400);
    assert.ok(json.error.message.includes(word), json.error.message);
    assert.ok(json.error.param);
  });
}

const functions = [
  { name: 'weather', description: 'w', parameters: { type: 'object', properties: { city: text, days: { type: 'integer', minimum: 1, maximum: 7 } }, required: ['city', 'days'] } },
  { name: 'clock', description: 'c', parameters: { type: 'object', properties: {} } },
];
const tools = functions.map((each) => ({ type: 'function', function: each }));

function call(context, choice, more = {}) {
  return client({ url: context.calling }).chat.completions.create({
    model: 'calling', messages: user('How is it?'), max_tokens: 200, temperature: 1, seed: 3, tools, tool_choice: choice, ...more,
  });
}

test('ForcedCalls', 'CallTheNamedFunction', async (context) => {
  for (const name of ['weather', 'clock']) {
    const { choices: [choice] } = await call(context, { type: 'function', function: { name } });
    assert.equal(choice.finish_reason, 'tool_calls');
    assert.equal(choice.message.content, null);
    const [made] = choice.message.tool_calls;
    assert.equal(made.function.name, name);
    const { parameters } = functions.find((each) => each.name === name);
    assert.ok(ajv.compile(parameters)(JSON.parse(made.function.arguments)), made.function.arguments);
  }
});

test('ForcedCalls', 'CallSomeFunctionWhereOneIsRequired', async (context) => {
  for (const seed of [1, 2, 3]) {
    const { choices: [choice] } = await call(context, 'required', { seed });
    assert.equal(choice.message.tool_calls.length, 1);
    assert.ok(['weather', 'clock'].includes(choice.message.tool_calls[0].function.name));
  }
});

test('ForcedCalls', 'StreamTheSameCall', async (context) => {
  const named = { type: 'function', function: { name: 'weather' } };
  const whole = await call(context, named);
  const chunks = await collect(await call(context, named, { stream: true }));
  const deltas = chunks.flatMap(({ choices: [choice] }) => choice?.delta.tool_calls ?? []);
  const { name, arguments: wanted } = whole.choices[0].message.tool_calls[0].function;
  assert.equal(deltas[0].function.name, name);
  assert.equal(deltas.map((delta) => delta.function.arguments).join(''), wanted);
  assert.ok(deltas.length > 3, `the arguments came in ${deltas.length - 1} pieces`);
  for (const delta of deltas.slice(1)) assert.deepEqual(Object.keys(delta).sort(), ['function', 'index']);
});

test('ForcedCalls', 'StreamInputInPiecesToAnthropic', async ({ calling }) => {
  const anthropic = new Anthropic({ baseURL: calling, apiKey: 'none', maxRetries: 0 });
  const stream = anthropic.messages.stream({
    model: 'calling', max_tokens: 200, messages: user('?'), tool_choice: { type: 'tool', name: 'weather' },
    tools: functions.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
  });
  let pieces = 0;
  stream.on('inputJson', () => (pieces += 1));
  const message = await stream.finalMessage();
  assert.ok(pieces > 2, `${pieces} pieces`);
  assert.ok(ajv.compile(functions[0].parameters)(message.content[0].input));
});

// Strict functions under tool_choice auto: text that is no call is what it would be without.
test('StrictTools', 'LeaveTextAlone', async (context) => {
  const strict = functions.map((each) => ({ type: 'function', function: { ...each, strict: true } }));
  const text = async (list) => {
    const { choices: [choice] } = await call(context, 'auto', { tools: list, temperature: 0, max_tokens: 30 });
    return [choice.message.content, choice.message.tool_calls];
  };
  assert.deepEqual(await text(strict), await text(tools));
});

test('StrictTools', 'RefuseASchemaThatCannotBeHeld', async (context) => {
  const parameters = { type: 'object', properties: { n: { type: 'integer', multipleOf: 3 } } };
  const error = await rejection(call(context, 'auto', { tools: [{ type: 'function', function: { name: 'f', parameters, strict: true } }] }));
  assert.equal(error.status, 400);
  assert.equal(error.param, 'tools');
  assert.match(error.message, /'f'.*multipleOf/);
});

test('ForcedCalls', 'WorkWithMessagesAndResponses', async ({ calling }) => {
  const anthropic = new Anthropic({ baseURL: calling, apiKey: 'none', maxRetries: 0 });
  const message = await anthropic.messages.create({
    model: 'calling', max_tokens: 200, messages: user('?'), tool_choice: { type: 'tool', name: 'weather' },
    tools: functions.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
  });
  assert.equal(message.stop_reason, 'tool_use');
  assert.equal(message.content[0].name, 'weather');
  assert.ok(ajv.compile(functions[0].parameters)(message.content[0].input));
  const response = await client({ url: calling }).responses.create({
    model: 'calling', input: '?', max_output_tokens: 200, tool_choice: 'required',
    tools: functions.map((each) => ({ type: 'function', ...each })),
  });
  assert.equal(response.output[0].type, 'function_call');
});

test('ForcedCalls', 'RefuseAFunctionThatIsNotThere', async (context) => {
  const error = await rejection(call(context, { type: 'function', function: { name: 'other' } }));
  assert.equal(error.status, 400);
  assert.equal(error.param, 'tool_choice');
});
