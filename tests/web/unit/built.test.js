import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { policy } from '../../../web/build/pack.js';

const web = fileURLToPath(new URL('../../../web/', import.meta.url));
const committed = gunzipSync(readFileSync(join(web, 'dist/index.html.gz'))).toString();

test('Built: the page in the repository is what its sources build', () => {
  const out = mkdtempSync(join(tmpdir(), 'smoe-web-'));
  try {
    const vite = join(web, 'node_modules/vite/bin/vite.js');
    execFileSync(process.execPath, [vite, 'build', '--outDir', out, '--logLevel', 'warn'], { cwd: web });
    const built = readFileSync(join(out, 'index.html'), 'utf8');
    assert.ok(built === committed, 'web/dist is older than web/src: run `npm run build` in web/');
  } finally {
    rmSync(out, { recursive: true });
  }
});

test('Built: the policy names the script of the page, and allows nothing else', () => {
  assert.equal(readFileSync(join(web, 'dist/csp.txt'), 'utf8'), policy(committed) + '\n');
  assert.match(policy(committed), /^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'unsafe-inline'; connect-src 'self'; img-src data: blob:; /);
});

test('Built: the page refers to nothing outside itself', () => {
  const markup = committed.replace(/(<script\b[^>]*>)[\s\S]*<\/script>/, '$1');
  assert.ok(markup.length < 60000 && !/\b(?:src|href)=["'](?!data:)|@import|url\(/.test(markup));
});

test('Built: the page is small', () => {
  assert.ok(readFileSync(join(web, 'dist/index.html.gz')).length < 120000);
});

test('Built: no package list names a registry', () => {
  for (const list of ['web/package-lock.json', 'tests/web/package-lock.json'])
    assert.doesNotMatch(readFileSync(join(web, '..', list), 'utf8'), /"resolved"|https?:\/\/(?!\S*(?:fund|sponsor|tidelift|opencollective|patreon))/, list);
});
