// A real VS Code in a real browser for the end-to-end tests: VS Code's server with this checkout as its development
// extension, over a temporary copy of a workspace, shown in headless Chromium and driven by Playwright.
//
//   const vscode = await openVSCode();            // over a copy of samples/
//   await vscode.openFile('train.pickle');
//   const view = await vscode.webview();          // a Playwright frame: locators, evaluate
//   ...
//   await vscode.close();
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { hostOf } from './host.mjs';
import { Palette } from './palette.mjs';
import { pixelOf } from './pixels.mjs';
import { isOpen, settledIn } from './settled.mjs';
import { TextEditors } from './text-editor.mjs';
import { colourWorkbench, hasTheme, inThemes } from './themes.mjs';
import { TIMEOUT_MS, came } from './waiting.mjs';
import { Window } from './window.mjs';

export { ROOT };
const ASSOCIATIONS = 'workbench.editorAssociations';
export const SCREENSHOTS = path.join(ROOT, 'tests', 'e2e', 'screenshots');

/**
 * @param {{workspace?: string, settings?: object, theme?: keyof typeof import("./themes.mjs").THEMES,
 *   viewport?: {width: number, height: number}, motion?: boolean, language?: string,
 *   prepare?: (folder: string) => void}} [options]
 *   workspace: a folder to copy. settings: the workspace's. theme: that of tests that look at colours; others take VS Code's,
 *   which a window has at once. motion: animate pictures; otherwise reduced motion is set, which costs less to draw.
 *   language: that of VS Code, whose own texts stay English without a language pack; it gives a window of its own, where
 *   others get that of their worker (window.mjs). prepare: changes the copy before it is opened.
 */
export async function openVSCode(options = {}) {
  const {
    workspace = path.join(ROOT, 'samples'),
    settings = {},
    theme,
    viewport = { width: 1400, height: 900 },
    motion = false,
    language,
  } = options;
  const look = { viewport, motion, language };
  const wanted = { 'editor.minimap.enabled': false, ...settings };
  // VS Code would ask which of two editors is to open these
  const both = ['*.heapsnapshot', '*.heapprofile'].map((name) => [name, 'memlens.snapshot']);
  wanted[ASSOCIATIONS] = { ...Object.fromEntries(both), ...settings[ASSOCIATIONS] };
  const host = await hostOf();
  const window = (language === undefined ? host.sharedWindow() : undefined) ?? new Window(host, false);
  let vscode;
  try {
    // Archives of earlier files stay out of it.
    host.forgetArchives();
    const folder = window.newFolder(path.basename(workspace));
    cpSync(workspace, folder, { recursive: true });
    options.prepare?.(folder);
    vscode = new VSCode(window, folder);
    vscode.close = () => (window.isShared ? window.leave() : host.close(window));
    if (window.page === undefined) {
      if (!window.isShared) writeSettings(folder, wanted);
      await window.open(folder, look);
    }
    if (window.isShared) await window.begin(wanted, look);
    await vscode.start(theme);
    return vscode;
  } catch (error) {
    await vscode?.screenshot('not-opened', true).catch(() => undefined);
    if (!window.isShared) await host.close(window);
    throw error;
  }
}

/** Adds settings to those of a workspace's folder, before a window shows it. */
function writeSettings(folder, settings) {
  const file = path.join(folder, '.vscode', 'settings.json');
  mkdirSync(path.dirname(file), { recursive: true });
  const current = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  writeFileSync(file, JSON.stringify({ ...current, ...settings }, null, 2));
}

/** A window, as one file of tests uses it. Every method waits for its effect, and its error says what it waited for. */
class VSCode {
  #palette;
  #editors;

  constructor(window, folder) {
    this.window = window;
    this.host = window.host;
    this.folder = folder;
    /** Where the server under test keeps its archives. */
    this.cache = window.host.archives;
  }

  get page() {
    return this.window.page;
  }

  /** Requests to other hosts than this machine's server: there must be none. */
  get foreignRequests() {
    return this.window.noted.foreignRequests;
  }

  /** Errors on the console of the page and of its webviews, without the workbench's own noise. */
  get consoleErrors() {
    return this.window.noted.consoleErrors;
  }

  async start(theme) {
    this.#palette = new Palette(this.page);
    this.#editors = new TextEditors(this.page);
    // Not in the settings that it opens with: VS Code ignores such a theme, and writing it again as well.
    if (theme !== undefined) await this.setTheme(theme);
  }

  /**
   * Reloads the window by VS Code's command, which stores its editors first. (VS Code in a browser stores them
   * automatically only when it is idle, which may take long on a busy machine.)
   */
  async reload() {
    const { theme } = this;
    if (theme !== undefined) await this.configure({ 'workbench.colorTheme': null });
    await this.settled();
    await this.window.reload(() => this.runCommand('Developer: Reload Window'));
    if (theme !== undefined) await this.setTheme(theme);
  }

  /** Hides a view behind another editor and shows it again, which restores it from the state that VS Code stored. */
  async hideAndShow(name) {
    await this.settled();
    await this.openFile('README.md');
    await this.page.locator('iframe.webview').first().waitFor({ state: 'hidden' });
    await this.tab(name).click();
  }

  /** Resizes the window and waits until its contents have been laid out. */
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

  /** Waits until each visible view has settled, so that VS Code has stored its state. */
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

  /** Runs a command of VS Code's own, which no test is about; the palette takes much longer. */
  async execute(command) {
    await this.window.driver.ask('execute', command);
  }

