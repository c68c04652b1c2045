// What the page must not do, whatever names a snapshot contains: run foreign scripts, or access the network. And
// names must be shown as text, in the page and in VS Code's own hovers; tests/views/hostile.test.ts looks at every pane.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { HOSTILE, HOSTILE_FILE as SOURCE, LINK, MARKUP, named, namedProfile } from './snapshots.mjs';
import { networkSockets } from './sockets.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'hostile <evil-tag> [quit](x).pickle';
const PROFILE = 'hostile <evil-tag> [quit](x).pprof';
const LINKED = 'linked.pprof';
const JAVA = "java [quit](command:workbench.action.quit 'quit') $(alert) {project} %s.hprof";
const DEFINED = 'defined.heapsnapshot';
/** What VS Code shows as a link in its own windows. */
const LINKED_SOURCE = '[/srv/app/main.go](command:workbench.action.closeActiveEditor "Open main.go")';

let vscode;
let view;
let watching;
/** Network sockets of the extension's process and of those that it started, but for VS Code's own to the browser. */
const foreign = [];

const served = () => Number(vscode.host.server.authority.split(':')[1]);

function lookAtSockets() {
  for (const words of ['--type=extensionHost', '-m memlens'])
    for (const pid of vscode.processes(words))
      for (const socket of networkSockets(pid))
        if (![socket.local, socket.remote].includes(served())) foreign.push({ words, ...socket });
}

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      writeFileSync(path.join(folder, SOURCE), 'run_everything()\nallocate_something()\n');
      writeFileSync(path.join(folder, FILE), named(HOSTILE, SOURCE));
      writeFileSync(path.join(folder, PROFILE), namedProfile(HOSTILE, SOURCE));
      writeFileSync(path.join(folder, LINKED), namedProfile('main.run', LINKED_SOURCE));
      execFileSync(venvProgram('python'), ['-m', 'tests.e2e.hostile', folder], { cwd: ROOT });
    },
  });
  watching = setInterval(lookAtSockets, 500);
  view = await SnapshotView.opened(vscode, 'train.pickle');
});
test.afterAll(() => {
  clearInterval(watching);
  return vscode?.close();
});

test('scripts, styles, images, frames and connections from elsewhere are refused', async () => {
  const policy = [
    'script-src-elem',
    'script-src-attr',
    'script-src',
    'img-src',
    'frame-src',
    'connect-src',
    'object-src',
  ];
  const failures = [];
  vscode.page.on('requestfailed', (request) => {
    if (request.url().includes('elsewhere.invalid')) failures.push(request.failure()?.errorText);
  });
  const refused = await view.frame.evaluate(async (expected) => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
    const put = (tag, properties) => {
      const made = Object.assign(document.createElement(tag), properties);
      document.body.append(made);
      return made;
    };
    const elsewhere = 'https://elsewhere.invalid/';
    const added = [
      put('script', { textContent: 'window.ran = 1' }),
      put('script', { src: `${elsewhere}a.js` }),
      put('img', { src: `${elsewhere}a.png` }),
      put('iframe', { src: elsewhere }),
      put('object', { data: elsewhere }),
    ];
    const span = put('span', {});
    // As if a name had been interpreted as HTML.
    span.innerHTML = '<b onclick="window.ran = 2">x</b><svg onload="window.ran = 3"></svg>';
    span.firstElementChild.click();
    const tried = [];
    const attempt = async (name, run) => {
      try {
        await run();
        tried.push(name);
      } catch {
        // refused
      }
    };
    // Code that a debugger evaluates may do more than the page, so this runs in a task of the page.
    await new Promise((resolve) => setTimeout(resolve));
    await attempt('eval', () => (0, eval)('window.ran = 4'));
    await attempt('Function', () => new Function('window.ran = 5')());
    await attempt('fetch', () => fetch(elsewhere));
    await attempt('import', () => import(`${elsewhere}m.js`));
    await attempt('beacon', () => {
      if (!window.navigator.sendBeacon(elsewhere)) throw new Error('refused');
    });
    await attempt(
      'worker',
      () => new window.Worker(URL.createObjectURL(new window.Blob(['postMessage(1)']))),
    );
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    // A frame is refused by another process, which reports it when it gets to it.
    for (let times = 0; times < 300 && !expected.every((each) => seen.includes(each)); times++)
      await pause(100);
    await pause(300); // for what should not run
    for (const element of [...added, span]) element.remove();
    return { seen: [...new Set(seen)], tried, ran: window.ran ?? null };
  }, policy);
  assert.equal(refused.ran, null, 'nothing ran');
  for (const directive of policy)
    assert.ok(refused.seen.includes(directive), `${directive}: ${refused.seen}`);
  // By the policy, before they were sent: the host doesn't exist either.
  await until(() => failures.length > 0, 'the browser reports the requests that were refused');
  assert.deepEqual([...new Set(failures)], ['csp']);
  // A beacon or a worker may be refused without an exception; the policy's report is what counts.
  assert.deepEqual(
    refused.tried.filter((name) => !['beacon', 'worker'].includes(name)),
    [],
  );
});

