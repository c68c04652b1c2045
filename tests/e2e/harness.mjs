// A real VS Code in a real browser for the end-to-end tests: VS Code's server with this checkout as its development
// extension, over a temporary copy of a workspace, shown in headless Chromium and driven by Playwright.
//
//   const vscode = await openVSCode();            // over a copy of samples/
//   await vscode.openFile('train.pickle');
//   const view = await vscode.webview();          // a Playwright frame: locators, evaluate
//   ...
//   await vscode.close();
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { installCodeServer } from '../../scripts/lib/code-server.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { startVSCodeServer } from '../../scripts/lib/vscode-server.mjs';

export { ROOT };
export const SCREENSHOTS = path.join(ROOT, 'tests', 'e2e', 'screenshots');

/** Generous: the machine may have two busy cores. */
const TIMEOUT_MS = 60_000;

const CHROMIUM_FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--force-color-profile=srgb'],
];

/** VS Code's own theme names, and the class that the workbench has with each. */
const THEMES = {
  light: { name: 'Default Light Modern', kind: 'vs' },
  dark: { name: 'Default Dark Modern', kind: 'vs-dark' },
  hc: { name: 'Default High Contrast', kind: 'hc-black' },
  'hc-light': { name: 'Default High Contrast Light', kind: 'hc-light' },
};

const OWN_SCHEMES = /^(data|blob|vscode-[\w-]+|about):/;
/** Not a host on the network: the webview's service worker answers these from the extension's folder. */
const WEBVIEW_RESOURCE = /^https:\/\/[^/]+\.vscode-resource\.vscode-cdn\.net\//;

/** What the workbench itself writes to the console as errors in a browser without a network. */
const WORKBENCH_NOISE = [
  /open-vsx/,
  /marketplace/i,
  /authentication provider/i,
  /\[Service ?Worker\]/i,
  /Error while loading (the )?(account|default account)/i,
  // The npm package leaves these out.
  /favicon/,
  /\/vsda/,
  /bad HTTP response code \(404\) was received when fetching the script/,
  /\/update\/check/,
  /vscode\.github-authentication/,
];

/**
 * @param {{workspace?: string, settings?: object, env?: Record<string, string>, theme?: keyof typeof THEMES,
 *   viewport?: {width: number, height: number}, flags?: string[], prepare?: (folder: string) => void}} [options]
 *   workspace: a folder to copy. settings: the workspace's. env: for the server and so for the extension host.
 *   flags: more of Chromium's. prepare: changes the copy before it is opened.
 */
export async function openVSCode(options = {}) {
  const {
    workspace = path.join(ROOT, 'samples'),
    settings = {},
    env = {},
    theme = 'dark',
    flags = [],
  } = options;
  const temporary = mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-'));
  const folder = path.join(temporary, path.basename(workspace));
  cpSync(workspace, folder, { recursive: true });
  options.prepare?.(folder);

  let server;
  let browser;
  let vscode;
  const close = async () => {
    await vscode?.screenshot('last').catch(() => undefined); // what a failed test ended on
    await browser?.close().catch(() => undefined);
    await server?.stop();
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    const executablePath = await findChromium();
    await installCodeServer();
    vscode = new VSCode(folder);
    vscode.writeSettings({
      'editor.minimap.enabled': false,
      'workbench.colorTheme': THEMES[theme].name,
      ...settings,
    });
    // Archives of earlier runs, and of the person at this machine, stay out of it.
    const cache = path.join(temporary, 'cache');
    server = await startVSCodeServer({ develop: true, env: { XDG_CACHE_HOME: cache, ...env } });
    browser = await chromium.launch({ executablePath, headless: true, args: [...CHROMIUM_FLAGS, ...flags] });
    await vscode.start(server, browser, options.viewport ?? { width: 1400, height: 900 });
    vscode.close = close;
    return vscode;
  } catch (error) {
    await close();
    throw error;
  }
}

/** One window. Every method waits for what it promises, and fails with what it waited for. */
class VSCode {
  /** Requests that left this machine's own server: there must be none. */
  foreignRequests = [];
  /** Errors on the console of the page and of its webviews, without the workbench's own noise. */
  consoleErrors = [];

