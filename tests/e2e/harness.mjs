// A real VS Code in a real browser for the end-to-end tests: VS Code's server with this checkout as its development
// extension, over a temporary copy of a workspace, shown in headless Chromium and driven by Playwright.
//
//   const vscode = await openVSCode();            // over a copy of samples/
//   await vscode.openFile('train.pickle');
//   const view = await vscode.webview();          // a Playwright frame: locators, evaluate
//   ...
//   await vscode.close();
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inflateSync } from 'node:zlib';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { hostOf } from './host.mjs';
import { hasFailed, noteFailures, runningFile, runsAlone } from './lane.mjs';
import { commandsIn, isOpen, settledIn } from './settled.mjs';

export { ROOT };
export const SCREENSHOTS = path.join(ROOT, 'tests', 'e2e', 'screenshots');

/** Generous: the machine may have two busy cores. */
export const TIMEOUT_MS = 60_000;

/** VS Code's own themes by name; the file of each, which the workbench has as a class, and the class of webviews. */
const THEMES = {
  light: { name: 'Light Modern', file: 'light_modern', kind: 'vscode-light' },
  dark: { name: 'Dark Modern', file: 'dark_modern', kind: 'vscode-dark' },
  hc: { name: 'Default High Contrast', file: 'hc_black', kind: 'vscode-high-contrast' },
  'hc-light': {
    name: 'Default High Contrast Light',
    file: 'hc_light',
    kind: 'vscode-high-contrast-light',
  },
};

/** Commands that are passed on to the active view, by what the palette calls them. */
const VIEW_COMMANDS = viewCommands();

if (runsAlone()) noteFailures();

const OWN_SCHEMES = /^(data|blob|vscode-[\w-]+|about):/;
/** Not a host on the network: the webview's service worker answers these from the extension's folder. */
const WEBVIEW_RESOURCE = /^https:\/\/[^/]+\.vscode-resource\.vscode-cdn\.net\//;

/** What the workbench itself writes to the console as errors in a browser without a network. */
const WORKBENCH_NOISE = [
  /open-vsx/,
  /marketplace/i,
  /authentication provider/i,
  /\[Service ?Worker\]/i,
  /Long running operations during shutdown/,
  /Error while loading (the )?(account|default account)/i,
  // The npm package leaves these out.
  /favicon/,
  /\/vsda/,
  /bad HTTP response code \(404\) was received when fetching the script/,
  /\/update\/check/,
  /vscode\.github-authentication/,
  // Its own, where a save took long on a busy machine; nothing here takes part in saving.
  /Aborted onWillSaveTextDocument-event/,
  // Its own, when the window is loaded again while it reads a workspace's settings.
  /Unable to read file 'vscode-remote:.*\.vscode\/\w+\.json' \(Canceled: Canceled\)/,
  // Its own log, when the window is reloaded while it writes.
  /vscode-log:.*IndexedDB database 'vscode-web-db' is closed/,
];

/**
 * @param {{workspace?: string, settings?: object, theme?: keyof typeof THEMES,
 *   viewport?: {width: number, height: number}, flags?: string[], motion?: boolean,
 *   prepare?: (folder: string) => void}} [options]
 *   workspace: a folder to copy. settings: the workspace's. flags: more of Chromium's. motion: pictures glide, where the
 *   person wants reduced motion otherwise, which costs less to draw. prepare: changes the copy before it is opened.
 */
export async function openVSCode(options = {}) {
  const { workspace = path.join(ROOT, 'samples'), settings = {}, theme = 'dark', flags = [] } = options;
  const temporary = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-')));
  const folder = path.join(temporary, path.basename(workspace));
  cpSync(workspace, folder, { recursive: true });
  options.prepare?.(folder);

  // Archives of earlier runs stay out of it.
  const cache = path.join(temporary, 'cache');
  const vscode = new VSCode(folder, cache, theme);
  let host;
  vscode.close = async () => {
    if (hasFailed()) await vscode.pictureOfFailure();
    await host?.close(vscode.page);
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    vscode.writeSettings({
      'editor.minimap.enabled': false,
      ...settings,
    });
    host = await hostOf({ settings: { 'memlens.cache.directory': cache }, flags });
    const { viewport = { width: 1400, height: 900 }, motion = false } = options;
    await vscode.start(host, viewport, motion);
    return vscode;
  } catch (error) {
    await vscode.pictureOfFailure();
    await vscode.close();
    throw error;
  }
}

/** One window. Every method waits for what it promises, and fails with what it waited for. */
class VSCode {
  /** Requests that left this machine's own server: there must be none. */
  foreignRequests = [];
  /** Errors on the console of the page and of its webviews, without the workbench's own noise. */
  consoleErrors = [];

