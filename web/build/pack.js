// Compresses the built page and writes the policy that it is served with.
//
// dist/index.html.gz and dist/csp.txt are part of the repository: building the server needs no node.
// The policy names the page's one script by its hash, so that no other script can run. licenses.txt
// has the licences of what the page contains.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** The policy for a page: its inline script is allowed by hash, and nothing is loaded. */
export function policy(html) {
  const scripts = [...html.matchAll(/<script\b[^>]*>([\s\S]*?)<\/script>/g)];
  if (scripts.length !== 1) throw new Error(`the page has ${scripts.length} scripts, not one`);
  if (/<(?:script|link)\b[^>]*\b(?:src|href)=["'](?!data:)/.test(html))
    throw new Error('the page refers to another file');
  const hash = createHash('sha256').update(scripts[0][1]).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    "connect-src 'self'",
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const kContained = ['preact', 'marked', 'dompurify', 'highlight.js'];

function licenses() {
  const text = (name) => readFileSync(here(`../node_modules/${name}/LICENSE`), 'utf8');
  const parts = kContained.map((name) => `==== ${name} ====\n\n${text(name).replace(/[ \t]+$/gm, '').trim()}\n`);
  return `index.html.gz contains these packages.\n\n${parts.join('\n\n')}`;
}

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const html = readFileSync(here('out/index.html'));
  mkdirSync(here('../dist'), { recursive: true });
  writeFileSync(here('../dist/index.html.gz'), gzipSync(html, { level: 9 }));
  writeFileSync(here('../dist/csp.txt'), policy(html.toString()) + '\n');
  writeFileSync(here('../dist/licenses.txt'), licenses());
}
