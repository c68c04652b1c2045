import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Logger } from '../../extension/src/base/logger';
import { findInterpreter, NoInterpreterError } from '../../extension/src/python/interpreter';
import { missingPython } from '../../extension/src/server/missingPython';
import { extensions, settings, workspace } from './vscode';

const PATH = process.env['PATH'];

describe('the Python that runs the server', { skip: process.platform === 'win32' }, () => {
  let folder: string;
  /** What the Python extension calls the workspace's own: anything can be in it. */
  let python: string;
  let ran: string;
  const log = { info: () => undefined, warn: () => undefined } as unknown as Logger;

  before(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-'));
    python = path.join(folder, 'python-of-the-workspace');
    ran = path.join(folder, 'ran');
    writeFileSync(python, `#!/bin/sh\necho > '${ran}'\n`);
    chmodSync(python, 0o755);
    const environments = { getActiveEnvironmentPath: () => ({ path: python }) };
    extensions.known.set('ms-python.python', { environments });
    process.env['PATH'] = path.join(folder, 'none');
  });
  afterEach(() => {
    rmSync(ran, { force: true });
    extensions.activated.clear();
    workspace.isTrusted = true;
    delete settings['interpreter'];
  });
  after(() => {
    process.env['PATH'] = PATH;
    extensions.known.clear();
    rmSync(folder, { recursive: true });
  });

  it('is that of the Python extension in a trusted workspace', async () => {
    workspace.isTrusted = true;
    const interpreter = await findInterpreter({ extensionPath: folder, storagePath: folder }, log);
    assert.equal(interpreter.command, python);
    assert.ok(existsSync(ran));
  });

  it('is not that of the Python extension in an untrusted workspace, which is not run', async () => {
    workspace.isTrusted = false;
    await assert.rejects(findInterpreter({ extensionPath: folder, storagePath: folder }, log), (error) => {
      assert.ok(error instanceof NoInterpreterError);
      assert.deepEqual(
        error.tried.filter((text) => text.includes(python)),
        [],
      );
      return true;
    });
    assert.ok(!existsSync(ran));
    assert.deepEqual([...extensions.activated], []);
  });

  it('is only that of the setting, if it is set', async () => {
    settings['interpreter'] = path.join(folder, 'missing');
    await assert.rejects(
      findInterpreter({ extensionPath: folder, storagePath: folder }, log),
      NoInterpreterError,
    );
    assert.ok(!existsSync(ran));
  });

  it('is named on the page with its place, if it is too old or too new', async () => {
    mkdirSync(path.join(folder, 'pyserver', 'libraries'), { recursive: true });
    const place = path.join(folder, 'python of a system');
    const says = (sentence: string): void => {
      writeFileSync(place, `#!/bin/sh\necho 'a warning' >&2\necho '${sentence}' >&2\nexit 1\n`);
      chmodSync(place, 0o755);
    };
    const shown = async (): Promise<[code: string, message: string]> => {
      const found = findInterpreter({ extensionPath: folder, storagePath: folder }, log);
      const error: unknown = await found.catch((reason: unknown) => reason);
      assert.ok(error instanceof NoInterpreterError);
      const { problem } = missingPython(folder, error);
      assert.ok(problem.retry);
      return [problem.code, problem.message];
    };
    settings['interpreter'] = place;
    says(`is Python 3.9.2 at ${place}; Memlens needs 3.11 or later`);
    const old = `Python 3.9.2 at ${place} is too old: Memlens needs 3.11 or later`;
    assert.deepEqual(await shown(), ['no-python', old]);
    says(`is Python 3.15.0 at ${place}; this version of Memlens is for 3.11 to 3.14`);
    const newer = `Python 3.15.0 at ${place} is too new: this version of Memlens is for 3.11 to 3.14`;
    assert.deepEqual(await shown(), ['no-python', newer]);
    says('No module named numpy');
    const none = 'Memlens needs Python 3.11 to 3.14, which was not found';
    assert.deepEqual(await shown(), ['no-python', none]);
    rmSync(path.join(folder, 'pyserver'), { recursive: true });
    const [code, message] = await shown();
    assert.deepEqual([code, message], ['no-libraries', 'A Python with the memlens package was not found']);
    // which says its version only if it finds the file that asks for it
    const sentence = `is Python 3.9.2 at ${place}; Memlens needs 3.11 or later`;
    const asked = '[ -f "${PYTHONPATH%%:*}/memlens/server/requirements.py" ]';
    writeFileSync(place, `#!/bin/sh\n${asked} && echo '${sentence}' >&2\nexit 1\n`);
    mkdirSync(path.join(folder, 'pyserver', 'memlens', 'server'), { recursive: true });
    writeFileSync(path.join(folder, 'pyserver', 'memlens', 'server', 'requirements.py'), '');
    assert.deepEqual(await shown(), ['no-libraries', old]);
  });
});
