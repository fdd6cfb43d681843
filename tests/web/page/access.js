import assert from 'node:assert/strict';
import test from 'node:test';
import AxeBuilder from '@axe-core/playwright';
import { ask, kDesktop, kPhone, playAnswer, scriptAnswers, withPage, words } from '../support/browser.js';

const Axe = AxeBuilder.default ?? AxeBuilder;

const kRich = `# Title

Text with **bold**, \`code\` and [a link](https://example.com).

- [x] done

| a | b |
|---|--:|
| 1 | 2 |

\`\`\`python
def f(x):  # a comment that is long enough to need scrolling on every screen, however wide it may be, really
    return "s" + str(1)
\`\`\`

> quoted`;

async function assertAccessible(page, where) {
  const { violations } = await new Axe({ page }).analyze();
  const serious = violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join('\n')}`);
  assert.deepEqual(serious, [], where);
}

/** What Tab leads to, one after the other, until it comes round. */
async function tabOrder(page) {
  const seen = [];
  let rounds = 0;
  for (let i = 0; i < 120; ++i) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const { outlineStyle } = getComputedStyle(element);
      const around = element.closest('.composer-box') ? getComputedStyle(element.closest('.composer-box')).borderColor : '';
      return { name: element.getAttribute('aria-label') || element.textContent.trim().slice(0, 30), tag: element.tagName, isSeen: outlineStyle !== 'none' || around !== '' };
    });
    if (focused.tag !== 'BODY') seen.push(focused);
    else if (++rounds === 2) break;
  }
  return seen;
}

export function accessTests(shared) {
  for (const colorScheme of ['dark', 'light'])
    for (const [device, viewport] of Object.entries({ desktop: kDesktop, phone: kPhone }))
      test(`Access: axe finds nothing serious, ${device}, ${colorScheme}`, () =>
        withPage(shared, { viewport, colorScheme, script: scriptAnswers }, async (page) => {
          await page.waitForSelector(device === 'phone' ? '.map-strip' : '.model-map canvas');
          await ask(page, 'hello');
          await page.evaluate((chunk) => window.scripted.send({ choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] }, chunk), words('on its way'));
          await page.waitForSelector('.answer .markdown');
          await assertAccessible(page, 'growing');
          await playAnswer(page, `\n\n${kRich}`);
          await page.click('.thinking > button');
          await ask(page, 'and then?');
          await page.evaluate(() => (window.scripted.send({ error: { message: 'broken' } }), window.scripted.stream.close()));
          await page.waitForSelector('.failure');
          await assertAccessible(page, 'answered and failed');
          const overlays = { s: '.dialog', ...(device === 'phone' && { m: '.model-map canvas', b: '.sidebar' }) };
          for (const [key, shown] of Object.entries(overlays)) {
            await page.keyboard.press(`Alt+${key}`);
            await page.waitForSelector(shown);
            await assertAccessible(page, shown);
            await page.keyboard.press('Escape');
            await page.waitForSelector(shown, { state: 'detached' });
          }
        }));

  test('Access: Tab reaches every control, and shows where it is', () =>
    withPage(shared, { script: scriptAnswers }, async (page) => {
      await page.waitForSelector('.model-map canvas');
      await ask(page, 'hello');
      await playAnswer(page, kRich);
      const order = await tabOrder(page);
      assert.deepEqual(order.filter(({ isSeen }) => !isSeen), []);
      const names = order.map(({ name }) => name);
      for (const wanted of ['Chats', 'New chat', 'Model', 'Settings', 'Live map', 'Rename hello', 'Export hello', 'Delete hello', 'Messages',
        'Edit this message', 'Another answer', 'Edit this answer', 'Message', 'As a table', 'Close the map', 'Import', 'Keyboard'])
        assert.ok(names.includes(wanted), `${wanted} is missing in: ${names.join(', ')}`);
      assert.ok(names.some((name) => name.startsWith('Map of the experts')));
    }));

  test('Access: a dialog keeps the focus, closes with Escape, and gives the focus back', () =>
    withPage(shared, {}, async (page) => {
      await page.click('button[aria-label="Settings"]');
      await page.waitForSelector('.dialog');
      for (let i = 0; i < 25; ++i) {
        await page.keyboard.press('Tab');
        assert.ok(await page.evaluate(() => document.activeElement === document.body || Boolean(document.activeElement.closest('.dialog'))));
      }
      await page.keyboard.press('Escape');
      await page.waitForSelector('.dialog', { state: 'detached' });
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Settings');
    }));

  test('Access: answers are announced when they begin and when they are there', () =>
    withPage(shared, { script: scriptAnswers }, async (page) => {
      const spoken = page.locator('.visually-hidden[role=status]');
      await ask(page, 'hello');
      await page.waitForFunction(() => document.querySelector('.visually-hidden[role=status]').textContent === 'Answering.');
      await playAnswer(page, 'good day');
      assert.equal(await spoken.textContent(), 'Answer: good day');
    }));

  test('Access: every shortcut does what its list says', () =>
    withPage(shared, { script: scriptAnswers }, async (page) => {
      await ask(page, 'hello');
      await playAnswer(page, 'hi');
      await page.keyboard.press('Alt+r');
      await playAnswer(page, 'hi again');
      assert.equal(await page.locator('.branches > span').textContent(), '2/2');
      await page.keyboard.press('Alt+b');
      assert.equal(await page.locator('.sidebar').count(), 0);
      await page.keyboard.press('Alt+b');
      assert.equal(await page.locator('.sidebar').count(), 1);
      await page.keyboard.press('Alt+n');
      assert.equal(await page.locator('.message').count(), 0);
      await page.click('.brand strong');
      await page.keyboard.press('Alt+c');
      assert.equal(await page.evaluate(() => document.activeElement.id), 'box');
      await page.keyboard.press('Alt+k');
      assert.ok((await page.locator('.shortcuts dt').count()) > 8);
    }));

  test('Access: the colours can be switched, and stay so', () =>
    withPage(shared, { colorScheme: 'light' }, async (page) => {
      const back = () => page.evaluate(() => getComputedStyle(document.querySelector('.sidebar')).backgroundColor);
      const light = await back();
      await page.click('button[aria-label="Dark colours"]');
      const dark = await back();
      assert.notEqual(dark, light);
      await page.reload();
      await page.waitForSelector('button[aria-label="Light colours"]');
      assert.equal(await back(), dark);
    }));

  test('Access: nothing is wider than a small phone', () =>
    withPage(shared, { viewport: { width: 320, height: 568 }, script: scriptAnswers }, async (page) => {
      await ask(page, 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerk'.repeat(4));
      await playAnswer(page, `${kRich}\n\n${'x'.repeat(400)}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
      const wide = await page.evaluate(() => {
        const box = document.querySelector('.scroller');
        return box.scrollWidth > box.clientWidth;
      });
      assert.equal(wide, false);
    }));
}
