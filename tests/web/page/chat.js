import assert from 'node:assert/strict';
import test from 'node:test';
import { answered, answers, ask, kBrief, kLong, playAnswer, scriptAnswers, withPage, words } from '../support/browser.js';

const kStory = 'Tell me a story about a fox and a king.';

export function chatTests(shared) {
  const pageTest = (name, options, run) => test(`Page: ${name}`, () => withPage(shared, options, run));

  pageTest('an answer streams in, and its figures stand below it', { sampling: { max_tokens: 400, temperature: 0 } }, async (page) => {
    await page.evaluate(() => {
      window.lengths = new Set();
      const note = () => window.lengths.add(document.querySelector('.answer .markdown')?.textContent.length);
      new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    await ask(page, kStory);
    await page.waitForSelector('.answer .markdown');
    await answered(page);
    const lengths = await page.evaluate(() => window.lengths.size);
    assert.ok(lengths > 3, `seen in ${lengths} lengths`);
    const stats = await page.locator('.stats').textContent();
    assert.match(stats, /[\d.]+ tok\/sfirst after [\d.]+ s\d+ tokens/);
    assert.match(stats, /\d+ % hits/);
  });

  pageTest('the button and Escape stop an answer, and what came stays', { sampling: kLong }, async (page) => {
    for (const stop of [() => page.click('button[aria-label="Stop"]'), () => page.keyboard.press('Escape')]) {
      await ask(page, kStory);
      await page.waitForFunction(() => [...document.querySelectorAll('.answer .markdown')].at(-1)?.textContent.length > 10);
      await stop();
      await answered(page);
      assert.equal(await answers(page).last().locator('.outcome').textContent(), 'Stopped.');
    }
    assert.equal(await answers(page).count(), 2);
    // The server notices as well: it is free for the next one.
    await page.waitForFunction(() => document.querySelector('.requests').textContent.startsWith('0 being answered'));
  });

  pageTest('the next turn carries the ones before it, and the server knows them already', { sampling: kBrief }, async (page) => {
    await ask(page, kStory);
    await answered(page);
    const request = page.waitForRequest('**/v1/chat/completions');
    await ask(page, 'And then?');
    const { messages, model, stream } = (await request).postDataJSON();
    await answered(page);
    assert.deepEqual(messages.map(({ role }) => role), ['user', 'assistant', 'user']);
    assert.equal(messages[0].content, kStory);
    assert.equal(stream, true);
    assert.equal(model, await page.locator('select[aria-label="Model"]').inputValue());
    const used = await page.locator('.context-meter').getAttribute('aria-label');
    assert.match(used, /^[1-9][\d,]* of [\d,]+ tokens/);
  });

  pageTest('another answer is another version; both can be walked to', { sampling: kBrief }, async (page) => {
    await ask(page, kStory);
    await answered(page);
    const first = await page.locator('.answer .markdown').textContent();
    await page.click('button[aria-label="Another answer"]');
    await answered(page);
    assert.equal(await page.locator('.branches > span').textContent(), '2/2');
    // Greedy: the same words again, and an own version all the same.
    assert.equal(await page.locator('.answer .markdown').textContent(), first);
    await page.click('button[aria-label="Version before"]');
    assert.equal(await page.locator('.branches > span').textContent(), '1/2');
    assert.ok(await page.locator('button[aria-label="Version before"]').isDisabled());
  });

  pageTest('an edited message begins a branch, and the old one is kept', { script: scriptAnswers }, async (page) => {
    await ask(page, 'first question');
    await playAnswer(page, 'first answer');
    await ask(page, 'second question');
    await playAnswer(page, 'second answer');
    await page.locator('article.user').first().hover();
    await page.locator('button[aria-label="Edit this message"]').first().click();
    await page.fill('textarea[aria-label="Edit the message"]', 'other question');
    await page.press('textarea[aria-label="Edit the message"]', 'Enter');
    await playAnswer(page, 'other answer');
    assert.deepEqual(await page.locator('.bubble').allTextContents(), ['other question']);
    const { messages } = await page.evaluate(() => window.scripted.requests.at(-1));
    assert.deepEqual(messages, [{ role: 'user', content: 'other question' }]);
    await page.click('button[aria-label="Version before"]');
    assert.deepEqual(await page.locator('.bubble').allTextContents(), ['first question', 'second question']);
    assert.match(await answers(page).last().textContent(), /second answer/);
  });

  pageTest('an edited answer is what follows it is based on', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await playAnswer(page, 'good day');
    await page.click('button[aria-label="Edit this answer"]');
    await page.fill('textarea[aria-label="Edit the message"]', 'good night');
    await page.click('button:has-text("Keep as a version")');
    await ask(page, 'why?');
    const { messages } = await page.evaluate(() => window.scripted.requests.at(-1));
    assert.deepEqual(messages.map(({ content }) => content), ['hello', 'good night', 'why?']);
    await playAnswer(page, 'so');
  });

  pageTest('Escape leaves an edit as it was', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await playAnswer(page, 'hi');
    await page.locator('article.user').hover();
    await page.click('button[aria-label="Edit this message"]');
    await page.fill('textarea[aria-label="Edit the message"]', 'changed');
    await page.keyboard.press('Escape');
    assert.deepEqual(await page.locator('.bubble').allTextContents(), ['hello']);
  });

  pageTest('the reading of the prompt is shown while it lasts', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await page.waitForSelector('.waiting-dots');
    const prompt_progress = { total: 2000, cache: 100, processed: 500, time_ms: 1000 };
    await page.evaluate((chunk) => window.scripted.send(chunk), { choices: [], prompt_progress });
    await page.waitForSelector('.prompt-progress');
    const text = await page.locator('.prompt-progress').textContent();
    assert.equal(text, 'Reading the prompt: 500 of 2,000 tokens, 100 of them known already; about 3.8 s left');
    assert.equal(await page.locator('progress').getAttribute('value'), '500');
    await playAnswer(page, 'done');
    assert.equal(await page.locator('.prompt-progress').count(), 0);
  });

  pageTest('thoughts are open while they grow, fold away, and open again', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await page.evaluate(() => window.scripted.send({ choices: [{ index: 0, delta: { reasoning_content: 'hm, **well**' } }] }));
    await page.waitForSelector('.thoughts.growing strong');
    await playAnswer(page, 'yes');
    assert.equal(await page.locator('.thoughts').count(), 0);
    await page.click('.thinking > button');
    assert.equal((await page.locator('.thoughts').textContent()).trim(), 'hm, well');
    assert.equal((await page.locator('.answer > .markdown').textContent()).trim(), 'yes');
  });

  pageTest('only the block that grows is drawn again', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    await page.evaluate((chunk) => window.scripted.send(chunk), words('one\n\n```js\nlet a;\n```\n\nthree'));
    await page.waitForSelector('.block:nth-child(3)');
    await page.evaluate(() => {
      window.changed = [];
      const observer = new MutationObserver((records) => window.changed.push(...records.map(({ target }) => target)));
      document.querySelectorAll('.block').forEach((block) => observer.observe(block, { childList: true, subtree: true, characterData: true }));
    });
    await page.evaluate((chunk) => window.scripted.send(chunk), words(' and more'));
    await page.waitForFunction(() => document.querySelector('.block:nth-child(3)').textContent.includes('more'));
    assert.ok(await page.evaluate(() => window.changed.every((node) => node.closest('.block') === document.querySelector('.block:nth-child(3)'))));
    await page.evaluate(() => window.scripted.end());
    await answered(page);
  });

  pageTest('code can be copied', { script: scriptAnswers, permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
    await ask(page, 'hello');
    await playAnswer(page, '```python\nprint("x < y")\n```');
    assert.ok(await page.locator('.hljs-string').count());
    await page.click('.copy-code');
    await page.waitForSelector('.copy-code:has-text("Copied")');
    assert.equal((await page.evaluate(() => navigator.clipboard.readText())).trim(), 'print("x < y")');
  });

  pageTest('settings are kept and sent; empty ones are not', { script: scriptAnswers }, async (page) => {
    await page.keyboard.press('Alt+s');
    await page.fill('.dialog textarea', 'Be brief.');
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('Seed').fill('7');
    await page.getByLabel('Top k').fill('-4');
    await page.getByLabel('Thinking').selectOption('off');
    await page.click('button:has-text("Done")');
    await page.reload();
    await ask(page, 'hello');
    const body = await page.evaluate(() => window.scripted.requests.at(-1));
    assert.deepEqual(body.messages[0], { role: 'system', content: 'Be brief.' });
    assert.deepEqual([body.temperature, body.seed, body.top_k, body.return_progress], [0.5, 7, 0, true]);
    assert.deepEqual(body.chat_template_kwargs, { enable_thinking: false });
    assert.ok(!('top_p' in body) && !('max_tokens' in body));
    await playAnswer(page, 'hi');
  });

  pageTest('Shift Enter begins a new line, Enter sends, an empty box sends nothing', { script: scriptAnswers }, async (page) => {
    await page.press('#box', 'Enter');
    await page.locator('#box').pressSequentially('one');
    await page.press('#box', 'Shift+Enter');
    await page.locator('#box').pressSequentially('two');
    await page.press('#box', 'Enter');
    await playAnswer(page, 'hi');
    assert.deepEqual(await page.locator('.bubble').allTextContents(), ['one\ntwo']);
    assert.equal(await page.inputValue('#box'), '');
  });

  pageTest('a question in the address fills the box and is not sent', { path: '?q=Who%20<b>are</b>%20you%3F' }, async (page) => {
    let requests = 0;
    page.on('request', (request) => (requests += request.url().includes('completions')));
    assert.equal(await page.inputValue('#box'), 'Who <b>are</b> you?');
    await page.waitForTimeout(500);
    assert.equal(requests, 0);
    assert.equal(await page.locator('.message').count(), 0);
  });

  pageTest('the view follows a growing answer until the reader scrolls away', { script: scriptAnswers }, async (page) => {
    await ask(page, 'hello');
    const grow = () => page.evaluate((chunk) => window.scripted.send(chunk), words('line\n\n'.repeat(60)));
    const fromEnd = () => page.evaluate(() => {
      const box = document.querySelector('.scroller');
      return box.scrollHeight - box.scrollTop - box.clientHeight;
    });
    await grow();
    await page.waitForFunction(() => document.querySelectorAll('.block').length >= 60);
    assert.ok((await fromEnd()) < 5);
    await page.evaluate(() => (document.querySelector('.scroller').scrollTop = 0));
    await page.waitForSelector('.to-end');
    await grow();
    await page.waitForFunction(() => document.querySelectorAll('.block').length >= 120);
    assert.ok((await fromEnd()) > 500);
    await page.click('.to-end');
    assert.ok((await fromEnd()) < 5);
    await page.evaluate(() => window.scripted.end());
    await answered(page);
  });
}
