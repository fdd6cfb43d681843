// Takes the pictures in docs/images anew: SMOE_BINARY=… node screenshot.js
import { fileURLToPath } from 'node:url';
import { ask, kDesktop, kPhone, startBrowser } from './support/browser.js';
import { startServer } from './support/server.js';

const images = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const kPictures = [
  { file: 'page-dark.png', options: { viewport: kDesktop, colorScheme: 'dark' } },
  { file: 'page-phone.png', options: { viewport: kPhone, colorScheme: 'light' } },
];

const server = await startServer();
const { browser, stop } = await startBrowser();
for (const { file, options } of kPictures) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(server.url);
  // Twice: the plots have something to show, and the picture is taken in the middle of an answer.
  for (const question of ['Tell me a story about a fox and a king.', 'What did the king say?']) {
    await page.waitForSelector('button[aria-label="Send"]');
    await ask(page, question);
  }
  await page.waitForFunction(() => document.querySelectorAll('.answer .markdown').length === 2);
  await page.waitForTimeout(700);
  await page.screenshot({ path: images + file });
  await context.close();
}
await stop();
await server.stop();
