// Steps of set-up: each prints what it does and its time, and is skipped if its inputs are unchanged.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CACHE, ROOT, WINDOWS } from './paths.mjs';

/** An error with a message for users: what is wrong and what to do. It is printed without a stack. */
export class UserError extends Error {}

export const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** All files under `folder` (relative to the root) whose names end in one of `endings`, in a fixed order. */
export function filesUnder(folder, endings) {
  const absolute = path.join(ROOT, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath ?? entry.path, entry.name)))
    .filter((file) => !file.includes('node_modules'))
    .sort();
}

/** Returns a hash of the contents of files (relative to the root; some may be absent) and further texts. */
export function hashOf(files, words = []) {
  const hash = createHash('sha256');
  for (const word of words) hash.update(`${word}\0`);
  for (const file of files) {
    const absolute = path.join(ROOT, file);
    hash.update(`${file}\0`);
    hash.update(existsSync(absolute) ? readFileSync(absolute) : 'absent');
  }
  return hash.digest('hex');
}

/**
 * An argument as Windows' shell passes it on: between quotes, where no `&` or `|` begins another command. A backslash at
 * the end would mean the quote to the program.
 * @param {string} argument
 */
export function forWindowsShell(argument) {
  if (/["\r\n\0]/.test(argument))
    throw new UserError(`Windows can't pass on ${JSON.stringify(argument)}. Rename it.`);
  return `"${argument.replace(/\\+$/, '$&$&')}"`;
}

/**
 * Runs a command and resolves with its exit code and output; rejects only if it could not be started.
 * @param {string[]} command
 * @param {{cwd?: string, env?: Record<string, string>, onOutput?: (text: string) => void, signal?: AbortSignal,
 *   niceness?: number}} options niceness: its priority among processes, as `nice` has it
 * @returns {Promise<{code: number, output: string}>}
 */
export function run(command, { cwd = ROOT, env = {}, onOutput, signal, niceness = 0 } = {}) {
  return new Promise((resolve, reject) => {
    const [program] = command;
    // Node starts .cmd files through the shell only, and joins what it gets with blanks.
    const shell = WINDOWS && /\.(cmd|bat)$/.test(program);
    const [started, ...rest] = shell ? command.map(forWindowsShell) : command;
    const child = spawn(started, rest, {
      cwd,
      env: { ...process.env, ...env },
      signal,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell,
    });
    if (niceness && child.pid !== undefined) setNiceness(child.pid, niceness);
    let output = '';
    const take = (chunk) => {
      output += chunk;
      onOutput?.(chunk);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.on('error', reject);
    child.on('close', (code, ended) => {
      resolve({ code: code ?? 1, output: ended ? `${output}\nended by ${ended}\n` : output });
    });
  });
}

function setNiceness(pid, niceness) {
  try {
    setPriority(pid, niceness);
  } catch {
    // it has ended already, or has a higher one, which not everybody may lower
  }
}

/** Like `run`, but a failure is an error that shows the output's end. */
export async function must(command, options = {}) {
  let result;
  try {
    result = await run(command, options);
  } catch (error) {
    throw new UserError(`${command[0]} could not be started: ${error.message}`);
  }
  if (result.code !== 0) {
    const tail = result.output.trimEnd().split('\n').slice(-40).join('\n');
    throw new UserError(`${tail}\n\n\`${command.join(' ')}\` failed with exit code ${result.code}.`);
  }
  return result.output;
}

/** npm as a command: the one that runs this script, else the one on the path. */
export function npm(...args) {
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js')) return [process.execPath, cli, ...args];
  return [WINDOWS ? 'npm.cmd' : 'npm', ...args];
}

/**
 * Runs `work` unless the stamp has the same key and all outputs exist.
 * @param {{name: string, doing: string, stamp: string, key: string, outputs?: string[],
 *          work: () => Promise<unknown>, log?: (text: string) => void}} step
 * @returns {Promise<boolean>} whether `work` was run
 */
export async function step({ name, doing, stamp, key, outputs = [], work, log = defaultLog }) {
  const stampFile = path.join(ROOT, stamp);
  const current =
    existsSync(stampFile) &&
    readFileSync(stampFile, 'utf8') === key &&
    outputs.every((file) => existsSync(path.join(ROOT, file)));
  if (current) return false;
  rmSync(stampFile, { force: true });
  const since = performance.now();
  log(`${name}: ${doing} ... `);
  try {
    await work();
  } catch (error) {
    log('failed\n');
    throw error;
  }
  mkdirSync(path.dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, key);
  log(`${seconds(since)}\n`);
  return true;
}

const defaultLog = (text) => process.stdout.write(text);

/** Whether a process runs. */
export const alive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** Holds `.cache/NAME.lock` while `work` runs, so that concurrent calls do not interfere. */
export async function exclusively(name, work) {
  const lock = path.join(CACHE, `${name}.lock`);
  mkdirSync(CACHE, { recursive: true });
  let said = false;
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    let holder;
    let age;
    try {
      holder = Number(readFileSync(lock, 'utf8'));
      age = Date.now() - statSync(lock).mtimeMs;
    } catch {
      continue; // just released
    }
    // An empty lock is being written, unless it stays empty.
    if (holder ? !alive(holder) : age > 5000) {
      rmSync(lock, { force: true });
      continue;
    }
    if (!said) console.error(`waiting for another ${name} (process ${holder}) to finish`);
    said = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.removeListener('exit', release);
    release();
  }
}

/** Like `parseArgs`, but wrong arguments end the script with one sentence. */
export function argumentsOf(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${error.message.split('. ')[0]}.`);
    process.exit(1);
  }
}

/** Runs a script's main function; a UserError is printed as its message, any other error with its stack. */
export function main(work) {
  work().catch((error) => {
    console.error(error instanceof UserError ? `\n${error.message}` : error);
    process.exitCode = 1;
  });
}
