import assert from 'node:assert/strict';
import test from 'node:test';
import { JSDOM } from 'jsdom';
import { GrowingBlocks, wholeBlocks } from '../../../web/src/markdown/blocks.js';
import { blocksOf, htmlOf, normalise } from '../../../web/src/markdown/markdown.js';
import { makeSanitizer } from '../../../web/src/markdown/sanitize.js';
import { kAttacks } from '../support/xss.js';

const { window } = new JSDOM('');
const sanitize = makeSanitizer(window);
const render = (text) => wholeBlocks(text, sanitize).join('');

function domOf(html) {
  const template = window.document.createElement('template');
  template.innerHTML = html;
  return template.content;
}

const kMayBe = new Set(
  'A BLOCKQUOTE BR BUTTON CODE DEL DIV EM H3 H4 H5 H6 HR IMG INPUT LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL'.split(' '),
);

function assertInert(html, attack) {
  for (const element of domOf(html).querySelectorAll('*')) {
    assert.ok(kMayBe.has(element.tagName), `${element.tagName} from ${attack}`);
    for (const { name, value } of element.attributes) {
      assert.ok(!/^(?:on|style|id|name|action|formaction|srcset|srcdoc|xlink)/.test(name), `${name} from ${attack}`);
      if (name === 'href') assert.match(value, /^(?:https?:|mailto:)/, attack);
      if (name === 'src') assert.match(value, /^data:image\/(?:png|jpeg|gif|webp);base64,/, attack);
    }
  }
}

// S11
for (const [index, attack] of kAttacks.entries()) {
  test(`Xss ${index + 1}: is inert as an answer, while it grows, and without the renderer`, () => {
    assertInert(render(attack), attack);
    const growing = new GrowingBlocks(sanitize);
    for (let end = 1; end < attack.length; end += 3) assertInert(growing.update(attack.slice(0, end)).join(''), attack);
    // The sanitiser alone must hold as well, should the renderer ever let markup through.
    assertInert(sanitize(attack), attack);
  });
}

test('Markdown: HTML is shown as it was written', () => {
  assert.equal(domOf(render('a <b onclick="x">bold</b> word')).textContent.trim(), 'a <b onclick="x">bold</b> word');
  assert.equal(domOf(render('<div>\n<p>x</p>\n</div>')).textContent.trim(), '<div>\n<p>x</p>\n</div>');
  assert.match(render('a<br>b'), /a<br>b/);
});

test('Markdown: a picture elsewhere is a link, one inside the answer is a picture', () => {
  assert.match(render('![a fox](https://example.com/f.png)'), /^<p><a href="https:\/\/example.com\/f.png".*a fox/);
  assert.match(render('![dot](data:image/png;base64,iVBORw0KGgo=)'), /<img src="data:image\/png;base64,iVBORw0KGgo=" alt="dot">/);
});

test('Markdown: links open elsewhere and tell nothing about this page', () => {
  assert.match(render('[x](https://example.com/?a=1&b=2)'), /href="https:\/\/example.com\/\?a=1&amp;b=2" target="_blank" rel="noopener noreferrer nofollow"/);
});

test('Markdown: code is coloured, has a button, and is exactly the code', () => {
  const body = domOf(render('```python\nif a < b:\n    print("&")\n```'));
  assert.equal(body.querySelector('pre').textContent, 'if a < b:\n    print("&")\n');
  assert.equal(body.querySelector('.code-head span').textContent, 'python');
  assert.ok(body.querySelector('.hljs-keyword'));
  assert.equal(body.querySelector('button.copy-code').textContent, 'Copy');
  assert.equal(body.querySelector('pre').getAttribute('tabindex'), '0');
});

test('Markdown: tables keep their alignment and can be scrolled by the keyboard', () => {
  const body = domOf(render('| a | b |\n|---|--:|\n| 1 | 2 |'));
  assert.equal(body.querySelectorAll('td')[1].getAttribute('align'), 'right');
  assert.equal(body.querySelector('.table').getAttribute('tabindex'), '0');
});

test('Markdown: tasks are boxes that nobody can tick', () => {
  const boxes = [...domOf(render('- [x] a\n- [ ] b')).querySelectorAll('input')];
  assert.deepEqual(boxes.map((box) => [box.type, box.disabled, box.checked]), [['checkbox', true, true], ['checkbox', true, false]]);
});

const kDocument = `# Title

A paragraph with **bold**, \`code\` and
a second line.

1. one
2. two
   - inner

   still two

3. three

\`\`\`js
const a = 1;

// blank lines inside
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

> quoted
continued

---

- tight
- list
Setext
======

last words`;

test('Growing: however the text arrives, the end result is that of the whole text', () => {
  const whole = wholeBlocks(kDocument, sanitize);
  for (const size of [1, 2, 3, 7, 40, 1000]) {
    const growing = new GrowingBlocks(sanitize);
    let blocks = [];
    for (let end = size; end < kDocument.length + size; end += size) blocks = growing.update(kDocument.slice(0, end));
    assert.deepEqual(blocks, whole, `pieces of ${size}`);
  }
});

test('Growing: only the last block is rendered again', () => {
  const rendered = [];
  const growing = new GrowingBlocks((html) => (rendered.push(html), html));
  const paragraphs = Array.from({ length: 50 }, (_, i) => `paragraph ${i}\n\n`);
  let text = '';
  for (const paragraph of paragraphs) growing.update((text += paragraph));
  // Each is rendered while it is the last one, and once more when it is done.
  assert.ok(rendered.length <= 2 * paragraphs.length, `${rendered.length} renderings`);
});

test('Growing: another text starts over', () => {
  const growing = new GrowingBlocks(sanitize);
  growing.update('one\n\ntwo\n\nthree');
  assert.deepEqual(growing.update('four'), wholeBlocks('four', sanitize));
});

test('Markdown: the pieces of the blocks add up to the text', () => {
  for (const text of [kDocument, 'a\tb\n\n\tcode\r\nx\r\n\r\ny', '  \n\n x', ...kAttacks])
    assert.equal(blocksOf(normalise(text)).map(({ raw }) => raw).join(''), normalise(text));
});

test('Markdown: what nests too deeply is shown as it was written', () => {
  for (const deep of ['> '.repeat(20000) + 'x', '['.repeat(3) + '*'.repeat(20000) + 'x'])
    assert.ok(domOf(render(deep)).textContent.includes('x'));
});

test('Markdown: a long answer is rendered in a moment', () => {
  const began = performance.now();
  htmlOf(blocksOf(kDocument.repeat(200)));
  for (const nasty of ['['.repeat(5000), '*a '.repeat(5000), '> '.repeat(500) + 'x', '`'.repeat(5000), '<'.repeat(5000)])
    htmlOf(blocksOf(nasty));
  assert.ok(performance.now() - began < 10000);
});
