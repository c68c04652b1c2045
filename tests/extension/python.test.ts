import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Logger } from '../../extension/src/base/logger';
import { privatePythons } from '../../extension/src/python/candidates';
import { bundledLibraries, pythonEnvironment } from '../../extension/src/python/environment';
import { installers, run } from '../../extension/src/python/install';
import { findInterpreter, NoInterpreterError } from '../../extension/src/python/interpreter';
import { extensions, workspace } from './vscode';

const log = { info: () => undefined, warn: () => undefined } as unknown as Logger;

describe('the Python of an installed extension', { skip: process.platform === 'win32' }, () => {
  const before_ = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  let folder: string;
  let extensionPath: string;
  let storagePath: string;

  /** A program in place of a Python: prints a sentence as requirements.py does, or is content. */
  function python(file: string, refusal?: string): string {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, refusal === undefined ? '#!/bin/sh\n' : `#!/bin/sh\necho '${refusal}' >&2\nexit 1\n`);
    chmodSync(file, 0o755);
    return file;
  }

  before(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-'));
    extensionPath = path.join(folder, 'extension');
    storagePath = path.join(folder, 'storage');
    mkdirSync(path.join(extensionPath, 'pyserver', 'libraries'), { recursive: true });
    process.env['PATH'] = path.join(folder, 'bin');
    process.env['HOME'] = path.join(folder, 'home');
  });
  afterEach(() => {
    extensions.known.clear();
    workspace.isTrusted = true;
    for (const each of ['bin', 'home', 'storage', 'envs'])
      rmSync(path.join(folder, each), { recursive: true, force: true });
  });
  after(() => {
    Object.assign(process.env, before_);
    rmSync(folder, { recursive: true });
  });

  it('has the bundled libraries before its own, and none of another Python', () => {
    process.env['PYTHONPATH'] = '/of/the/user';
    process.env['PYTHONHOME'] = '/of/the/user';
    const environment = pythonEnvironment(extensionPath);
    delete process.env['PYTHONPATH'];
    delete process.env['PYTHONHOME'];
    const folders = [path.join(extensionPath, 'pyserver'), path.join(extensionPath, 'pyserver', 'libraries')];
    assert.equal(environment['PYTHONPATH'], folders.join(path.delimiter));
    assert.equal(environment['PYTHONHOME'], undefined);
    assert.equal(environment['PYTHONSAFEPATH'], '1');
  });

  it('of a checkout keeps its own path, after memlens', () => {
    assert.equal(bundledLibraries(folder), undefined);
    const memlens = path.join(folder, 'pyserver');
    for (const [others, whole] of [
      ['/of/the/user', `${memlens}:/of/the/user`],
      ['', memlens],
    ]) {
      process.env['PYTHONPATH'] = others;
      const environment = pythonEnvironment(folder);
      delete process.env['PYTHONPATH'];
      assert.equal(environment['PYTHONPATH'], whole);
      assert.ok(!('PYTHONNOUSERSITE' in environment));
    }
  });

  it('is one with a version in its name, where python3 is too old, and the old one is refused with a sentence', async () => {
    python(
      path.join(folder, 'bin', 'python3'),
      'is Python 3.9.18 at /usr/bin/python3; Memlens needs 3.11 or later',
    );
    python(path.join(folder, 'bin', 'python3.12'));
    const looked: string[] = [];
    const found = await findInterpreter({ extensionPath, storagePath }, log, (where) => looked.push(where));
    assert.equal(found.command, 'python3.12');
    assert.equal(looked.at(-1), 'Looking for a Python on the PATH');
  });

  it('is that of Python Environments before that of the Python extension', async () => {
    const first = python(path.join(folder, 'envs', 'first'));
    const second = python(path.join(folder, 'envs', 'second'));
    const environments = { getActiveEnvironmentPath: () => ({ path: second }) };
    extensions.known.set('ms-python.python', { environments });
    extensions.known.set('ms-python.vscode-python-envs', {
      getEnvironment: () => Promise.resolve({ execInfo: { run: { executable: first } } }),
    });
    const { command } = await findInterpreter({ extensionPath, storagePath }, log);
    assert.equal(command, first);
  });

  it('is the one that was installed for it, the newest', () => {
    for (const version of ['cpython-3.9.1', 'cpython-3.13.2', 'cpython-3.13.10'])
      python(path.join(storagePath, 'python', version, 'bin', 'python3'));
    const commands = privatePythons(storagePath).map(({ command }) =>
      path.basename(path.dirname(path.dirname(command))),
    );
    assert.deepEqual(commands, ['cpython-3.13.10', 'cpython-3.13.2', 'cpython-3.9.1']);
  });

  it('is asked for with each that was refused, and why', async () => {
    const refusals = [
      'is Python 3.9.18 at /usr/bin/python3; Memlens needs 3.11 or later',
      'is a free-threaded Python',
    ];
    python(path.join(folder, 'bin', 'python3'), refusals[0]);
    python(path.join(folder, 'bin', 'python3.13'), refusals[1]);
    // Pythons in the folders of this machine's own are real, and have no memlens here.
    await assert.rejects(findInterpreter({ extensionPath, storagePath }, log), (error) => {
      assert.ok(error instanceof NoInterpreterError);
      assert.deepEqual(error.tried.slice(0, 2), [
        `python3 (the PATH): ${refusals[0]}`,
        `python3.13 (the PATH): ${refusals[1]}`,
      ]);
      return true;
    });
  });

  it('is installed by no program of the folder that the editor was started in', async () => {
    const [folder, before, { PATH }] = [
      mkdtempSync(path.join(os.tmpdir(), 'project-')),
      process.cwd(),
      process.env,
    ];
    writeFileSync(path.join(folder, 'uv'), '#!/bin/sh\n', { mode: 0o755 });
    try {
      process.chdir(folder);
      process.env['PATH'] = '.';
      await assert.rejects(run('uv', ['--version']), /ENOENT/);
    } finally {
      process.chdir(before);
      process.env['PATH'] = PATH;
      rmSync(folder, { recursive: true });
    }
  });

  it('is installed by uv into a folder of its own, else by the package manager', () => {
    const [uv, ...others] = installers('/storage', 'darwin');
    assert.ok(uv);
    assert.deepEqual(uv.args.slice(0, 2), ['python', 'install']);
    assert.ok(uv.args.includes(path.join('/storage', 'python')));
    assert.deepEqual(
      others.map(({ program }) => program),
      ['brew'],
    );
    assert.deepEqual(
      installers('/storage', 'linux').map(({ program }) => program),
      ['uv'],
    );
  });
});
