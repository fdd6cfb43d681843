// Debian's Chromium, and pages in it that are watched: nothing may leave the server, and nothing may
// break the page's policy.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const kFlags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
const kWaitMs = 20000;

export const kDesktop = { width: 1440, height: 900 };
export const kPhone = { width: 390, height: 844 };

export async function startBrowser() {
  const profile = mkdtempSync(join(tmpdir(), 'smoe-chromium-'));
  const browser = await chromium.launch({
    executablePath: process.env.SMOE_CHROMIUM ?? '/usr/bin/chromium',
    args: [...kFlags, `--disk-cache-dir=${profile}`],
  });
  const stop = async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { browser, stop };
}

/**
 * Runs a test with a page of its own: nothing is stored yet.
 * @param options as of Browser.newContext; `path` is what is opened; `script` runs before the page's;
 *   `sampling` are the settings it begins with; `mayFail` lets through what the browser says about requests that the test made fail
 */
export async function withPage({ browser, url }, options, run) {
  const { path = '', script, sampling, mayFail = false, ...rest } = options;
  const context = await browser.newContext({ viewport: kDesktop, ...rest });
  const findings = [];
  await context.exposeFunction('reportFinding', (text) => findings.push(text));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      window.reportFinding(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
  });
  if (sampling)
    await context.addInitScript((text) => {
      localStorage['smoe.preferences'] ??= text;
    }, JSON.stringify({ settings: { sampling } }));
  if (script) await context.addInitScript(script);
  const page = await context.newPage();
  page.setDefaultTimeout(kWaitMs);
  page.on('pageerror', (error) => findings.push(`exception: ${error.stack}`));
  page.on('console', (message) => {
    const isExpected = mayFail && message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isExpected) findings.push(`console: ${message.text()}`);
  });
  context.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(?:data|blob):/.test(request.url()))
      findings.push(`request: ${request.url()}`);
  });
  try {
    await page.goto(url + path);
    await page.waitForSelector('#box');
    await run(page, findings);
    assert.deepEqual(findings, []);
  } finally {
    await context.close();
  }
}

/**
 * To be run before the page's script: answers come from the test, chunk by chunk, by `scripted.send`
 * (chunks, or text as it is on the wire) and `scripted.end`.
 */
export function scriptAnswers() {
  const { fetch } = window;
  const encoder = new TextEncoder();
  window.scripted = {
    requests: [],
    send(...chunks) {
      for (const chunk of chunks) {
        const text = typeof chunk === 'string' ? chunk : `data: ${JSON.stringify(chunk)}\n\n`;
        window.scripted.stream.enqueue(encoder.encode(text));
      }
    },
    end() {
      window.scripted.send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, 'data: [DONE]\n\n');
      window.scripted.stream.close();
    },
  };
  window.fetch = async (path, options) => {
    if (path !== '/v1/chat/completions') return fetch(path, options);
    window.scripted.requests.push(JSON.parse(options.body));
    const body = new ReadableStream({
      start(stream) {
        window.scripted.stream = stream;
        options.signal.addEventListener('abort', () => stream.error(options.signal.reason));
      },
    });
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
  };
}

export const words = (content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

/** Plays an answer by scriptAnswers, whole. */
export async function playAnswer(page, content) {
  await page.evaluate(([chunk]) => (window.scripted.send(chunk), window.scripted.end()), [words(content)]);
  await answered(page);
}

/** The demo model answers at once, and always the same. */
export const kBrief = { max_tokens: 24, temperature: 0 };
/** It rambles until its context is nearly full: an answer that lasts a while. */
export const kLong = { max_tokens: 900, temperature: 2, top_k: 0, top_p: 1, min_p: 0 };

export async function ask(page, text) {
  await page.fill('#box', text);
  await page.press('#box', 'Enter');
}

/** Waits until nothing is being answered. */
export async function answered(page) {
  await page.waitForSelector('button[aria-label="Send"]');
}

export const answers = (page) => page.locator('article.answer');
