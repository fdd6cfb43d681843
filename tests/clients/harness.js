// A test program in GoogleTest's words, so that its cases are counted like all others.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const cases = [];

/** Declares a case; `name` is a sentence about behaviour. */
export function test(group, name, body, timeoutMs = 60_000) {
  cases.push({ name: `${group}.${name}`, body, timeoutMs });
}

/** Runs every case in turn; true when all passed. `only` is a part of the names to run. */
export async function runAll(context, only = '') {
  let failed = 0;
  for (const { name, body, timeoutMs } of cases) {
    if (!name.includes(only)) continue;
    const begin = performance.now();
    console.log(`[ RUN      ] ${name}`);
    try {
      await withTimeout(body(context), timeoutMs);
      console.log(`[       OK ] ${name} (${Math.round(performance.now() - begin)} ms)`);
    } catch (error) {
      failed += 1;
      console.log(error?.stack ?? String(error));
      console.log(`[  FAILED  ] ${name} (${Math.round(performance.now() - begin)} ms)`);
    }
  }
  return failed === 0;
}

function withTimeout(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`takes more than ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The program's exit status and what it wrote, once it has ended. */
export function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => (out += data));
    child.stderr.on('data', (data) => (err += data));
    child.on('close', (status) => resolve({ status, out, err }));
  });
}

/** A server that has said that it is ready. */
export class Server {
  static async start(binary, args) {
    const server = new Server();
    server.err = '';
    server.child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    server.ended = new Promise((resolve) => server.child.on('close', resolve));
    server.child.stderr.on('data', (data) => (server.err += data));
    server.url = await new Promise((resolve, reject) => {
      let out = '';
      server.child.stdout.on('data', (data) => {
        out += data;
        const ready = out.match(/listening on (\S+)\n/);
        if (ready) resolve(ready[1]);
      });
      server.ended.then((status) => reject(new Error(`ended with ${status}: ${server.err}`)));
    });
    return server;
  }

  /** Its exit status after SIGTERM. */
  stop() {
    this.child.kill('SIGTERM');
    return this.ended;
  }
}

export function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), 'smoe-clients-'));
  process.on('exit', () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A raw answer: status, headers, text and, where it is JSON, its value. */
export async function fetchText(url, options = {}) {
  const response = await fetch(url, options);
  const text = await response.text();
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: response.headers, text, json };
}

export function post(url, body, headers = {}) {
  return fetchText(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** The events of a raw stream: [{event, data}]; comments are left out. */
export async function events(url, body, headers = {}) {
  const { text } = await post(url, body, headers);
  return text
    .split('\n\n')
    .map((block) => {
      const event = block.match(/^event: (.*)$/m)?.[1];
      const data = block.match(/^data: (.*)$/m)?.[1];
      return { event, data: data?.startsWith('{') ? JSON.parse(data) : data };
    })
    .filter(({ data }) => data !== undefined);
}

export async function collect(stream) {
  const all = [];
  for await (const item of stream) all.push(item);
  return all;
}

export async function rejection(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail('should have failed');
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