  constructor(folder, cache, theme) {
    this.folder = folder;
    this.theme = theme;
    /** Where the server under test keeps its archives. */
    this.cache = cache;
  }

  async start(host, viewport, motion) {
    this.host = host;
    this.page = await host.newPage(viewport);
    await this.page.emulateMedia({ reducedMotion: motion ? 'no-preference' : 'reduce' });
    this.page.setDefaultTimeout(TIMEOUT_MS);
    this.#listen();
    await this.page.goto(host.server.page({ folder: this.folder }));
    await this.#loaded();
  }

  /**
   * Loads the window again by VS Code's command, which stores its editors first. (By itself VS Code in a browser does
   * so every few seconds when it is idle, which a busy machine isn't.)
   */
  async reload() {
    this.writeSettings({ 'workbench.colorTheme': undefined });
    await this.settled();
    await Promise.all([this.page.waitForEvent('load'), this.runCommand('Developer: Reload Window')]);
    await this.#loaded();
  }

  /** Hides a view behind another editor and shows it again: it is made anew of what it had VS Code keep. */
  async hideAndShow(name) {
    await this.settled();
    await this.openFile('README.md');
    await this.page.locator('iframe.webview').first().waitFor({ state: 'hidden' });
    await this.tab(name).click();
  }

  /** Gives the window another size; what is in it has taken its place then. */
  async resize(width, height) {
    await this.page.setViewportSize({ width, height });
    await this.page.waitForFunction(
      (wanted) => {
        const shown = document.querySelector('.monaco-workbench').getBoundingClientRect();
        return shown.width === wanted.width && shown.height === wanted.height;
      },
      { width, height },
    );
    await this.settled();
  }

  /** Waits until each view on the screen that is open has settled, and so has given VS Code its state. */
  async settled() {
    const views = await this.#visible().count();
    for (let index = 0; index < views; index++) {
      const frame = await this.webview(index);
      if (await isOpen(frame)) await settledIn(frame);
    }
  }