  constructor(folder) {
    this.folder = folder;
  }

  async start(server, browser, viewport) {
    this.server = server;
    const context = await browser.newContext({ viewport, deviceScaleFactor: 1 });
    this.page = await context.newPage();
    this.page.setDefaultTimeout(TIMEOUT_MS);
    this.#listen();
    await this.page.goto(server.page({ folder: this.folder }));
    await this.page.locator('.explorer-folders-view .monaco-list-row').first().waitFor();
    await this.#extensionKnown();
  }

  #listen() {
    const own = `http://${this.server.authority}`;
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
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Memlens:' }).first();
    const until = Date.now() + TIMEOUT_MS;
    for (;;) {
      await this.#palette('>Memlens: ');
      const known = await row.waitFor({ timeout: 2000 }).then(
        () => true,
        () => false,
      );
      await this.page.keyboard.press('Escape');
      await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
      if (known) return;
      if (Date.now() > until) throw new Error('VS Code never learnt the commands of the extension.');
    }
  }

  async #palette(text) {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget .quick-input-box input');
    await input.waitFor();
    await input.fill(text);
  }

  /** Runs a command by its title, as a person would: `runCommand('Memlens: Go to the Peak')`. */
  async runCommand(title) {
    await this.#palette(`>${title}`);
    const row = this.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: title });
    await row.waitFor();
    await this.page.keyboard.press('Enter');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  /** Opens a file of the workspace by its path in it, through quick open. */
  async openFile(name) {
    await this.#palette(name);
    const base = path.posix.basename(name);
    const row = this.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: base });
    await row.waitFor();
    await this.page.keyboard.press('Enter');
    await this.tab(base).waitFor();
  }

  /** The tab of a file, whether it is the active one or not. */
  tab(name) {
    return this.page.locator('.tabs-container .tab', { hasText: name }).first();
  }

  /** The name on the active tab of the active group. */
  async activeFile() {
    const tab = this.page.locator('.editor-group-container.active .tab.active').first();
    return (await tab.getAttribute('data-resource-name')) ?? undefined;
  }

  /** The number of the line that the cursor is on in the visible text editor. */
  async activeLine() {
    const number = this.page.locator('.editor-instance .line-numbers.active-line-number').first();
    await number.waitFor();
    return Number(await number.textContent());
  }

  /** Waits until a file's tab is active and the cursor is on a line of it. */
  async atLine(name, line, timeoutMs = TIMEOUT_MS) {
    const until = Date.now() + timeoutMs;
    let seen;
    do {
      const number = this.page.locator('.editor-instance .line-numbers.active-line-number').first();
      const where = (await number.count()) ? Number(await number.textContent()) : undefined;
      seen = `${(await this.tab(name).count()) ? name : await this.activeFile()}:${where}`;
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
    for (let attempt = 0; attempt < 20; attempt++) {
      await this.page.mouse.move(5, 5);
      await this.#moveTo(row, word);
      try {
        await hover.filter({ hasText: expecting }).first().waitFor({ timeout: 2500 });
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
   * The inside of the visible webview, once its document has loaded.
   * @returns {Promise<import('playwright-core').Frame>}
   */
  async webview() {
    const outer = await this.page.locator('iframe.webview.ready:visible').first().elementHandle();
    const content = await outer.contentFrame();
    const inner = await content.waitForSelector('iframe#active-frame', { state: 'attached' });
    const frame = await inner.contentFrame();
    await frame.waitForLoadState();
    return frame;
  }

  /** Switches VS Code's colours, and waits until the workbench has them. */
  async setTheme(theme) {
    const { name, kind } = THEMES[theme];
    this.writeSettings({ 'workbench.colorTheme': name });
    await this.page.locator(`.monaco-workbench.${kind}`).waitFor();
    await this.page.waitForTimeout(300); // webviews are told, and draw again
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

  /** A picture of the window in tests/e2e/screenshots/NAME.png. */
  async screenshot(name) {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) });
  }

  /** Ends the browser, the server and all that they started. Set once the window is open. */
  close = async () => undefined;
}
