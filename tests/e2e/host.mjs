// VS Code's server and a headless Chromium, in which the end-to-end tests open windows. The files of one of
// Playwright's workers share one: starting these takes as long as the tests of many files.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium } from '@playwright/test';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { installCodeServer } from '../../scripts/lib/code-server.mjs';
import { startVSCodeServer } from '../../scripts/lib/vscode-server.mjs';
import { CommandLine } from './command-line.mjs';
import { fleetEnvironment } from './store.mjs';
import { Window } from './window.mjs';

/** Of the browser's own interface and services: pages of its address bar, which each window would load, and requests. */
const UNWANTED_FEATURES = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxFullPopup', 'WebUIOmniboxAimPopup'],
  // what Playwright asks for, whose list this one replaces
  ...['AimEnabled', 'AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'LensOverlay'],
  ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable', 'MediaRouter', 'NetworkTimeServiceQuerying'],
  ...['OptimizationHints', 'PaintHolding', 'PreconnectToSearch', 'ThirdPartyStoragePartitioning'],
];

export const CHROMIUM_FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--force-color-profile=srgb'],
  `--disable-features=${UNWANTED_FEATURES.join(',')}`,
];

/** What a workbench stores in the browser, without the scripts that it loaded. */
const WORKBENCH_STORAGE = 'indexeddb,local_storage';

let sharing = false;
let shared;

/** Lets all windows of this process share one host, until it is stopped. */
export function shareHost() {
  sharing = true;
}

export async function stopSharedHost() {
  sharing = false;
  await shared?.stop();
  shared = undefined;
}

/** The host of a window. */
export async function hostOf() {
  if (!sharing) return await Host.start();
  shared ??= await Host.start();
  return shared;
}

export class Host {
  #browser;
  /** A context for windows that have one user, and one for the window that stays open meanwhile. */
  #contexts = new Map();
  #sharedWindow;
  commandLine = new CommandLine();
  // keeps the archives of this machine's user out of it
  #cache = mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-cache-'));

  /** Where fsspec finds the configuration of stores. */
  stores = path.join(this.#cache, 'fsspec');

  /** Where the windows' drivers listen. */
  sockets = path.join(this.#cache, 'sockets');

  /** Where the servers under test keep their archives. */
  archives = path.join(this.#cache, 'archives');

  static async start() {
    const host = new Host();
    try {
      for (const folder of [host.sockets, host.archives]) mkdirSync(folder);
      const executablePath = await findChromium();
      await installCodeServer();
      host.server = await startVSCodeServer({
        develop: true,
        // For a check of a package: it is installed in place of this checkout.
        installed: process.env.MEMLENS_PACKAGE,
        others: ['tests/e2e/extensions/driver'],
        settings: { 'memlens.cache.directory': host.archives },
        // VS Code leaves its sockets where they are when its processes are ended
        env: {
          XDG_CACHE_HOME: host.#cache,
          XDG_RUNTIME_DIR: host.#cache,
          MEMLENS_TESTS_SOCKETS: host.sockets,
          ...fleetEnvironment(host.stores),
        },
      });
      host.#browser = await chromium.launch({ executablePath, headless: true, args: CHROMIUM_FLAGS });
      return host;
    } catch (error) {
      await host.stop();
      throw error;
    }
  }

  /** The window that files of tests use one after the other; undefined where each must have its own. */
  sharedWindow() {
    if (this !== shared) return undefined;
    return (this.#sharedWindow ??= new Window(this, true));
  }

  /** Removes the archives of earlier files. */
  forgetArchives() {
    for (const name of readdirSync(this.archives))
      rmSync(path.join(this.archives, name), { recursive: true, force: true });
  }

  /** A user of the browser, with nothing of others. */
  async newContext(options) {
    const context = await this.#browser.newContext({ deviceScaleFactor: 1, ...options });
    await context.addInitScript(endAnimations);
    return context;
  }

  /** An empty page, without leftovers of other workbenches. */
  async newPage(isShared) {
    if (!this.#contexts.has(isShared)) this.#contexts.set(isShared, await this.newContext());
    const context = this.#contexts.get(isShared);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    const origin = `http://${this.server.authority}`;
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: WORKBENCH_STORAGE });
    await session.detach();
    return page;
  }

  /** Closes a window that isn't shared, and the host with it unless that has other windows to come. */
  async close(window) {
    await window.close();
    if (this !== shared) await this.stop();
  }

  async stop() {
    await this.#sharedWindow?.close();
    await this.#browser?.close().catch(() => undefined);
    await this.server?.stop();
    await this.commandLine.stop();
    rmSync(this.#cache, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /** Descendants of VS Code's server, or of another process, whose command line contains some words. */
  processes(words, ancestor = this.server.pid) {
    const parents = new Map();
    const commands = new Map();
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
        // The name in parentheses may contain anything.
        const [state, parent] = status.slice(status.lastIndexOf(')') + 2).split(' ');
        if (state === 'Z') continue;
        parents.set(Number(pid), Number(parent));
        commands.set(Number(pid), readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
      } catch {
        // it has ended in the meantime
      }
    }
    const ours = (pid) => pid === ancestor || (parents.has(pid) && ours(parents.get(pid)));
    return [...commands.keys()].filter((pid) => commands.get(pid).includes(words) && ours(pid));
  }
}

/**
 * In the page: animations end at once, which VS Code's signs of progress otherwise never do. Without a graphics processor
 * each of their frames costs the tests as much time as a change of what is shown.
 */
function endAnimations() {
  const sheet = new window.CSSStyleSheet();
  sheet.replaceSync(
    '*, ::before, ::after { animation-duration: 1ms !important; animation-iteration-count: 1 !important; }',
  );
  document.adoptedStyleSheets = [sheet];
}
