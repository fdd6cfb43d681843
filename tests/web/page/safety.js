import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { kAttacks } from '../support/xss.js';
import { ask, playAnswer, scriptAnswers, withPage } from '../support/browser.js';

const policy = readFileSync(new URL('../../../web/dist/csp.txt', import.meta.url), 'utf8').trim();

async function assertUnharmed(page, where) {
  assert.equal(await page.evaluate(() => window.hacked), undefined, where);
  const foreign = await page.evaluate(() =>
    [...document.querySelectorAll('.markdown *, .bubble *, .entry *')]
      .filter((element) => /^(SCRIPT|IFRAME|OBJECT|EMBED|STYLE|LINK|META|BASE|FORM|VIDEO|AUDIO|MATH)$/i.test(element.tagName) ||
        [...element.attributes].some(({ name }) => name.startsWith('on')))
      .map((element) => element.outerHTML),
  );
  assert.deepEqual(foreign, [], where);
}

/** A chat as the page stores it, whose every text is an attack. */
function storedAttacks() {
  const nodes = { root: { id: 'root', parent: null, role: 'root', children: ['n0'], chosen: 0 } };
  kAttacks.forEach((content, index) => {
    nodes[`n${index}`] = {
      id: `n${index}`, parent: index ? `n${index - 1}` : 'root', role: index % 2 ? 'assistant' : 'user', content,
      reasoning: content, model: content, error: content, finish: content, stats: { limitedBy: content, tokens: 1 },
      children: index + 1 < kAttacks.length ? [`n${index + 1}`] : [], chosen: 0,
    };
  });
  return { id: 'attackattack', title: kAttacks[6], created: 1, updated: 2, nodes };
}

export function safetyTests(shared) {
  const pageTest = (name, options, run) => test(`Safety: ${name}`, () => withPage(shared, options, run));

  // S11
  pageTest(`${kAttacks.length} attacks as answers of a model are inert`, { script: scriptAnswers }, async (page) => {
    for (const attack of kAttacks) {
      await page.keyboard.press('Alt+n');
      await ask(page, attack);
      await playAnswer(page, attack);
      await assertUnharmed(page, attack);
    }
    assert.equal(await page.locator('.entry').count(), kAttacks.length);
  });

  pageTest(`${kAttacks.length} attacks in a stored chat are inert`, {}, async (page) => {
    await page.evaluate((chat) => {
      localStorage.setItem('smoe.chats', JSON.stringify([{ id: chat.id, title: chat.title, updated: 2 }]));
      localStorage.setItem(`smoe.chat.${chat.id}`, JSON.stringify(chat));
    }, storedAttacks());
    await page.reload();
    await page.waitForFunction((count) => document.querySelectorAll('.message').length === count, kAttacks.length);
    for (const thoughts of await page.locator('.thinking > button').all()) await thoughts.click();
    await page.waitForTimeout(300);
    await assertUnharmed(page, 'stored');
  });

  pageTest('attacks as the names of models are inert', {}, async (page) => {
    await page.route('**/v1/models', (route) =>
      route.fulfill({ contentType: 'application/json', body: JSON.stringify({ data: kAttacks.map((id) => ({ id })) }) }),
    );
    await page.reload();
    await page.waitForSelector('select[aria-label="Model"] option', { state: 'attached' });
    await assertUnharmed(page, 'models');
  });

  pageTest('a picture in an answer is fetched by nobody', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await playAnswer(page, '![a fox](http://elsewhere.invalid/fox.png)');
    assert.equal(await page.locator('.markdown img').count(), 0);
    assert.equal(await page.locator('.markdown a').getAttribute('rel'), 'noopener noreferrer nofollow');
  });

  test('Safety: the server sends the policy that belongs to the page', async () => {
    const response = await fetch(shared.url);
    assert.equal(response.headers.get('content-security-policy'), policy);
  });

  pageTest('a script that gets in all the same does not run', {}, async (page, findings) => {
    await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.hacked = 1';
      document.body.append(script);
      document.body.insertAdjacentHTML('beforeend', '<img src="http://elsewhere.invalid/x.png" onerror="window.hacked = 1">');
    });
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.ok(findings.some((text) => text.startsWith('policy: script-src')) && findings.some((text) => text.startsWith('policy: img-src')));
    findings.length = 0; // they were the point
  });
}
