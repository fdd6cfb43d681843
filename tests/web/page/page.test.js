// The page in a browser, on the real server. One browser and one server for all.
import { after, before } from 'node:test';
import { startBrowser } from '../support/browser.js';
import { startServer } from '../support/server.js';
import { accessTests } from './access.js';
import { chatTests } from './chat.js';
import { failureTests } from './failures.js';
import { historyTests } from './history.js';
import { mapTests } from './map.js';
import { safetyTests } from './safety.js';

const shared = {};
let stopAll = [];

before(async () => {
  const [server, chromium] = await Promise.all([startServer(), startBrowser()]);
  stopAll = [chromium.stop, server.stop];
  Object.assign(shared, { url: server.url, browser: chromium.browser });
});

after(async () => {
  for (const stop of stopAll) await stop();
});

chatTests(shared);
historyTests(shared);
failureTests(shared);
mapTests(shared);
safetyTests(shared);
accessTests(shared);
