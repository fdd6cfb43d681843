import assert from 'node:assert/strict';
import test from 'node:test';
import { answered, ask, playAnswer, scriptAnswers, withPage, words } from '../support/browser.js';

const kCompletions = '**/v1/chat/completions';

export function failureTests(shared) {
  const pageTest = (name, options, run) =>
    test(`Failures: ${name}`, () => withPage(shared, { mayFail: true, ...options }, run));

  pageTest('a refusal is shown in its own words, and can be tried again', {}, async (page) => {
    const message = 'vault.0: layer 3, expert 17 <i>can not</i> be read';
    await page.route(kCompletions, (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body: JSON.stringify({ error: { message, type: 'server_error' } }) }),
    );
    await ask(page, 'hello');
    await page.waitForSelector('.failure');
    assert.equal(await page.locator('.failure p').textContent(), message);
    await page.unroute(kCompletions);
    await page.click('.failure button');
    await page.waitForSelector('.answer .markdown');
    assert.equal(await page.locator('.failure').count(), 0);
    assert.equal(await page.locator('.answer .branches').count(), 0, 'an empty failure is replaced');
    if (await page.locator('button[aria-label="Stop"]').isVisible()) await page.keyboard.press('Escape');
    await answered(page);
  });

  pageTest('an error in the middle keeps what came before', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await page.evaluate((chunk) => {
      window.scripted.send(chunk, { error: { message: 'the disk is gone', type: 'server_error' } });
      window.scripted.stream.close();
    }, words('half'));
    await page.waitForSelector('.failure:has-text("the disk is gone")');
    assert.equal((await page.locator('.answer .markdown').textContent()).trim(), 'half');
    await page.click('.failure button');
    await playAnswer(page, 'whole');
    assert.equal(await page.locator('.branches > span').textContent(), '2/2');
  });

  pageTest('a stream that ends too early is no complete answer', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await page.evaluate((chunk) => (window.scripted.send(chunk), window.scripted.stream.close()), words('half'));
    await page.waitForSelector('.failure:has-text("broke before the answer was complete")');
  });

  pageTest('a server that is away is said to be away', {}, async (page) => {
    await page.route(kCompletions, (route) => route.abort());
    await ask(page, 'hello');
    await page.waitForSelector('.failure:has-text("does not answer")');
  });

  pageTest('the server\'s own refusals are understood', { sampling: { max_tokens: 1 } }, async (page) => {
    await ask(page, 'word '.repeat(4000));
    await page.waitForSelector('.failure');
    assert.match(await page.locator('.failure p').textContent(), /\d/);
  });

  pageTest('a server that wants a key gets it, and the key is not kept beyond the tab', {}, async (page) => {
    const keys = [];
    await page.route('**/v1/models', async (route) => {
      const key = route.request().headers().authorization;
      keys.push(key);
      if (key === 'Bearer secret') return route.continue();
      return route.fulfill({ status: 401, contentType: 'application/json', body: '{"error":{"message":"no key","type":"authentication_error"}}' });
    });
    await page.reload();
    await page.waitForSelector('.dialog:has-text("wants a key")');
    await page.keyboard.type('secret');
    await page.keyboard.press('Enter');
    await page.waitForSelector('select[aria-label="Model"] option', { state: 'attached' });
    assert.deepEqual(keys, [undefined, 'Bearer secret']);
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('secret')), false);
    assert.equal(await page.evaluate(() => sessionStorage.getItem('smoe.key')), 'secret');
  });

  pageTest('without a server the page says so, and finds it again', {}, async (page) => {
    await page.route('**/v1/models', (route) => route.abort());
    await page.route('**/live', (route) => route.abort());
    await page.reload();
    await page.waitForSelector('.model-menu.broken');
    await page.waitForSelector('.absence');
    await page.unroute('**/v1/models');
    await page.unroute('**/live');
    await page.click('.model-menu.broken');
    await page.waitForSelector('select[aria-label="Model"]');
    await page.waitForSelector('.model-map canvas');
  });
}
