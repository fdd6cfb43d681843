// Talks to the server that the page came from. Every failure becomes a ServerError with a text
// that can be shown.
import { SseParser } from './sse.js';
import { apiKey } from './key.js';

export class ServerError extends Error {
  /** @param {{status?: number, code?: string, retryAfter?: number}} facts */
  constructor(message, facts = {}) {
    super(message);
    this.name = 'ServerError';
    this.status = facts.status ?? 0;
    this.code = facts.code ?? '';
    this.retryAfter = facts.retryAfter ?? 0;
  }
}

const kUnreachable = 'The server does not answer. Is it still running?';
const kBroken = 'The connection to the server broke before the answer was complete.';

/** A stopped request is no failure: callers let it pass. */
export const isStopped = (error) => error?.name === 'AbortError';

async function send(path, { body, signal } = {}) {
  const headers = {};
  if (apiKey()) headers.Authorization = `Bearer ${apiKey()}`;
  if (body) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, {
      method: body ? 'POST' : 'GET',
      headers,
      body: body && JSON.stringify(body),
      signal,
      cache: 'no-store',
    });
  } catch (error) {
    throw isStopped(error) ? error : new ServerError(kUnreachable);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const text = await response.text().catch(() => '');
  let error = {};
  try {
    error = JSON.parse(text).error ?? {};
  } catch {
    // A proxy in between answers in its own words; the status says enough then.
  }
  return new ServerError(error.message || `The server answered ${response.status}.`, {
    status: response.status,
    code: String(error.code ?? ''),
    retryAfter: Number(response.headers.get('Retry-After')) || 0,
  });
}

export async function getJson(path, options) {
  const response = await send(path, options);
  try {
    return await response.json();
  } catch (error) {
    throw isStopped(error) ? error : new ServerError(`${path} did not answer with JSON.`);
  }
}

/** The events of a stream, one after the other. Ends when the server ends it. */
export async function* streamEvents(path, options) {
  const response = await send(path, options);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new SseParser();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    throw isStopped(error) || error instanceof ServerError ? error : new ServerError(kBroken);
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The chunks of a streamed completion; [DONE] ends them, and an error inside is thrown. */
export async function* streamChunks(body, signal) {
  let complete = false;
  for await (const { data } of streamEvents('/v1/chat/completions', { body, signal })) {
    if (data === '[DONE]') {
      complete = true;
      break;
    }
    const chunk = JSON.parse(data);
    if (chunk.error)
      throw new ServerError(chunk.error.message || 'The server reported an error.', {
        code: String(chunk.error.code ?? ''),
      });
    yield chunk;
  }
  if (!complete) throw new ServerError(kBroken);
}