  #visible() {
    return this.page.locator('iframe.webview.ready:visible');
  }

  async #loaded() {
    await this.page.locator('.explorer-folders-view .monaco-list-row').first().waitFor();
    await this.#extensionKnown();
    // Not before: a theme that stands in the settings while VS Code starts is missed, and so is writing it again.
    await this.setTheme(this.theme);
  }

  #listen() {
    const own = `http://${this.host.server.authority}`;
    this.page.on('request', (request) => {
      const url = request.url();
      if (url.startsWith(own) || OWN_SCHEMES.test(url) || WEBVIEW_RESOURCE.test(url)) return;
      this.foreignRequests.push(url);
    });
    const note = (text) => {
      if (!WORKBENCH_NOISE.some((noise) => noise.test(text))) this.consoleErrors.push(text);
    };
    this.page.on('console', (message) => {
      if (message.type() === 'error') note(`${message.text()} (${message.location().url})`);
    });
    this.page.on('pageerror', (error) => note(error.stack ?? String(error)));
  }

  /** Until the workbench knows the extension's contributions, a snapshot would open as text. */
  async #extensionKnown() {
    // To ask the palette costs much more.
    await this.page.waitForFunction(
      () => performance.getEntriesByName('code/didLoadExtensions').length > 0,
      undefined,
      { polling: 100 },
    );
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Memlens:' }).first();
    const until = Date.now() + TIMEOUT_MS;
    for (;;) {
      await this.#palette('>Memlens: ');
      const known = await came(row.waitFor({ timeout: 500 }));
      await this.page.keyboard.press('Escape');
      await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
      if (known) return;
      if (Date.now() > until) throw new Error('VS Code never learnt the commands of the extension.');
    }
  }

  async #palette(text) {
    const input = this.page.locator('.quick-input-widget .quick-input-box input');
    // A webview that is drawn anew at this moment may swallow the key, or take the focus and so close the palette.
    for (let attempt = 0; ; attempt++) {
      await this.page.keyboard.press('F1');
      if (await came(input.fill(text, { timeout: 3000 }))) return;
      if (attempt === 10) throw new Error('The palette never came.');
    }
  }

  /** Opens a link to the extension as the system would, which VS Code asks about. */
  async openLink(link) {
    await this.#palette('>Developer: Open URL');
    await this.page.keyboard.press('Enter');
    const input = this.page.locator('.quick-input-widget input[type=text]');
    await this.page.locator('.quick-input-widget .quick-input-list').waitFor({ state: 'hidden' });
    await input.fill(link);
    await this.page.keyboard.press('Enter');
    await this.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Open' }).click();
  }

  /** Runs a command by its title, as a person would: `runCommand('Memlens: Go to the Peak')`. */
  async runCommand(title) {
    // A longer title with the same words may stand above it.
    const row = this.page.locator('.quick-input-list .monaco-list-row', {
      has: this.page.locator('.label-name').getByText(title, { exact: true }),
    });
    const listed = () => came(row.first().waitFor({ timeout: 5000 }));
    // An open palette doesn't learn that a command is enabled again, as after a file was read again.
    for (let attempt = 0; ; attempt++) {
      await this.#palette(`>${title}`);
      if (await listed()) break;
      if (attempt === 10) throw new Error(`The palette doesn't have "${title}".`);
      await this.page.keyboard.press('Escape');
    }
    for (let rows = 0; !(await row.and(this.page.locator('.focused')).count()); rows++) {
      if (rows === 50) throw new Error(`The palette has no way to "${title}".`);
      await this.page.keyboard.press('ArrowDown');
    }
    const commands = await commandsIn(this.page);
    await this.page.keyboard.press('Enter');
    // The command itself may ask for something in the same widget, as VS Code's dialogs for files do.
    await this.page.waitForFunction(
      () =>
        !document
          .querySelector('.quick-input-widget:not([style*="display: none"]) input')
          ?.value.startsWith('>'),
    );
    if (VIEW_COMMANDS.has(title)) await this.#arrived(title, commands);
  }

  /** Waits until a view has got a command; `before` has those that each had got already. */
  async #arrived(title, before) {
    const until = Date.now() + TIMEOUT_MS;
    for (;;) {
      const now = await commandsIn(this.page);
      if ([...now].some(([frame, count]) => count > (before.get(frame) ?? 0))) return;
      if (Date.now() > until) throw new Error(`No view got "${title}".`);
      await this.page.waitForTimeout(20);
    }
  }

  /** The titles that the palette offers for some words. */
  async offered(words) {
    await this.#palette(`>${words}`);
    await this.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
    const titles = await this.page.locator('.quick-input-list .label-name').allInnerTexts();
    await this.page.keyboard.press('Escape');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
    return titles;
  }

  /**
   * Accepts a path in VS Code's dialog for files, once that offers one.
   * @param {RegExp} offered what the dialog offers first
   * @param {string} [file] the path to enter instead of it
   */
  async choosePath(offered, file) {
    const widget = this.page.locator('.quick-input-widget');
    const input = widget.locator('.quick-input-box input');
    for (;;) {
      await input.waitFor();
      if (offered.test(await input.inputValue())) break;
      await this.page.waitForTimeout(50);
    }
    const closed = () => came(widget.waitFor({ state: 'hidden', timeout: 2000 }));
    // While it lists a folder, the dialog ignores the key and may put that folder before what was entered.
    for (let attempt = 0; ; attempt++) {
      if (attempt > 10) throw new Error(`The dialog never accepted ${file ?? offered}.`);
      if (file) {
        await input.fill(file, { timeout: 2000 }).catch(() => undefined);
        await this.page.waitForTimeout(200);
        if (!(await input.inputValue({ timeout: 2000 }).catch(() => file)).startsWith(file)) continue;
      }
      await input.press('Enter', { timeout: 2000 }).catch(() => undefined);
      if (await closed()) return;
    }
  }

  /** Opens a file of the workspace by its path in it, through quick open, in the active group. */
  async openFile(name) {
    const base = path.posix.basename(name);
    const left = (await this.activeFile()) === base ? [] : await this.#viewsOfActiveGroup();
    await this.#palette(name);
    const row = this.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: base });
    await row.waitFor();
    await this.page.keyboard.press('Enter');
    await this.page
      .locator('.editor-group-container.active .tab.active', { hasText: base })
      .first()
      .waitFor();
    // The tab is there before its editor; until then the view of the former one is on the screen.
    for (const view of left) await this.page.locator(`iframe[name="${view}"]`).waitFor({ state: 'hidden' });
  }

  /** The names of the webviews' frames that lie over the active group. */
  #viewsOfActiveGroup() {
    return this.page.evaluate(() => {
      const group = document.querySelector('.editor-group-container.active')?.getBoundingClientRect();
      if (!group) return [];
      return [...document.querySelectorAll('iframe.webview')]
        .filter((frame) => {
          const { x, y, width, height } = frame.getBoundingClientRect();
          const [across, down] = [x + width / 2, y + height / 2];
          const shown = width > 0 && getComputedStyle(frame).visibility === 'visible';
          return (
            shown && across > group.left && across < group.right && down > group.top && down < group.bottom
          );
        })
        .map((frame) => frame.name);
    });
  }

  /** The tabs of a file, whether they are active or not. */
  tab(name) {
    return this.page.locator('.tabs-container .tab', { hasText: name });
  }

  /** The name on the active tab of the active group; undefined where none is open. */
  async activeFile() {
    const selector = '.editor-group-container.active .tab.active';
    return await this.page.evaluate(
      (tab) => document.querySelector(tab)?.getAttribute('data-resource-name') ?? undefined,
      selector,
    );
  }

  /** The number of the line that the cursor is on in the visible text editor. */
  async activeLine() {
    const number = this.page.locator('.editor-instance .line-numbers.active-line-number').first();
    await number.waitFor();
    return Number(await number.textContent());
  }

  /** Waits until a file's tab is the active one of the active group and the cursor is on a line of it. */
  async atLine(name, line, timeoutMs = TIMEOUT_MS) {
    const until = Date.now() + timeoutMs;
    const group = this.page.locator('.editor-group-container.active');
    let seen;
    do {
      const number = group.locator('.editor-instance .line-numbers.active-line-number').first();
      const where = (await number.count()) ? Number(await number.textContent()) : undefined;
      seen = `${await this.activeFile()}:${where}`;
      if (seen === `${name}:${line}`) return;
      await this.page.waitForTimeout(100);
    } while (Date.now() < until);
    throw new Error(`The cursor should be at ${name}:${line}; it is at ${seen}.`);
  }

  /**
   * The text of the hover over some text of the visible text editor.
   * @param {string} word a word, or some words of one line
   * @param {{line?: string, expecting?: RegExp}} [options] line: some other text of the same line, where the word
   *   occurs more than once; expecting: waits for a hover that matches, since other extensions give hovers too
   */
  async hoverText(word, { line = word, expecting = /./ } = {}) {
    const row = this.page.locator('.editor-instance .view-line', { hasText: line }).first();
    await row.waitFor();
    const hover = this.page.locator('.monaco-hover:visible');
    for (let attempt = 0; attempt < 8; attempt++) {
      await this.page.mouse.move(5, 5);
      await this.#moveTo(row, word);
      try {
        // pointing elsewhere gives a hover up: a machine that is slow to answer gets longer each time
        await hover
          .filter({ hasText: expecting })
          .first()
          .waitFor({ timeout: 2500 * (attempt + 1) });
        return await hover.filter({ hasText: expecting }).first().innerText();
      } catch {
        // the line was scrolled or drawn again under the pointer: point at it again
      }
    }
    throw new Error(`No hover like ${expecting} came over "${word}".`);
  }

  /** Points at the middle of some text of a line, which is drawn in runs of one colour, each its own element. */
  async #moveTo(row, text) {
    const place = await row.evaluate((element, wanted) => {
      const nodes = [];
      const walker = document.createTreeWalker(element, 4 /* text nodes */);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) nodes.push(node);
      const whole = nodes.map((node) => node.data.replaceAll('\u00a0', ' ')).join('');
      const start = whole.indexOf(wanted);
      if (start < 0) return undefined;
      let middle = start + Math.floor(wanted.length / 2);
      for (const node of nodes) {
        if (middle < node.length) {
          const range = document.createRange();
          range.setStart(node, middle);
          range.setEnd(node, middle + 1);
          const { x, y, width, height } = range.getBoundingClientRect();
          return { x: x + width / 2, y: y + height / 2 };
        }
        middle -= node.length;
      }
      return undefined;
    }, text);
    if (!place) throw new Error(`"${text}" is not in the line.`);
    await this.page.mouse.move(place.x, place.y, { steps: 3 });
  }

  /**
   * The inside of a visible webview, once its document has loaded; the first one, or the one at an index.
   * @returns {Promise<import('playwright-core').Frame>}
   */
  async webview(index = 0) {
    const outer = await this.#visible().nth(index).elementHandle();
    const content = await outer.contentFrame();
    const inner = await content.waitForSelector('iframe#active-frame', { state: 'attached' });
    const frame = await inner.contentFrame();
    // A handle keeps its element, and all that hangs on it, alive in the page.
    await Promise.all([outer.dispose(), inner.dispose()]);
    await frame.waitForLoadState();
    return frame;
  }

  /** Switches VS Code's colours, and waits until the workbench and the views on the screen are drawn in them. */
  async setTheme(theme) {
    this.theme = theme;
    await this.#colour(THEMES[theme]);
    const views = await this.#visible().count();
    for (let index = 0; index < views; index++) {
      const frame = await this.webview(index);
      await frame.waitForFunction((kind) => {
        const { classList: names } = document.body;
        // That of light high contrast has the class of the dark one, too.
        return names.contains(kind) && names.contains(`${kind}-light`) === false;
      }, THEMES[theme].kind);
      if (await isOpen(frame)) await settledIn(frame);
    }
  }

  async #colour({ name, file }) {
    const colours = this.page.locator(`.monaco-workbench.vscode-theme-defaults-themes-${file}-json`);
    const shown = (timeout) => came(colours.waitFor({ timeout }));
    if (await colours.count()) return;
    for (let attempt = 0; ; attempt++) {
      this.writeSettings({ 'workbench.colorTheme': name });
      if (await shown(3000)) break;
      if (attempt === 10) throw new Error(`VS Code never took the theme "${name}".`);
      // It missed that: only another change makes it look again.
      this.writeSettings({ 'workbench.colorTheme': 'Red' });
      await this.page.waitForTimeout(500);
    }
  }

  /** Adds to the settings of the workspace's copy. */
  writeSettings(settings) {
    const file = path.join(this.folder, '.vscode', 'settings.json');
    let current = {};
    try {
      current = JSON.parse(readFileSync(file, 'utf8'));
    } catch {
      // none yet
    }
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ ...current, ...settings }, null, 2));
  }

  /**
   * A picture of the window in tests/e2e/screenshots/NAME.png. It is for people to look at, so that it is left out where
   * all files are run, unless it is wanted.
   */
  async screenshot(name, wanted = runsAlone()) {
    if (!wanted) return;
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) });
  }

  /** What a failed test ended on, in tests/e2e/screenshots/last-FILE.png. */
  async pictureOfFailure() {
    await this.screenshot(`last-${runningFile()}`, true).catch(() => undefined);
  }

  /** The colour of the window at a point, as a person would see it: [red, green, blue]. */
  async screenPixel(x, y) {
    const clip = { x: Math.floor(x), y: Math.floor(y), width: 1, height: 1 };
    return pngPixel(await this.page.screenshot({ clip }));
  }

  /** What `memlens ARGUMENTS --json` prints, with archives of its own. */
  async memlens(...args) {
    const own = path.join(path.dirname(this.folder), 'cache-of-the-command-line');
    const all = [...args.map(String), '--json', '--cache-dir', own];
    return JSON.parse(await this.host.commandLine.run(all, this.folder));
  }

  /** The lines that `memlens lines FILE --json` prints. */
  async lines(file) {
    return (await this.memlens('lines', file)).lines;
  }

  /**
   * What a page's process holds once its garbage is collected: documents, DOM nodes (those that are in no document
   * included), listeners and the megabytes of its scripts' heap. Webviews are in the workbench's process.
   */
  async held() {
    const session = await this.page.context().newCDPSession(this.page);
    try {
      // What was logged can be looked at in a debugger's console, and so is kept.
      await session.send('Runtime.discardConsoleEntries');
      for (let times = 0; times < 3; times++) {
        await session.send('HeapProfiler.collectGarbage');
        await this.page.waitForTimeout(200); // finalizers run in tasks of their own
      }
      const { documents, nodes, jsEventListeners: listeners } = await session.send('Memory.getDOMCounters');
      const { usedSize } = await session.send('Runtime.getHeapUsage');
      return { documents, nodes, listeners, heapMb: usedSize / 1e6 };
    } finally {
      await session.detach();
    }
  }

  /** The numbers of the processes of this window, of whatever depth, whose command line has these words in it. */
  processes(words) {
    return this.host.processes(words);
  }

  /** Ends the window and all that it started. */
  close = async () => undefined;
}

/** Whether something that is waited for came before its time was over. */
export const came = (waiting) =>
  waiting.then(
    () => true,
    () => false,
  );

function viewCommands() {
  const read = (name) => JSON.parse(readFileSync(path.join(ROOT, name), 'utf8'));
  const texts = read('package.nls.json');
  return new Set(
    read('package.json')
      .contributes.commands.filter(({ enablement = '' }) => enablement.includes('memlens.commands'))
      .map(({ category, title }) => `${category}: ${texts[title.slice(1, -1)]}`),
  );
}

/** The first pixel of a PNG. Whatever its filter is, what it refers to is nothing there. */
function pngPixel(png) {
  const data = [];
  let at = 8;
  while (at < png.length) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return [...inflateSync(Buffer.concat(data)).subarray(1, 4)];
}