/** Everything other than text that a document made from hostile names. */
const made = () => {
  const markup = ['evil-tag', 'img[src=x]', '[onerror]', 'a[href*=quit]'];
  // Memlens' own links have the name of the file that they open.
  markup.push('a[data-href*=quit]:not([data-href^="command:memlens."])');
  const elements = document.querySelectorAll(markup.join(',')).length;
  const scripts = [...document.scripts].filter(({ textContent }) => textContent.includes('ran=1')).length;
  return { elements, scripts, ran: window.ran ?? null };
};
const NOTHING = { elements: 0, scripts: 0, ran: null };

async function onlyText(where) {
  await view.settled();
  assert.deepEqual(await view.frame.evaluate(made), NOTHING, where);
  assert.deepEqual(await vscode.page.evaluate(made), NOTHING, `the workbench, at ${where}`);
  const unseen = await view.frame.evaluate(() => {
    const texts = [document.body.innerText];
    for (const each of document.querySelectorAll('[title], [aria-label]'))
      texts.push(each.title, each.getAttribute('aria-label') ?? '');
    // control characters except line ends and tabs, and those that change the direction of text
    return texts.filter((text) => /(?![\n\r\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u.test(text));
  });
  assert.deepEqual(unseen, [], where);
}

/** Waits until an element of the view shows markup as text. */
const shows = (selector) =>
  view
    .locator(selector)
    .filter({ hasText: /<evil-tag>/ })
    .first()
    .waitFor();

test('names are text in the lanes, in the legend, in a tooltip of the picture, and in the panel', async () => {
  await vscode.openFile(FILE);
  view = await SnapshotView.visible(vscode);
  await shows('.lanes');
  await onlyText('the lanes');
  await vscode.screenshot('hostile-annotation');
  await view.command('group.category');
  await shows('.area-legend');
  await onlyText('the categories');
  await vscode.screenshot('hostile-category');
  await view.command('group.none');

  await view.unfolded();
  const allocation = await view.tallestAtTheMiddle();
  await view.pointAt(allocation);
  await shows('.tooltip');
  await onlyText('the tooltip');
  await view.click(allocation);
  await view.selected(allocation);
  await shows('.panel .frame');
  await onlyText('the panel');
  await vscode.screenshot('hostile-names');
});

test('names are text in the hover of their line, which has only links of Memlens itself', async () => {
  await view.press('Escape');
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  await view.locator('.panel .frame button', { hasText: /:2$/ }).first().click();
  await vscode.atLine(SOURCE, 2);
  const text = await vscode.hoverText('allocate_something', { expecting: /what this line allocated/ });
  assert.ok(text.includes(FILE), text);
  assert.ok(text.includes(MARKUP) && text.includes(LINK), text);
  assert.doesNotMatch(text, /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
  const links = await vscode.page
    .locator('.monaco-hover:visible a')
    .evaluateAll((all) => all.map((link) => link.dataset.href ?? link.getAttribute('href') ?? ''));
  assert.ok(links.length > 0);
  for (const link of links) assert.match(link, /^(command:memlens\.(showLine|goToLine)\?.*)?$/);
  await onlyText('the hover');
  await vscode.screenshot('hostile-hover');
});

test('names are text in a tooltip of a profile, in its details, and in the hover of its line', async () => {
  await vscode.execute('workbench.action.closeAllEditors');
  await vscode.openFile(PROFILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
  const boxes = () => view.frame.evaluate(() => window.memlensFlame?.boxes() ?? []);
  await until(async () => (await boxes()).length > 2, 'the flame graph');
  await onlyText('a profile');
  const place = async () => {
    await view.settled();
    const box = (await boxes()).find(({ name }) => name.startsWith('<evil-tag>'));
    const flame = await view.locator('.flame-surface').boundingBox();
    return [flame.x + box.x + box.width / 2, flame.y + box.y + box.height / 2];
  };
  await vscode.page.mouse.move(...(await place()));
  await shows('.flame .tooltip');
  await vscode.page.mouse.click(...(await place()));
  await shows('.flame-details');
  await onlyText('a box of a profile');
  await vscode.screenshot('hostile-profile');

  await vscode.page.keyboard.down('Control');
  await vscode.page.mouse.click(...(await place()));
  await vscode.page.keyboard.up('Control');
  await vscode.atLine(SOURCE, 1);
  const text = await vscode.hoverText('run_everything', { expecting: /what this line has/ });
  assert.ok(text.includes(PROFILE) && text.includes(MARKUP) && text.includes(LINK), text);
  const links = await vscode.page
    .locator('.monaco-hover:visible a')
    .evaluateAll((all) => all.map((link) => link.dataset.href ?? link.getAttribute('href') ?? ''));
  for (const link of links) assert.match(link, /^(command:memlens\.(showLine|goToLine)\?.*)?$/);
  await onlyText('the hover of a profile');
});

test('a file named as a link is no link in the notification that it was not found', async () => {
  await vscode.execute('workbench.action.closeAllEditors');
  await vscode.openFile(LINKED);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
  await view.locator('.headline button', { hasText: 'main.go' }).first().click();
  const notification = await vscode.notification('was not found');
  assert.match(await notification.innerText(), /\[\/srv\/app\/main\.go\]/);
  assert.equal(await notification.locator('.notification-list-item-message a').count(), 0);
  await vscode.screenshot('hostile-notification');
  await vscode.execute('notifications.clearAll');
});

/** Names in the details that end outside of them, without an ellipsis. */
const cutOff = () =>
  [...document.querySelectorAll('.panel bdi, .panel dd, .panel pre')]
    .filter((each) => {
      const panel = each.closest('.panel');
      if (each.getBoundingClientRect().right <= panel.getBoundingClientRect().right + 1) return false;
      for (let part = each; part !== panel; part = part.parentElement)
        if (getComputedStyle(part).textOverflow === 'ellipsis') return false;
      return true;
    })
    .map((each) => each.textContent.slice(0, 80));

for (const [file, type] of [
  [JAVA, 'java.lang.Thread'],
  [DEFINED, 'quit'],
])
  test(`names are text in ${file}, in its menus and details`, async () => {
    await vscode.execute('workbench.action.closeAllEditors');
    await vscode.openFile(file);
    view = new SnapshotView(vscode, await vscode.webview());
    await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
    await onlyText(`the first screen of ${file}`);
    const name = `hostile-${path.extname(file).slice(1)}`;
    await vscode.screenshot(name);
    const row = view.locator('.dock .grid-row', { hasText: type }).first();
    await row.click({ button: 'right' });
    await view.locator('.menu').waitFor();
    await onlyText('the menu of a type');
    await vscode.screenshot(`${name}-menu`);
    await vscode.page.keyboard.press('Escape');
    await row.click();
    await view.locator('.heap-details .panel-name').waitFor();
    await onlyText('the details of a type');
    assert.deepEqual(await view.frame.evaluate(cutOff), []);
    // tests/views/hostile.test.ts reads every pane of both; here is what long names do to a layout
    for (const pane of file === JAVA ? await view.panes() : []) {
      await view.pane(pane);
      const first = view.locator('.dock .grid-row:visible').nth(3);
      if (!(await first.count())) continue;
      await first.click();
      await view.settled();
      assert.deepEqual(await view.frame.evaluate(cutOff), [], pane);
      await vscode.screenshot(`${name}-${pane.replace(/\W/g, '')}`);
    }
  });

/** The targets of the links in the hover that is shown. */
const linksOfHover = () =>
  vscode.page
    .locator('.monaco-hover:visible a')
    .evaluateAll((all) => all.map((link) => link.dataset.href ?? link.getAttribute('href') ?? ''));

test('a type is text in the hover of the line that defines it', async () => {
  await vscode.openFile('app.vue');
  for (const [word, part] of [
    ['C0', '[quit](command:workbench.action.quit'],
    ['C1', '<evil-tag><img src=x'],
    ['C3', 'gnp.exe'],
  ]) {
    const text = await vscode.hoverText(word, { expecting: /instances of the type/ });
    assert.ok(text.includes(part), text);
    assert.doesNotMatch(text, /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
    for (const link of await linksOfHover()) assert.match(link, /^command:memlens\.showLine\?/);
    await vscode.screenshot(`hostile-type-${word}`);
    await vscode.page.keyboard.press('Escape');
  }
});

test('a snapshot of a fleet is text in its map, in the notification that it is not there, and in hovers', async () => {
  await vscode.openFile('named.fleet/memlens-fleet.db');
  const fleet = await vscode.webview();
  const map = fleet.locator('.fleet-scroll[data-drawn]');
  await map.waitFor();
  view = new SnapshotView(vscode, fleet);
  const status = fleet.locator('.fleet [role=status]');
  await map.press('ArrowDown');
  for (const part of ['| a | b |', 'algo', 'NNN', '[link](file:', 'javascript:']) {
    await status.filter({ hasText: part }).waitFor();
    await onlyText(`the fleet's ${part}`);
    await map.press('ArrowDown');
  }
  const { x, y, width } = await map.boundingBox();
  await vscode.page.mouse.move(x + width / 2, y + 50);
  const tip = fleet.locator('.tooltip', { hasText: 'NNN' });
  await tip.waitFor();
  const sticksOut = (all) =>
    all.querySelector('strong').getBoundingClientRect().right > all.getBoundingClientRect().right;
  assert.equal(await tip.evaluate(sticksOut), false);
  await vscode.screenshot('hostile-fleet');
  for (let row = 0; row < 5; row++) await map.press('ArrowDown');
  await status.filter({ hasText: '[quit](command:' }).waitFor();
  await map.press('Enter');
  const notification = await vscode.notification('is not on this machine');
  assert.match(await notification.innerText(), /\[quit\]/);
  assert.equal(await notification.locator('.notification-list-item-message a').count(), 0);
  await vscode.screenshot('hostile-fleet-notification');
  await vscode.execute('notifications.clearAll');
  await vscode.openFile('fleet.py');
  for (const [word, part] of [
    ['allocate_0', '[quit](command:workbench.action.quit "quit")0.pickle'],
    ['allocate_1', '<evil-tag><img src=x'],
  ]) {
    const text = await vscode.hoverText(word, { expecting: /the most over 11 ranks/ });
    assert.ok(text.includes(part), text);
    for (const link of await linksOfHover()) assert.match(link, /^command:memlens\.openRank\?/);
    await vscode.screenshot(`hostile-fleet-${word}`);
    await vscode.page.keyboard.press('Escape');
  }
});

test('the console has no errors, and nothing left this machine', () => {
  const own = vscode.consoleErrors.filter(
    (error) => !/elsewhere\.invalid|Content Security Policy|is not on this machine/.test(error),
  );
  assert.deepEqual(own, []);
  lookAtSockets();
  assert.deepEqual(foreign, []);
  const browsers = vscode
    .processes('')
    .flatMap(networkSockets)
    .filter(({ local }) => local === served());
  assert.ok(browsers.length > 0, 'sockets are seen where there are any');
});
