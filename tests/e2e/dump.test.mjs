// A running program or a page: one command lists it, takes its heap dump or records its allocations, and opens that.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { openVSCode } from './harness.mjs';
import { CHROMIUM_FLAGS } from './host.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const NAME = 'checkout-service.js';
const SERVICE = `
class Session { constructor(user) { this.user = user; } }
const kept = Array.from({ length: +process.argv[2] }, (_, user) => new Session(user));
console.log('ready');
// what a recording shows: some are kept and more are not
let last;
const visits = [];
setInterval(function visit() {
  visits.push({ of: kept[0], texts: [] });
  last = Array.from({ length: 50 }, (_, user) => ({ user, texts: [] }));
}, 20);
`;

const RECORDED = 'recorded.heaptimeline';
/** How many the program that is recorded has. */
const SESSIONS = 10;

const TITLE = 'Shop $(bug) <evil-tag> [quit](command:workbench.action.quit)&#x202e;';
const PAGE = `<!doctype html><title>${TITLE}</title><script src="/src/carts.js?t=1"></script>`;
const CARTS = `// carts that are never emptied
class Cart {
  constructor(number) { this.number = number; }
}
const kept = Array.from({ length: 321 }, (_, number) => new Cart(number));
setInterval(() => kept.length, 1000);
`;

let vscode;
const running = [];
const ends = [];

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      writeFileSync(path.join(folder, NAME), SERVICE);
      mkdirSync(path.join(folder, 'shop', 'src'), { recursive: true });
      writeFileSync(path.join(folder, 'shop', 'src', 'carts.js'), CARTS);
    },
  });
});
test.afterAll(async () => {
  for (const program of running) program.kill('SIGKILL');
  for (const end of ends.reverse()) await end();
  await vscode?.close();
});

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts the service, whose inspector will open at a port that nobody else uses. */
async function start(sessions) {
  const options = [`--inspect-port=${await freePort()}`, path.join(vscode.folder, NAME), `${sessions}`];
  const program = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'ignore'] });
  running.push(program);
  await once(program.stdout, 'data');
  return program;
}

/** Chooses a program in the list, and where its dump is saved. */
async function take(program, file) {
  await vscode.runCommand('Memlens: Take Heap Dump…');
  const shown = await choose(program);
  await vscode.choosePath(/checkout-service-\d{8}-\d{6}\.heapsnapshot$/, path.join(vscode.folder, file));
  return shown;
}

async function choose(program) {
  const { page } = vscode;
  const rows = page.locator('.quick-input-list .monaco-list-row');
  await rows.first().waitFor();
  await vscode.screenshot('dump-list');
  await page.locator('.quick-input-widget .quick-input-box input').fill(`process ${program.pid}`);
  const row = rows.filter({ hasText: `process ${program.pid}` });
  await row.waitFor();
  const shown = await row.innerText();
  await vscode.screenshot('dump-chosen');
  await vscode.pick(row);
  return shown;
}

test('one command lists the processes, takes a dump of one, and opens it', async () => {
  const program = await start(300);
  const shown = await take(program, 'first.heapsnapshot');
  assert.match(shown, new RegExp(`${NAME}.*Node\\.js · [\\d.]+ MiB · process ${program.pid}`, 's'));
  assert.ok(shown.includes(`${NAME} 300`), shown);
  await vscode.page.locator('.tab.active', { hasText: 'first.heapsnapshot' }).waitFor();
  const view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  const { types } = await vscode.memlens('types', 'first.heapsnapshot', '--search', 'Session');
  assert.equal(types.find(({ type }) => type === 'Session').count, 300);
  assert.equal(statSync(path.join(vscode.folder, 'first.heapsnapshot')).mode & 0o777, 0o600);
  assert.equal(program.exitCode, null);
  await vscode.screenshot('dump-open');
});

/** Serves the shop, and opens it in a browser with remote debugging at a port that it chooses; returns that. */
async function openShop() {
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    response.setHeader('Content-Type', pathname.endsWith('.js') ? 'text/javascript' : 'text/html');
    if (pathname === '/') response.end(PAGE);
    else if (pathname === '/src/carts.js') response.end(CARTS);
    else response.writeHead(404).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ends.push(() => server.close().closeAllConnections());
  const profile = mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-browser-'));
  ends.push(() => rmSync(profile, { recursive: true, force: true, maxRetries: 20 }));
  const flags = ['--headless=new', '--remote-debugging-port=0', `--user-data-dir=${profile}`];
  const url = `http://localhost:${server.address().port}/`;
  const browser = spawn(await findChromium(), [...CHROMIUM_FLAGS, ...flags, url], {
    stdio: 'ignore',
    detached: true,
  });
  // with its renderers
  ends.push(() => process.kill(-browser.pid, 'SIGKILL'));
  const file = path.join(profile, 'DevToolsActivePort');
  // it is there before its content is
  const listening = () => existsSync(file) && /^(\d+)\n/.exec(readFileSync(file, 'utf8'));
  const [, port] = await until(listening, 'the browser listens');
  const isOpen = async () => {
    const listed = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
    return listed.some(({ title }) => title.startsWith('Shop $(bug)'));
  };
  await until(isOpen, 'the page is open');
  return port;
}

