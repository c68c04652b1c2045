// A window of VS Code over a workspace: its page, and the driver in its extension host. Files of tests that need nothing
// of their own are in one window of their worker, one after the other, each with a folder of its own in the workspace:
// whatever is kept by a file's address, as states of views are, is kept for none of the others.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Driver } from './driver.mjs';
import { noteErrors } from './page-errors.mjs';
import { TIMEOUT_MS, until } from './waiting.mjs';

/** More than there are files of tests. */
const MOST_USERS = 40;

export class Window {
  /** What must not happen in a window, since its current user began; see page-errors.mjs. */
  noted = noNotes();
  #users = 0;
  #isReloading = false;

  /**
   * @param {import('./host.mjs').Host} host
   * @param {boolean} isShared whether files of tests use it one after the other
   */
  constructor(host, isShared) {
    this.host = host;
    this.isShared = isShared;
    this.temporary = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-')));
  }

  /** A new empty folder for a user of this window, who may also write beside it. */
  newFolder(name) {
    const own = this.isShared ? this.#folderOf(++this.#users) : this.temporary;
    const folder = path.join(own, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  get #workspace() {
    return path.join(this.temporary, 'workspace');
  }

  #folderOf(user) {
    return path.join(this.#workspace, String(user));
  }

  /**
   * Shows the workspace: the folder of its only user, or that of all folders.
   * @param {{viewport: {width: number, height: number}, motion: boolean, language?: string}} look
   */
  async open(folder, look) {
    this.root = this.isShared ? this.#workspace : folder;
    // VS Code watches a folder that is made while its window is open, but maybe not what is made in that at once
    if (this.isShared)
      for (let user = 1; user <= MOST_USERS; user++) mkdirSync(this.#folderOf(user), { recursive: true });
    this.driver = new Driver(this.host.sockets, this.root);
    this.page = await this.host.newPage(this.isShared);
    this.page.setDefaultTimeout(TIMEOUT_MS);
    // where VS Code looks for the messages of another language
    if (look.language !== undefined)
      await this.page.addInitScript(
        (name) => Object.assign(globalThis, { _VSCODE_NLS_LANGUAGE: name }),
        look.language,
      );
    await this.#look(look);
    const isReloading = () => this.#isReloading;
    noteErrors(this.page, this.host.server.authority, isReloading, (kind, text) =>
      this.noted[kind].push(text),
    );
    await this.page.goto(this.host.server.page({ folder: this.root }));
    await this.loaded();
  }

  /** Reloads the page. @param {() => Promise<void>} press runs VS Code's command for it */
  async reload(press) {
    this.#isReloading = true;
    await Promise.all([this.page.waitForEvent('load'), press()]);
    await this.loaded();
    this.#isReloading = false;
  }

  /** Waits until a page that was loaded is usable. */
  async loaded() {
    await this.page.locator('.explorer-folders-view .monaco-list-row').first().waitFor();
    // Until the workbench knows the extension's contributions, a snapshot would open as text.
    await this.page.waitForFunction(
      () => performance.getEntriesByName('code/didLoadExtensions').length > 0,
      undefined,
      { polling: 100 },
    );
    await this.driver.started();
  }

  async #look({ viewport, motion }) {
    await this.page.setViewportSize(viewport);
    await this.page.emulateMedia({ reducedMotion: motion ? 'no-preference' : 'reduce' });
  }

  /** Gives the window to its next user: with these settings and this look, and nothing else. */
  async begin(settings, look) {
    await this.#look(look);
    await this.driver.ask('configureAfresh', settings);
    await this.page.context().clearPermissions();
    this.noted = noNotes();
  }

  /** Takes the window from its user; if something of theirs is left, the next one must not have it. */
  async leave() {
    await this.page.mouse.move(0, 0);
    await this.driver.ask('leave');
    const left = () =>
      this.page.evaluate(
        ([...selectors]) => selectors.filter((selector) => document.querySelector(selector) !== null),
        ['.tabs-container .tab', 'iframe.webview', '.monaco-dialog-box', '.notification-toast'],
      );
    let seen;
    await until(async () => (seen = await left()).length === 0, 'the window is empty').catch((error) => {
      throw new Error(`${error.message} There is ${seen.join(', ')}.`);
    });
    await until(() => this.processes('-m memlens').length <= 1, 'the server reads nothing any more');
    for (let user = 1; user <= this.#users; user++)
      rmSync(this.#folderOf(user), { recursive: true, force: true });
  }

  /** The ids of all descendant processes of this window whose command line contains these words. */
  processes(words) {
    return this.driver?.pid === undefined ? [] : this.host.processes(words, this.driver.pid);
  }

  /** Closes the window and ends its processes. */
  async close() {
    const { pid } = this.driver ?? {};
    const memlens = this.processes('-m memlens');
    await this.page?.close();
    // The server would keep it for a while, in case the window reconnects.
    if (pid !== undefined) end(pid);
    await until(() => !memlens.some(isThere), `the processes ${memlens.join(', ')} have ended`);
    rmSync(this.temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

const noNotes = () => ({ foreignRequests: [], consoleErrors: [] });

function end(pid) {
  try {
    process.kill(pid);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error; // it has ended in the meantime
  }
}

function isThere(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
