import assert from 'node:assert/strict';
import test from 'node:test';
import { answered, ask, kLong, kPhone, withPage } from '../support/browser.js';

/** What the map shows, as a value that can be compared. */
const look = (page) => page.evaluate(() => document.querySelector('.model-map canvas').toDataURL());

const legend = (page, label) =>
  page.evaluate((name) => {
    const entry = [...document.querySelectorAll('.legend li')].find((item) => item.textContent.startsWith(name));
    return Number(entry.querySelector('b').textContent.replace(',', ''));
  }, label);

export function mapTests(shared) {
  const pageTest = (name, options, run) => test(`Map: ${name}`, () => withPage(shared, options, run));

  pageTest('changes while a model writes, and rests when it does not', { sampling: kLong }, async (page) => {
    await page.waitForSelector('.model-map canvas');
    await page.waitForTimeout(2500);
    const before = await look(page);
    await page.waitForTimeout(600);
    assert.ok((await look(page)) === before, 'nothing runs, nothing moves');
    await ask(page, 'Tell me a story about a fox and a king.');
    await page.waitForSelector('.answer .markdown');
    const looks = new Set();
    let used = 0;
    for (let i = 0; i < 12 && (await page.locator('button[aria-label="Stop"]').isVisible()); ++i) {
      looks.add(await look(page));
      used = Math.max(used, await legend(page, 'Just used'));
      await page.waitForTimeout(120);
    }
    await page.keyboard.press('Escape');
    await answered(page);
    assert.ok(looks.size >= 3, `${looks.size} different looks`);
    assert.ok(used > 0, 'experts are shown as used');
  });

  pageTest('the legend counts every expert once', {}, async (page) => {
    await page.waitForSelector('.legend');
    const [layers, experts] = (await page.locator('.map-section h3').textContent()).match(/\d+/g).map(Number);
    const sum = await page.evaluate(() =>
      [...document.querySelectorAll('.legend b')].reduce((total, { textContent }) => total + Number(textContent.replace(',', '')), 0),
    );
    assert.equal(sum, layers * experts);
  });

  pageTest('an expert that is pointed at says who and how it is', {}, async (page) => {
    await page.waitForSelector('.model-map canvas');
    await page.hover('.model-map canvas', { position: { x: 60, y: 4 } });
    assert.match(await page.locator('.map-tip').textContent(), /^Layer 0, expert \d+(on disk|loading|in memory|just used|bet)/);
    await page.mouse.move(500, 500);
    await page.waitForSelector('.map-tip', { state: 'detached' });
  });

  pageTest('arrow keys go from expert to expert', {}, async (page) => {
    await page.focus('.model-map canvas');
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
    assert.match(await page.locator('.map-tip').textContent(), /^Layer 1, expert 1/);
    await page.keyboard.press('End');
    const experts = Number((await page.locator('.map-section h3').textContent()).match(/\d+/g)[1]);
    assert.match(await page.locator('.map-tip').textContent(), new RegExp(`^Layer 1, expert ${experts - 1}`));
  });

  pageTest('is there in words and as a table', {}, async (page) => {
    await page.waitForSelector('.model-map canvas');
    assert.match(await page.locator('.model-map canvas').getAttribute('aria-label'), /^Map of the experts\. \d+ layers with \d+ experts each\./);
    await page.click('.map-table summary');
    const layers = Number((await page.locator('.map-section h3').textContent()).match(/\d+/)[0]);
    assert.equal(await page.locator('.map-table tbody tr').count(), layers);
  });

  pageTest('the plots have numbers and a minute of history', {}, async (page) => {
    await page.waitForSelector('.plot');
    await page.waitForTimeout(1200);
    assert.deepEqual(await page.locator('.plot figcaption').allTextContents(), ['Tokens', 'Disk reads', 'Hit rate']);
    assert.match(await page.locator('.plot.reads svg').getAttribute('aria-label'), /^Disk reads over the last minute, now [\d.]+ \w+\/s/);
    assert.ok((await page.locator('.plot.tokens .line').getAttribute('d')).split('L').length > 2);
    assert.equal(await page.locator('.time-split .shares li').count(), 5);
    assert.match(await page.locator('.memory h3').first().textContent(), /^Memory [\d.]+ \wB of [\d.]+ \wB$/);
  });

  pageTest('can be wide, or away, and the choice is kept', {}, async (page) => {
    const width = () => page.locator('.live-panel').evaluate((panel) => panel.clientWidth);
    await page.waitForSelector('.model-map canvas');
    const narrow = await width();
    await page.click('button[aria-label="Wide map"]');
    await page.waitForFunction((before) => document.querySelector('.live-panel').clientWidth > before * 1.3, narrow);
    await page.keyboard.press('Alt+m');
    assert.equal(await page.locator('.live-panel').count(), 0);
    await page.reload();
    await page.waitForSelector('#box');
    assert.equal(await page.locator('.live-panel').count(), 0);
  });

  pageTest('on a phone it is a strip that opens', { viewport: kPhone, hasTouch: true }, async (page) => {
    await page.waitForSelector('.map-strip');
    assert.equal(await page.locator('.live-panel').count(), 0);
    assert.ok((await page.locator('.map-strip').evaluate((strip) => strip.clientHeight)) < 60);
    await page.tap('.map-strip');
    await page.waitForSelector('.live-panel .model-map canvas');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(overflow, false);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('.live-panel').count(), 0);
  });
}