test('a page of a browser is listed, and its dump leads to the line that it was served', async () => {
  const port = await openShop();
  const { page } = vscode;
  await vscode.runCommand('Memlens: Take Heap Dump…');
  await page.locator('.quick-input-list .monaco-list-row').first().waitFor();
  await page.locator('.quick-input-widget .quick-input-box input').fill(`browser at 127.0.0.1:${port}`);
  const row = page.locator('.quick-input-list .monaco-list-row', { hasText: 'http://localhost' });
  await row.waitFor();
  // the invisible character between them keeps VS Code from drawing an icon
  const listed = await row.innerText();
  assert.match(listed, /Shop \$\u2060\(bug\) <evil-tag> \[quit\].*Page · browser at 127\.0\.0\.1:\d+/s);
  assert.doesNotMatch(listed, /[\u202a-\u202e\u2066-\u2069]/);
  assert.equal(await page.locator('evil-tag, .quick-input-list a[href]').count(), 0);
  await vscode.screenshot('dump-page-list');
  await vscode.pick(row);
  const file = 'shop.heapsnapshot';
  await vscode.choosePath(/Shop-bug-.*\d{8}-\d{6}\.heapsnapshot$/, path.join(vscode.folder, file));
  await page.locator('.tab.active', { hasText: file }).waitFor();
  const view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await view.locator('.filter-input').fill('type:"=Cart"');
  await view.pane('Types');
  const types = view.locator('[id=pane-types] .grid-row[aria-level="1"]');
  await types.filter({ hasText: /Cart.*321/ }).waitFor();
  await until(async () => (await types.count()) === 1, 'one type is left');
  await view.locator('[id=pane-types] .grid-row[aria-level="2"]').first().click();
  await view.locator('.heap-actions button', { hasText: 'Open Source' }).click();
  // V8 has a class where its constructor is
  const line = CARTS.split('\n').findIndex((text) => text.includes('constructor')) + 1;
  await vscode.atLine('carts.js', line);
  await vscode.execute('workbench.action.closeAllEditors');
});

test('a dump that is cancelled leaves nothing, and the program runs on', async () => {
  const program = await start(600_000);
  const before = readdirSync(vscode.folder);
  await take(program, 'second.heapsnapshot');
  const begun = () => readdirSync(vscode.folder).some((name) => name.includes('partial'));
  await until(begun, 'the dump has begun');
  // it can't be finished before it is cancelled
  program.kill('SIGSTOP');
  const said = await vscode.notification('pauses while its heap dump');
  await vscode.screenshot('dump-progress');
  await said.hover();
  await said.locator('.monaco-button', { hasText: 'Cancel' }).click();
  program.kill('SIGCONT');
  await said.waitFor({ state: 'hidden' });
  await until(() => !begun(), 'nothing is left of it');
  assert.deepEqual(readdirSync(vscode.folder), before);
  assert.ok(!existsSync(path.join(vscode.folder, 'second.heapsnapshot')));
  assert.equal(program.exitCode, null);
  assert.equal(program.signalCode, null);
});

/**
 * Records a program's allocations into a file of the workspace, and returns the program; undefined if it crashed, as
 * Node.js 20 itself does in about one of a hundred such recordings on a busy machine.
 */
async function record(file) {
  const { page } = vscode;
  const program = await start(SESSIONS);
  const crashed = new Promise((resolve) =>
    program.once('exit', (_, signal) => signal === 'SIGSEGV' && resolve(true)),
  );
  await vscode.runCommand('Memlens: Record Allocations…');
  await choose(program);
  const kind = page.locator('.quick-input-list .monaco-list-row', { hasText: 'Every object, over time' });
  await kind.waitFor();
  await vscode.screenshot('record-kinds');
  await vscode.pick(kind);
  await vscode.choosePath(/checkout-service-\d{8}-\d{6}\.heaptimeline$/, path.join(vscode.folder, file));
  const running = page.locator('.statusbar-item', { hasText: /0:(0[3-9]|[1-5]\d)/ });
  const stop = async () => {
    const recording = await vscode.notification('Recording the allocations');
    await vscode.screenshot('record-progress');
    await recording.locator('a', { hasText: 'Stop and Open' }).click();
  };
  const opened = () => page.locator('.tab.active', { hasText: file }).waitFor();
  for (const step of [() => running.waitFor(), stop, opened]) {
    const done = step();
    done.catch(() => undefined);
    if (await Promise.race([done, crashed])) return undefined;
  }
  await running.waitFor({ state: 'hidden' });
  return program;
}

