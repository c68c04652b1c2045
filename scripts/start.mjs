// npm start: opens samples/ with its snapshot in desktop VS Code, if it is installed and there is a display; else in
// VS Code's server, installed into .vscode-test/, at an address for a browser.
//
//   npm start -- FILE              another snapshot, in its folder
//   npm start -- --folder DIR      another folder (its snapshot stays closed unless FILE names one)
//   npm start -- --browser         the browser even if desktop VS Code is installed
//   npm start -- --print-url       for scripts: one line of JSON on stdout when ready, all else on stderr
import { existsSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { onPath } from './lib/chromium.mjs';
import { installCodeServer } from './lib/code-server.mjs';
import { ROOT, WINDOWS } from './lib/paths.mjs';
import { setup } from './lib/setup.mjs';
import { UserError, argumentsOf, main, must } from './lib/steps.mjs';
import { startVSCodeServer } from './lib/vscode-server.mjs';

const SAMPLES = path.join(ROOT, 'samples');
const SAMPLE = path.join(SAMPLES, 'train.pickle');

const { values, positionals } = argumentsOf({
  options: {
    browser: { type: 'boolean' },
    folder: { type: 'string' },
    'print-url': { type: 'boolean' },
  },
  allowPositionals: true,
});

/** Paths on the command line are relative to the folder in which npm was run. */
const fromCaller = (name) => path.resolve(process.env.INIT_CWD ?? process.cwd(), name);

function whatToOpen() {
  if (positionals.length > 1) throw new UserError('npm start opens one file: npm start -- FILE');
  const named = positionals[0] && fromCaller(positionals[0]);
  if (named && !existsSync(named)) throw new UserError(`There is no file ${named}.`);
  const folder = values.folder && fromCaller(values.folder);
  if (folder && !(existsSync(folder) && statSync(folder).isDirectory())) {
    throw new UserError(`There is no folder ${folder}.`);
  }
  const file = named ?? (folder ? undefined : SAMPLE);
  return { folder: folder ?? path.dirname(file), file };
}

/** The `code` of desktop VS Code, if there is one; in VS Code's remote terminals it is another program. */
function desktopCode() {
  if (values.browser || values['print-url'] || process.env.VSCODE_IPC_HOOK_CLI) return undefined;
  const screen =
    WINDOWS || process.platform === 'darwin' || process.env.DISPLAY || process.env.WAYLAND_DISPLAY;
  if (!screen || process.env.SSH_CONNECTION) return undefined;
  return WINDOWS ? onPath('code.cmd') : onPath('code', 'codium', 'code-insiders');
}

async function openDesktop(code, { folder, file }) {
  const developed = [ROOT, path.join(ROOT, 'scripts', 'opener')].map(
    (each) => `--extensionDevelopmentPath=${each}`,
  );
  // The opener shows the file once custom editors are registered, as in a browser's first window.
  await must([code, '--new-window', ...developed, folder], { env: file ? { MEMLENS_OPEN_FIRST: file } : {} });
  console.log(`Opened ${file ?? folder} in VS Code.`);
}

async function openBrowser({ folder, file }, log) {
  await installCodeServer(log);
  const trusted = realpathSync(folder) === realpathSync(SAMPLES);
  const server = await startVSCodeServer({ open: file, trusted });
  const ended = new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => resolve(signal));
    server.closed.then(() => resolve('closed'));
  });
  const url = server.page({ folder });
  if (values['print-url']) {
    process.stdout.write(`${JSON.stringify({ url, folder, file, log: server.log })}\n`);
  } else {
    console.log(`\nMemlens is ready. Open this address in a browser:\n\n  ${url}\n`);
    console.log(`It shows ${file ?? folder}, is reachable only from this machine, and ends with Ctrl-C.`);
  }
  const why = await ended;
  await server.stop();
  if (why === 'closed') throw new UserError(`VS Code's server ended unexpectedly:\n${server.output()}`);
  log('\nended\n');
}

main(async () => {
  const log = (text) => void (values['print-url'] ? process.stderr : process.stdout).write(text);
  const opened = whatToOpen();
  await setup(log);
  const code = desktopCode();
  if (code) await openDesktop(code, opened);
  else await openBrowser(opened, log);
});
