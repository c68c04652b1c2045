// VS Code's server and a headless Chromium, in which the end-to-end tests open windows. The files of one of
// Playwright's workers share one, each with a window of its own, one after the other: starting these takes as long as
// the tests of many files.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium } from '@playwright/test';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { installCodeServer } from '../../scripts/lib/code-server.mjs';
import { startVSCodeServer } from '../../scripts/lib/vscode-server.mjs';
import { CommandLine } from './command-line.mjs';
import { fleetEnvironment } from './store.mjs';
import { TIMEOUT_MS } from './waiting.mjs';

export const CHROMIUM_FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--force-color-profile=srgb'],
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

/** The host of a new window. Other Chromium flags and more extensions need another host. */
export async function hostOf({ settings, flags, extensions }) {
  if (!sharing || flags.length + extensions.length > 0) return await Host.start(settings, flags, extensions);
  shared ??= await Host.start(settings, flags, extensions);
  shared.server.writeSettings(settings);
  return shared;
}

class Host {
  #browser;
  #context;
  commandLine = new CommandLine();
  // keeps the archives of this machine's user out of it
  #cache = mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-cache-'));

  /** Where fsspec finds the configuration of stores. */
  stores = path.join(this.#cache, 'fsspec');

  static async start(settings, flags, extensions) {
    const host = new Host();
    try {
      const executablePath = await findChromium();
      await installCodeServer();
      host.server = await startVSCodeServer({
        develop: true,
        // For a check of a package: it is installed in place of this checkout.
        installed: process.env.MEMLENS_PACKAGE,
        others: extensions.map((name) => path.join('tests/e2e/extensions', name)),
        settings,
        // VS Code leaves its sockets where they are when its processes are ended
        env: { XDG_CACHE_HOME: host.#cache, XDG_RUNTIME_DIR: host.#cache, ...fleetEnvironment(host.stores) },
      });
      const args = [...CHROMIUM_FLAGS, ...flags];
      host.#browser = await chromium.launch({ executablePath, headless: true, args });
      host.#context = await host.#browser.newContext({ deviceScaleFactor: 1 });
      return host;
    } catch (error) {
      await host.stop();
      throw error;
    }
  }

  /** An empty page, without leftovers of other workbenches. */
  async newPage(viewport) {
    const page = await this.#context.newPage();
    await page.setViewportSize(viewport);
    const session = await this.#context.newCDPSession(page);
    const origin = `http://${this.server.authority}`;
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: WORKBENCH_STORAGE });
    await session.detach();
    return page;
  }

  /** Closes a page and ends its processes; ends the whole host if it isn't shared. */
  async close(page) {
    if (this !== shared) return await this.stop();
    await page?.close();
    // The server would keep them for a while, in case the window reconnects.
    for (const pid of this.processes('--type=extensionHost')) {
      try {
        process.kill(pid);
      } catch (error) {
        if (error.code !== 'ESRCH') throw error; // it has ended in the meantime
      }
    }
    const until = Date.now() + TIMEOUT_MS;
    while (this.processes('-m memlens').length > 0) {
      if (Date.now() > until) throw new Error(`still there: ${this.processes('-m memlens').join(', ')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async stop() {
    await this.#browser?.close().catch(() => undefined);
    await this.server?.stop();
    await this.commandLine.stop();
    rmSync(this.#cache, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  /** Descendants of VS Code's server whose command line contains some words. */
  processes(words) {
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
    const ours = (pid) => pid === this.server.pid || (parents.has(pid) && ours(parents.get(pid)));
    return [...commands.keys()].filter((pid) => commands.get(pid).includes(words) && ours(pid));
  }
}