test('allocations are recorded until they are stopped, and a range of their time filters the view', async () => {
  const { page } = vscode;
  const file = RECORDED;
  const program = (await record(file)) ?? (await record(file));
  assert.equal(program.exitCode, null);
  const view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  const chart = view.locator('.heap-recorded-chart');
  await view.locator('.heap-recorded-legend', { hasText: 'Freed since' }).waitFor();
  await vscode.screenshot('record-open');
  await chart.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+PageDown');
  const words = view.locator('.heap-recorded-head [role=status]');
  await words.filter({ hasText: /^0 s to 1\.1 s: .* still alive, .* freed$/ }).waitFor();
  const { objects } = await vscode.memlens('types', file, '--since', '0', '--until', '1.1');
  assert.ok(objects > 0 && (await words.innerText()).includes(` in ${objects} objects still alive`));
  const filter = view.locator('.filter-input');
  assert.equal(await filter.inputValue(), 'since:0 until:1.1');
  await vscode.screenshot('record-range');
  await chart.focus();
  await page.keyboard.press('Escape');
  await words.filter({ hasText: /^$/ }).waitFor({ state: 'attached' });
  assert.equal(await filter.inputValue(), '');
});

/**
 * Writes a copy of a recording in which the sessions were allocated by a function. V8 loses the stacks of objects that its
 * collector moves, and on a busy machine at times of all.
 */
function writeWithStacks(file, to, name) {
  const dump = JSON.parse(readFileSync(file, 'utf8'));
  const { strings, nodes, trace_function_infos: functions, snapshot } = dump;
  const { node_fields: fields, node_types: types, trace_function_info_fields: ofFunction } = snapshot.meta;
  /** The number of the function's stack; each has its number, its function, two figures and its callees. */
  const stackIn = (tree) => {
    for (let at = 0; at < tree.length; at += 5) {
      const isIt = strings[functions[tree[at + 1] * ofFunction.length + ofFunction.indexOf('name')]] === name;
      const found = isIt ? tree[at] : stackIn(tree[at + 4]);
      if (found) return found;
    }
    return undefined;
  };
  const stack = stackIn(dump.trace_tree);
  assert.ok(stack, `${name} has a stack`);
  const [type, of, by] = ['type', 'name', 'trace_node_id'].map((field) => fields.indexOf(field));
  for (let at = 0; at < nodes.length; at += fields.length)
    if (types[type][nodes[at + type]] === 'object' && strings[nodes[at + of]] === 'Session')
      nodes[at + by] = stack;
  writeFileSync(to, JSON.stringify(dump));
}

test('a box of allocation stacks leads to the objects that it allocated', async () => {
  const { page } = vscode;
  const file = 'stacks.heaptimeline';
  writeWithStacks(path.join(vscode.folder, RECORDED), path.join(vscode.folder, file), 'visit');
  await vscode.openFile(file);
  const view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await view.pane('Allocation stacks');
  const stacks = () => view.frame.evaluate(() => window.memlensStacks?.boxes() ?? []);
  await until(async () => (await stacks()).some(({ name }) => name === 'visit'), 'boxes are there');
  await boxesStandStill(view, stacks);
  const box = (await stacks()).find(({ name }) => name === 'visit');
  const surface = await view.locator('[id=pane-flame] .flame-surface').boundingBox();
  await page.mouse.click(surface.x + box.x + box.width / 2, surface.y + box.y + box.height / 2);
  const details = view.locator('[id=pane-flame] .flame-details');
  await details.locator('h3', { hasText: 'visit' }).waitFor();
  const [, inBox] = /in ([\d,]+) objects/.exec(await details.innerText());
  assert.ok(Number(inBox) >= SESSIONS, `${inBox} objects`);
  await vscode.screenshot('record-stacks');
  await page.keyboard.press('o');
  await view.locator('.filter-badge', { hasText: `${inBox} of` }).waitFor();
  assert.match(await view.locator('.filter-input').inputValue(), /^stack:/);
});
