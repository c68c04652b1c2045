import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type * as vscode from 'vscode';
import type { Logger } from '../../extension/src/base/logger';
import type { Server } from '../../extension/src/server/client';
import { anonymous, diagnostics } from '../../extension/src/server/diagnostics';
import { inspected, settings } from './vscode';

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
      assert.match(said, /^server: running, 2 snapshots open$/m);
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