  /** Runs a command by its title, as a person would: `runCommand('Memlens: Go to the Peak')`. */
  runCommand(title) {
    return this.#palette.run(title);
  }

  /**
   * The notification with a text, once it is shown. With the driver of tests VS Code keeps notifications in its centre,
   * which closes when the last one goes: when a progress ends, for example, just before the message about it comes.
   */
  async notification(text) {
    const found = this.page.locator('.notification-list-item', { hasText: text });
    for (const until = Date.now() + TIMEOUT_MS; ;) {
      await this.execute('notifications.showList');
      if (await came(found.first().waitFor({ timeout: 5000 }))) return found;
      if (Date.now() > until) throw new Error(`No notification says "${text}".`);
    }
  }

  /** Runs a command by its title, and does something once it can be chosen. */
  runCommandAfter(title, act) {
    return this.#palette.run(title, act);
  }

  /** The titles that the palette offers for some words. */
  offered(words) {
    return this.#palette.offered(words);
  }

  /** The titles that a list of the palette offers: `listed('Memlens: Show…')`. */
  listed(list) {
    return this.#palette.listed(list);
  }

  /** Opens a link to the extension as the system would, which VS Code asks about. */
  openLink(link) {
    return this.#palette.openLink(link);
  }

  /** Picks a row of a list; see {@link Palette.pick}. */
  pick(row) {
    return this.#palette.pick(row);
  }

  /** Accepts a path in VS Code's dialog for files, once that offers one; see {@link Palette.choosePath}. */
  choosePath(offered, file, next) {
    return this.#palette.choosePath(offered, file, next);
  }

  /** Opens a file of the folder by its path in it, in the active group. */
  async openFile(name) {
    const base = path.posix.basename(name);
    const left = (await this.activeFile()) === base ? [] : await this.#viewsOfActiveGroup();
    await this.window.driver.ask('open', path.join(this.folder, name));
    await this.page
      .locator('.editor-group-container.active .tab.active', { hasText: base })
      .first()
      .waitFor();
    // The tab appears before its editor; until then the view of the previous one is visible.
    for (const view of left) await this.page.locator(`iframe[name="${view}"]`).waitFor({ state: 'hidden' });
  }

  /** The names of the webviews' frames that are shown over the active group. */
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

  /** Closes a text editor, whichever has the focus: a view that was clicked may take that back. */
  async closeEditor(name) {
    const tab = this.tab(name).first();
    await tab.click({ button: 'middle' });
    await tab.waitFor({ state: 'detached' });
  }

  /** The name on the active tab of the active group; undefined where none is open. */
  activeFile() {
    return this.#editors.activeFile();
  }

  /** Waits until a file's tab is the active one of the active group and the cursor is on a line of it. */
  atLine(name, line, timeoutMs) {
    return this.#editors.atLine(name, line, timeoutMs);
  }

  /** The text of the hover over some text of the visible text editor; see {@link TextEditors.hoverText}. */
  hoverText(word, options) {
    return this.#editors.hoverText(word, options);
  }

  /**
   * The inside of a visible webview, once its document has loaded; the first one, or the one at an index.
   * @returns {Promise<import('@playwright/test').Frame>}
   */
  async webview(index = 0) {
    const outer = await this.#visible().nth(index).elementHandle();
    const content = await outer.contentFrame();
    const inner = await content.waitForSelector('iframe#active-frame', { state: 'attached' });
    const frame = await inner.contentFrame();
    // A handle keeps its element, and everything that it references, alive in the page.
    await Promise.all([outer.dispose(), inner.dispose()]);
    await frame.waitForLoadState();
    return frame;
  }

  /** Switches VS Code's theme, and waits until the workbench and the visible views are drawn in it. */
  async setTheme(theme) {
    this.theme = theme;
    await colourWorkbench(this.page, theme, (settings) => this.configure(settings));
    const views = await this.#visible().count();
    for (let index = 0; index < views; index++) {
      const frame = await this.webview(index);
      await hasTheme(frame, theme);
      if (await isOpen(frame)) await settledIn(frame);
    }
  }

  /** Does something in each theme with a view, which alone is drawn in it; see {@link inThemes}. */
  async inThemes(frame, act) {
    await inThemes(this, frame, act);
  }

  /** Adds settings to the workspace's; null removes one. */
  async configure(settings) {
    await this.window.driver.ask('configure', settings);
  }

  /**
   * Takes a picture of the window, tests/e2e/screenshots/NAME.png, for people to look at, where it is asked for by the
   * environment.
   */
  async screenshot(name, wanted = process.env.MEMLENS_SCREENSHOTS !== undefined) {
    if (!wanted) return;
    mkdirSync(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) });
  }

  /** The colour of the window at a point, as a person would see it: [red, green, blue]. */
  screenPixel(x, y) {
    return pixelOf(this.page, x, y);
  }

  /** The output of `memlens ARGUMENTS --json`, with a separate cache of archives. */
  async memlens(...args) {
    const own = path.join(this.window.temporary, 'cache-of-the-command-line');
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
      // Logged objects can be inspected in a debugger's console, so they are kept alive.
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

  /** The ids of all descendant processes of this window whose command line contains these words. */
  processes(words) {
    return this.window.processes(words);
  }

  /** Closes the window and ends all its processes, or empties it for the next file of tests. */
  close = async () => undefined;
}
