// `npm start` as a new user runs it: an address that only answers with its token, and shows the sample's picture.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './harness.mjs';
import { test } from './test.mjs';
import { TIMEOUT_MS } from './waiting.mjs';
import { hostOf } from './host.mjs';

test.describe.configure({ mode: 'serial' });

let start;
let opened;
async function begin(...args) {
  start = spawn(process.execPath, [path.join(ROOT, 'scripts/start.mjs'), '--print-url', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: start.stdout }), 'line');
  opened = JSON.parse(line);
}
test.beforeAll(() => begin());
test.afterAll(() => start?.kill('SIGKILL'));

/** Opens the address in a browser until the picture of a file is drawn. */
async function shown(name, look) {
  const host = await hostOf();
  const context = await host.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.goto(opened.url);
    await page.locator('.tab.active', { hasText: name }).waitFor({ timeout: 2 * TIMEOUT_MS });
    const view = page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
    await view.locator('#memlens[data-state="ready"]').waitFor({ timeout: TIMEOUT_MS });
    await look(page);
  } finally {
    await context.close();
  }
}

test('the address is on the loopback interface and only answers with its token', async () => {
  const address = new URL(opened.url);
  assert.equal(address.hostname, '127.0.0.1');
  const token = address.searchParams.get('tkn');
  assert.ok(token && token.length >= 16);
  address.searchParams.set('tkn', 'x'.repeat(token.length));
  assert.equal((await fetch(address)).status, 403);
});

test('the workspace and the snapshot are open, and the picture is drawn', async () => {
  await shown('train.pickle', (page) =>
    page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'train.py' }).waitFor(),
  );
});

test('stopping it also ends its server', async () => {
  start.kill('SIGINT');
  await once(start, 'exit');
  await assert.rejects(fetch(opened.url));
});

test('a file in another folder opens in Restricted Mode, and the folder chooses no program to run', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-stranger-'));
  try {
    const mark = path.join(folder, 'ran');
    const program = path.join(folder, 'python');
    writeFileSync(program, `#!/bin/sh\necho > '${mark}'\n`, { mode: 0o755 });
    mkdirSync(path.join(folder, '.vscode'));
    writeFileSync(
      path.join(folder, '.vscode', 'settings.json'),
      JSON.stringify({ 'memlens.interpreter': program, 'security.workspace.trust.enabled': false }),
    );
    cpSync(path.join(ROOT, 'samples', 'train.pickle'), path.join(folder, 'theirs.pickle'));
    await begin(path.join(folder, 'theirs.pickle'));
    await shown('theirs.pickle', (page) =>
      page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor(),
    );
    assert.ok(!existsSync(mark));
    start.kill('SIGINT');
    await once(start, 'exit');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
