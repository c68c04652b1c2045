/* global window -- in functions that run in the page */
// Measures what a person waits for in VS Code, as one line of JSON: the first picture after a double click, in a
// VS Code that never ran the extension; the frames of panning and zooming; the answers to their requests.
//
//   node tests/bench/editor.mjs [--package FILE.vsix] [--file FILE] [--delay 25 --rate 10 [--desktop]] [--frames 300]
//
// --package: installed in VS Code's server; otherwise this checkout is used. --delay, --rate: the line between browser
// and server, in milliseconds each way and Mbit/s, which the extension's own files use as well. --desktop: VS Code
// compresses nothing on that line, as between its desktop and a server.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from '@playwright/test';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { SERVER_MAIN, installCodeServer } from '../../scripts/lib/code-server.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { startVSCodeServer } from '../../scripts/lib/vscode-server.mjs';
import { CHROMIUM_FLAGS } from '../e2e/host.mjs';
import { at, drive, round } from './drive.mjs';
import { slowLink } from './link.mjs';

const { values } = parseArgs({
  options: {
    package: { type: 'string' },
    file: { type: 'string', default: path.join(ROOT, 'samples', 'train.pickle') },
    delay: { type: 'string', default: '0' },
    rate: { type: 'string', default: '0' },
    desktop: { type: 'boolean', default: false },
    frames: { type: 'string', default: '300' },
    screenshot: { type: 'string' },
  },
});
const name = path.basename(values.file);
const limited = Number(values.rate) > 0;

const temporary = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'memlens-bench-')));
const ends = [() => rmSync(temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })];
try {
  const folder = path.join(temporary, 'run');
  mkdirSync(folder);
  copyFileSync(values.file, path.join(folder, name));
  if (!existsSync(SERVER_MAIN)) await installCodeServer();
  const server = await startVSCodeServer({
    trusted: true,
    develop: true,
    installed: values.package && path.resolve(values.package),
    settings: { 'memlens.cache.directory': path.join(temporary, 'cache') },
  });
  ends.push(() => server.stop());
  const browser = await chromium.launch({ executablePath: await findChromium(), args: CHROMIUM_FLAGS });
  ends.push(() => browser.close());
  let address = server.page({ folder });
  let link;
  if (limited) {
    const port = Number(server.authority.split(':')[1]);
    const [delayMs, megabitsPerS] = [Number(values.delay), Number(values.rate)];
    link = await slowLink({ port, delayMs, megabitsPerS, compressed: !values.desktop });
    ends.push(() => link.close());
    address = address.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${link.port}`);
    address = address.replaceAll(`127.0.0.1%3A${port}`, `127.0.0.1%3A${link.port}`);
  }

  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(limited ? 300_000 : 60_000);
  await page.addInitScript(noteAnswers);
  await page.goto(address);
  const row = page.locator('.explorer-folders-view .monaco-list-row', { hasText: name });
  await row.waitFor();
  await extensionKnown(page);

  const first = await opened(page, row);
  const afterFirst = link?.bytes().down ?? 0;
  if (values.screenshot) await page.screenshot({ path: values.screenshot });
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget .quick-input-box input').fill('>View: Close All Editors');
  await page
    .locator('.quick-input-list .monaco-list-row.focused', { hasText: 'Close All Editors' })
    .waitFor();
  await page.keyboard.press('Enter');
  await page.locator('iframe.webview').first().waitFor({ state: 'detached' });
  const again = await opened(page, row);

  const { frame } = again;
  await page.waitForTimeout(3000); // what is computed ahead of requests
  await frame.evaluate(drive, [0, 30]);
  await page.waitForTimeout(1000);
  await frame.evaluate(() => (window.answerTimes.length = 0));
  const before = link?.bytes().down ?? 0;
  const { intervals } = await frame.evaluate(drive, [0, Number(values.frames)]);
  await page.waitForTimeout(1000);
  const answers = await frame.evaluate(() => window.answerTimes);
  const meanwhile = (link?.bytes().down ?? 0) - before;
  console.log(
    JSON.stringify({
      file: name,
      link: limited ? `${2 * values.delay} ms there and back, ${values.rate} Mbit/s` : 'none',
      first_picture_s: round(first.seconds),
      again_s: round(again.seconds),
      megabytes_to_the_browser_until_then: link ? round(afterFirst / 1e6) : undefined,
      frame_interval_ms: summary(intervals),
      answers_ms: Object.fromEntries(
        [...new Set(answers.map(({ method }) => method))].map((method) => [
          method,
          summary(answers.filter((each) => each.method === method).map(({ ms }) => ms)),
        ]),
      ),
      answers_kilobytes: summary(answers.map(({ bytes }) => bytes / 1000)),
      kilobytes_to_the_browser_with_them: link ? round(meanwhile / 1000) : undefined,
    }),
  );
} finally {
  for (const end of ends.reverse()) await end();
}

/** Double-clicks a file and waits for its picture. */
async function opened(page, row) {
  const since = performance.now();
  await row.dblclick();
  const outer = await page.locator('iframe.webview.ready:visible').first().elementHandle();
  const inner = await (
    await outer.contentFrame()
  ).waitForSelector('iframe#active-frame', { state: 'attached' });
  const frame = await inner.contentFrame();
  await frame.locator('#memlens[data-state=ready]').waitFor();
  return { frame, seconds: (performance.now() - since) / 1000 };
}

/** Until VS Code knows the extension, a snapshot would open as text. */
async function extensionKnown(page) {
  const input = page.locator('.quick-input-widget .quick-input-box input');
  const command = page.locator('.quick-input-list .monaco-list-row', { hasText: 'Memlens:' }).first();
  for (let known = false; !known;) {
    await page.keyboard.press('F1');
    await input.fill('>Memlens: ');
    known = await command.waitFor({ timeout: 1000 }).then(
      () => true,
      () => false,
    );
    await page.keyboard.press('Escape');
    await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }
}

/** In every document: records how long the host's answers to a view's requests take. */
function noteAnswers() {
  const asked = new Map();
  window.answerTimes = [];
  let acquire;
  Object.defineProperty(window, 'acquireVsCodeApi', {
    configurable: true,
    get: () => acquire,
    set: (original) => {
      acquire = () => {
        const api = original();
        const postMessage = (message) => {
          if (message.type === 'request') asked.set(message.id, { ...message, at: performance.now() });
          // Cancelled requests aren't counted.
          if (message.type === 'cancelRequest') asked.delete(message.id);
          api.postMessage(message);
        };
        return Object.freeze({ ...api, postMessage });
      };
      window.addEventListener('message', ({ data }) => {
        const request = asked.get(data?.id);
        if (!request || !['response', 'packed'].includes(data.type)) return;
        asked.delete(data.id);
        const { geometry, ...rest } = data.type === 'packed' ? data : (data.result ?? {});
        const bytes = (rest.json?.byteLength ?? JSON.stringify(rest).length) + (geometry?.byteLength ?? 0);
        window.answerTimes.push({ method: request.method, ms: performance.now() - request.at, bytes });
      });
    },
  });
}

function summary(times) {
  return { median: at(times, 0.5), p95: at(times, 0.95), most: at(times, 1), count: times.length };
}
