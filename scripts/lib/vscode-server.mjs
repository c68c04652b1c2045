// Starts VS Code's server from .vscode-test/ on a random port of the loopback interface, and stops it.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { SERVER_MAIN, SERVER_NODE } from './code-server.mjs';
import { ROOT } from './paths.mjs';
import { UserError, must } from './steps.mjs';

/** A quiet workbench: no account, no network, no first-run pages, no AI. */
const QUIET_SETTINGS = {
  'chat.disableAIFeatures': true,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'extensions.webWorker': false,
  'git.enabled': false,
  'github.gitAuthentication': false,
  'telemetry.telemetryLevel': 'off',
  'update.showReleaseNotes': false,
  'window.commandCenter': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

/**
 * A folder of somebody else's opens in Restricted Mode, without a question: its settings choose no program to run. Tests and
 * samples/ are our own.
 */
const TRUST_SETTINGS = (trusted) =>
  trusted
    ? { 'security.workspace.trust.enabled': false }
    : {
        'security.workspace.trust.startupPrompt': 'never',
        'security.workspace.trust.untrustedFiles': 'open',
      };

/** Built-in extensions that require signing in. */
const SKIPPED = ['vscode.github', 'vscode.github-authentication', 'vscode.microsoft-authentication'];

/**
 * Built-in extensions that no test is about: three fifths of the declarations that a window gets when it opens, and its
 * extension host at each change of a setting. Of those that browsers run as well the window would look for that part.
 */
const SKIPPED_BY_TESTS = [
  ...['ms-vscode.js-debug', 'ms-vscode.js-debug-companion', 'vscode.debug-auto-launch'],
  ...['vscode.debug-server-ready', 'vscode.git', 'vscode.grunt', 'vscode.gulp', 'vscode.jake'],
  ...['vscode.php-language-features', 'vscode.terminal-suggest', 'vscode.tunnel-forwarding'],
];

const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

/**
 * @param {{settings?: object, develop?: boolean, installed?: string, others?: string[], open?: string, trusted?: boolean, env?: Record<string, string>}} [options]
 *   settings: in addition to QUIET_SETTINGS. develop: pages may name a development extension in their payload (tests);
 *   otherwise this checkout is installed as an extension, by a link. installed: a .vsix to install instead. others:
 *   folders of extensions to install as well. open: a file that a new window shows. trusted: whether the folders that are
 *   opened are our own; otherwise Workspace Trust is on.
 * @returns {Promise<{authority: string, dataDir: string, log: string, pid: number,
 *   closed: Promise<unknown>, output(): string, page(options: {folder: string}): string,
 *   stop(): Promise<void>}>}
 */
export async function startVSCodeServer(options = {}) {
  const {
    settings = {},
    develop = false,
    installed,
    others = [],
    open,
    trusted = develop,
    env = {},
  } = options;
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'memlens-vscode-'));
  const userDir = path.join(dataDir, 'data');
  const extensionsDir = path.join(dataDir, 'extensions');
  const log = path.join(dataDir, 'server.log');
  for (const scope of ['Machine', 'User']) mkdirSync(path.join(userDir, scope), { recursive: true });
  mkdirSync(extensionsDir);
  // The server reads the first file; the second has the same for browsers without stored settings.
  const text = JSON.stringify({ ...QUIET_SETTINGS, ...TRUST_SETTINGS(trusted), ...settings }, null, 2);
  for (const scope of ['Machine', 'User']) writeFileSync(path.join(userDir, scope, 'settings.json'), text);
  const folders = [
    '--server-data-dir',
    dataDir,
    '--user-data-dir',
    userDir,
    '--extensions-dir',
    extensionsDir,
  ];
  const link = (folder, name) => symlinkSync(path.join(ROOT, folder), path.join(extensionsDir, name), 'dir');
  for (const folder of others) link(folder, `memlens-tests.${path.basename(folder)}-0.0.0`);
  if (installed !== undefined) {
    await must([SERVER_NODE, SERVER_MAIN, ...folders, '--install-extension', installed], { cwd: dataDir });
  } else if (!develop) {
    link('.', 'memlens.memlens-0.1.0');
    if (open) link('scripts/opener', 'memlens-scripts.opener-0.0.0');
  }

  const port = await freePort();
  const authority = `127.0.0.1:${port}`;
  const token = randomBytes(16).toString('hex');
  const tokenFile = path.join(dataDir, 'token');
  writeFileSync(tokenFile, token, { mode: 0o600 }); // not an argument: all users can read those
  const args = [
    ...['--host', '127.0.0.1', '--port', String(port), '--connection-token-file', tokenFile],
    ...folders,
    ...['--accept-server-license-terms', '--disable-telemetry'],
    ...(trusted ? ['--disable-workspace-trust'] : []),
    '--disable-getting-started-override',
    ...(develop ? ['--enable-smoke-test-driver'] : []),
  ];
  const child = spawn(
    SERVER_NODE,
    ['--require', path.join(ROOT, 'scripts/lib/end-with-parent.cjs'), SERVER_MAIN, ...args],
    {
      cwd: dataDir,
      // A separate process group, so that its extension hosts and their children can be stopped with it.
      detached: true,
      env: {
        ...process.env,
        EXTENSIONS_GALLERY: '{"serviceUrl":""}',
        MEMLENS_SERVER_PARENT: String(process.pid),
        ...(open ? { MEMLENS_OPEN_FIRST: open } : {}),
        VSCODE_SKIP_BUILTIN_EXTENSIONS: [...SKIPPED, ...(develop ? SKIPPED_BY_TESTS : [])].join(','),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  const file = createWriteStream(log);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      output = (output + chunk).slice(-20_000);
      file.write(chunk);
    });
  }
  const closed = new Promise((resolve) => child.on('close', resolve));

  const signal = (name) => {
    try {
      process.kill(-child.pid, name);
    } catch {
      // the whole group has ended
    }
  };
  const onExit = () => signal('SIGTERM');
  process.once('exit', onExit);
  const stop = async () => {
    process.removeListener('exit', onExit);
    signal('SIGTERM');
    const late = setTimeout(() => signal('SIGKILL'), 5000);
    await closed;
    clearTimeout(late);
    signal('SIGKILL'); // children that are still running
    file.end();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };

  try {
    const until = Date.now() + 60_000;
    for (;;) {
      const up = await fetch(`http://${authority}/version`).then(
        (response) => response.ok,
        () => false,
      );
      if (up) break;
      if (child.exitCode !== null || Date.now() > until) {
        throw new UserError(`${output}\nVS Code's server did not start.`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch (error) {
    await stop();
    throw error;
  }

  const remote = (absolute) => `vscode-remote://${authority}${encodeURI(absolute)}`;
  /** Returns the address of a window for a folder, including the token. */
  const page = ({ folder }) => {
    const payload = [
      ['skipWelcome', 'true'],
      ...(develop && installed === undefined ? [['extensionDevelopmentPath', remote(ROOT)]] : []),
    ];
    const query = new URLSearchParams({ tkn: token, folder, payload: JSON.stringify(payload) });
    return `http://${authority}/?${query}`;
  };
  return { authority, dataDir, log, pid: child.pid, closed, output: () => output, page, stop };
}
