// The server under test: `smoe serve` with the demo model, half of whose experts fit into memory.
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const kDemoModel = fileURLToPath(new URL('../../../models/tales', import.meta.url));
const kStartMs = 60000;

/**
 * SMOE_BINARY names the program. SMOE_URL names a server that runs already, to work on the page.
 * @returns {Promise<{url: string, stop: () => Promise<void>}>}
 */
export async function startServer(options = []) {
  if (process.env.SMOE_URL) return { url: process.env.SMOE_URL, stop: async () => {} };
  const smoe = process.env.SMOE_BINARY;
  const folder = mkdtempSync(join(tmpdir(), 'smoe-page-'));
  execFileSync(smoe, ['shatter', kDemoModel, join(folder, 'tales')], { stdio: 'ignore' });
  const server = spawn(smoe, ['serve', join(folder, 'tales'), '--port', '0', '--ring-slots', '192', ...options]);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const url = await address(server);
  const stop = async () => {
    server.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  };
  return { url, stop };
}

/** The address that the server prints once it listens. */
function address(server) {
  return new Promise((resolve, reject) => {
    let printed = '';
    const fail = (why) => reject(new Error(`smoe serve ${why}:\n${printed}`));
    const timer = setTimeout(() => fail('printed no address'), kStartMs);
    const read = (data) => {
      printed += data;
      const found = printed.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (!found) return;
      clearTimeout(timer);
      resolve(`${found[0]}/`);
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    server.once('exit', (code) => fail(`ended with ${code}`));
    server.once('error', reject);
  });
}
