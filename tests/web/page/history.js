import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { answered, ask, playAnswer, scriptAnswers, withPage, words } from '../support/browser.js';

const titles = (page) => page.locator('.entry-title').allTextContents();

async function talk(page, question, reply = `to ${question}`) {
  await ask(page, question);
  await playAnswer(page, reply);
}

export function historyTests(shared) {
  const pageTest = (name, run, options = {}) =>
    test(`History: ${name}`, () => withPage(shared, { script: scriptAnswers, ...options }, run));

  pageTest('a chat is there again after a reload', async (page) => {
    await talk(page, 'a question', 'an **answer**');
    await page.reload();
    assert.deepEqual(await page.locator('.bubble').allTextContents(), ['a question']);
    assert.equal(await page.locator('.answer strong').textContent(), 'answer');
    assert.deepEqual(await titles(page), ['a question']);
  });

  pageTest('an answer that a reload cut off is kept, and said to be cut off', async (page) => {
    await ask(page, 'a question');
    await page.evaluate((chunk) => window.scripted.send(chunk), words('half an ans'));
    await page.waitForSelector('.answer .markdown');
    await page.reload();
    assert.equal((await page.locator('.answer .markdown').textContent()).trim(), 'half an ans');
    assert.match(await page.locator('.outcome').textContent(), /^Interrupted/);
  });

  pageTest('there can be several chats, the newest first', async (page) => {
    await talk(page, 'first');
    await page.click('.new-chat');
    assert.equal(await page.locator('.message').count(), 0);
    await talk(page, 'second');
    assert.deepEqual(await titles(page), ['second', 'first']);
    await page.click('.entry-title:has-text("first")');
    assert.deepEqual(await page.locator('.bubble').allTextContents(), ['first']);
  });

  pageTest('an answer goes on in its chat while another is looked at', async (page) => {
    await talk(page, 'first');
    await page.click('.new-chat');
    await ask(page, 'second');
    await page.click('.entry-title:has-text("first")');
    assert.ok(await page.locator('button[aria-label="Send"]').isVisible());
    await page.evaluate(([chunk]) => (window.scripted.send(chunk), window.scripted.end()), [words('late answer')]);
    await page.click('.entry-title:has-text("second")');
    await answered(page);
    assert.equal((await page.locator('.answer .markdown').textContent()).trim(), 'late answer');
  });

  pageTest('a chat can be renamed; Escape keeps the name', async (page) => {
    await talk(page, 'first');
    for (const [name, key] of [['My <b>chat</b>', 'Enter'], ['other', 'Escape']]) {
      await page.hover('.entry');
      await page.click('button[aria-label^="Rename"]');
      await page.fill('.title-field', name);
      await page.press('.title-field', key);
      assert.deepEqual(await titles(page), ['My <b>chat</b>']);
    }
    await page.reload();
    assert.deepEqual(await titles(page), ['My <b>chat</b>']);
  });

  pageTest('a deleted chat can be brought back for a while', async (page) => {
    await talk(page, 'first');
    await page.hover('.entry');
    await page.click('button[aria-label^="Delete"]');
    assert.deepEqual(await titles(page), []);
    assert.equal(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('smoe.chat.')).length), 0);
    await page.click('.notice button');
    assert.deepEqual(await titles(page), ['first']);
    assert.deepEqual(await page.locator('.bubble').allTextContents(), ['first']);
  });

  pageTest('deleting a chat stops the answer that is written in it', async (page) => {
    await ask(page, 'first');
    await page.waitForFunction(() => window.scripted.stream);
    await page.hover('.entry');
    await page.click('button[aria-label^="Delete"]');
    await answered(page);
    assert.deepEqual(await titles(page), []);
    const isOpen = await page.evaluate(() => {
      try {
        return (window.scripted.send('x'), true);
      } catch {
        return false;
      }
    });
    assert.equal(isOpen, false);
    await page.waitForTimeout(1000);
    assert.deepEqual(await titles(page), [], 'it does not come back');
  });

  pageTest('a chat is exported for reading, and for importing with all its versions', async (page) => {
    await talk(page, 'first');
    await page.click('button[aria-label="Another answer"]');
    await playAnswer(page, 'another');
    const download = async (format) => {
      await page.hover('.entry');
      await page.click('button[aria-label^="Export"]');
      const [file] = await Promise.all([page.waitForEvent('download'), page.click(`.choices button:has-text("${format}")`)]);
      return file.path();
    };
    assert.match(await readFile(await download('Markdown'), 'utf8'), /^# first\n\n## You\n\nfirst\n\n## Answer.*\n\nanother\n/);
    const json = await readFile(await download('JSON'), 'utf8');
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await page.setInputFiles('input[type=file]', { name: 'chat.json', mimeType: 'application/json', buffer: Buffer.from(json) });
    await page.waitForSelector('.answer .branches');
    assert.equal(await page.locator('.answer .branches > span').textContent(), '2/2');
  });

  pageTest('a file that is no chat is refused with a word', async (page) => {
    await page.setInputFiles('input[type=file]', { name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{"nodes":[') });
    await page.waitForSelector('.notice:has-text("x.json holds no chat of this page.")');
  });

  pageTest('two tabs share the list', async (page) => {
    const other = await page.context().newPage();
    await other.goto(shared.url);
    await talk(page, 'from the first tab');
    await other.waitForSelector('.entry-title:has-text("from the first tab")');
    await other.close();
  });
}
