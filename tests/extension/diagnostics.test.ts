import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type * as vscode from 'vscode';
import type { Logger } from '../../extension/src/base/logger';
import type { Server } from '../../extension/src/server/client';
import { registerServerCommands } from '../../extension/src/commands/server';
import { anonymous, diagnostics } from '../../extension/src/server/diagnostics';
import { commands, env, inspected, settings, shown } from './vscode';

const log = { info: () => undefined, warn: () => undefined } as unknown as Logger;
const server = { health: 'running', open: 2 } as unknown as Server;

function context(folder: string): vscode.ExtensionContext {
  const place = { fsPath: folder };
  return {
    extensionPath: folder,
    globalStorageUri: place,
    logUri: place,
    workspaceState: { get: () => undefined },
    extension: {
      packageJSON: {
        version: '1.2.3',
        bugs: { url: 'https://repository.invalid/some/one/issues' },
        contributes: { configuration: { properties: { 'memlens.interpreter': {} } } },
      },
    },
  } as unknown as vscode.ExtensionContext;
}

test(
  'diagnostics have what VS Code knows, the Python with its reason, and what the command prints',
  { skip: process.platform === 'win32' },
  async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-'));
    const python = path.join(folder, 'python');
    try {
      // the check passes; the command prints its arguments
      writeFileSync(python, '#!/bin/sh\n[ "$1" = -c ] || echo "ran: $*"\n');
      chmodSync(python, 0o755);
      settings['interpreter'] = python;
      inspected['memlens.interpreter'] = { globalValue: python };
      const said = await diagnostics(context(folder), server, log);
      assert.match(said, /^extension: Memlens 1\.2\.3$/m);
      assert.match(said, /^editor: An Editor 1\.200\.0 on the desktop, in en$/m);
      assert.match(said, /^settings: memlens\.interpreter$/m);
      assert.match(said, /^server: running, open snapshots: 2$/m);
      assert.ok(said.includes(`this Python: ${python} (the setting memlens.interpreter)`));
      assert.match(said, /^ran: -m memlens diagnostics --cache-limit \d+$/m);

      writeFileSync(python, '#!/bin/sh\necho "is Python 3.9" >&2\nexit 1\n');
      const broken = await diagnostics(context(folder), server, log);
      assert.ok(
        broken.includes(`not this Python: ${python} (the setting memlens.interpreter): is Python 3.9`),
      );
    } finally {
      delete settings['interpreter'];
      delete inspected['memlens.interpreter'];
      rmSync(folder, { recursive: true });
    }
  },
);

test('home folders and the name of the account become tildes', () => {
  const said = (text: string): string => anonymous(text, '/srv/homes/ada', 'adalove');
  assert.equal(said('/srv/homes/ada/.venv /srv/homes/adam'), '~/.venv /srv/homes/adam');
  assert.equal(said('/home/grace/x C:\\Users\\Grace Hopper\\x /Users/Shared/x'), '~/x ~\\x /Users/Shared/x');
  assert.equal(said('/data/adalove/x adaloves'), '/data/~/x adaloves');
  assert.equal(anonymous('/usr/bin/python', '/', 'root'), '/usr/bin/python');
});

test('the command copies them, says so, and offers no page that does not exist', async (run) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-'));
  settings['interpreter'] = path.join(folder, 'none');
  const copied: string[] = [];
  run.mock.method(env.clipboard, 'writeText', (text: string) => Promise.resolve(copied.push(text)));
  const memory = { get: () => undefined } as unknown as vscode.Memento;
  const registered = registerServerCommands(server, memory, context(folder), log);
  try {
    shown.length = 0;
    await commands.executeCommand('memlens.copyDiagnostics');
    assert.equal(copied.length, 1);
    assert.match(copied[0] ?? '', /^No Python that can run Memlens was found\nnot this Python: .*ENOENT$/m);
    assert.deepEqual(
      shown.map(({ text }) => text),
      ['The diagnostics were copied'],
    );
  } finally {
    registered.dispose();
    delete settings['interpreter'];
    rmSync(folder, { recursive: true });
  }
});
