import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import type * as vscode from 'vscode';
import { saveText } from '../../extension/src/commands/save';
import type { SnapshotView } from '../../extension/src/editor/view';
import { FakeServer, responseError, settle } from './fakes';
import { env, shown, Uri, window, workspace } from './vscode';

const SNAPSHOT = Uri.file('/jobs/a run.pickle');
const REFUSED = {
  code: 'would-overwrite',
  message: 'a run.pickle can’t be written over itself: it is the file that is read',
  advice: 'Choose another file.',
  offset: null,
  retry: false,
};
const view = { uri: SNAPSHOT } as unknown as SnapshotView;
const dialogOfEditor = window.showSaveDialog;

describe('what a view has made', () => {
  let server: FakeServer;
  let asked: vscode.SaveDialogOptions[];
  let chosen: Uri | undefined;
  let browsed: string[];
  const errors = (): string[] => shown.filter(({ where }) => where === 'error').map(({ text }) => text);

  beforeEach(() => {
    server = new FakeServer();
    asked = [];
    browsed = [];
    shown.length = 0;
    chosen = Uri.file('/out/rows.csv');
    // VS Code's own dialog asks before it returns a file that exists
    window.showSaveDialog = (options) => {
      asked.push(options as vscode.SaveDialogOptions);
      return Promise.resolve(chosen);
    };
    Object.assign(env, {
      openExternal: (target: Uri) => {
        browsed.push(target.fsPath);
        return Promise.resolve(true);
      },
    });
  });
  after(() => {
    window.showSaveDialog = dialogOfEditor;
  });

  it('is written by the server to the file of the dialog, which is asked each time', async () => {
    const saving = saveText(server.typed, view, 'csv', 'a,b\n');
    await settle();
    assert.equal(String(asked[0]?.defaultUri?.path), '/jobs/a run.pickle/../a run-query.csv');
    assert.deepEqual(asked[0]?.filters, { CSV: ['csv'] });
    const { params, resolve } = server.last('memlens/save');
    assert.deepEqual(params, {
      source: SNAPSHOT.fsPath,
      path: '/out/rows.csv',
      text: 'a,b\n',
      form: 'utf8',
    });
    resolve({});
    await saving;
    const again = saveText(server.typed, view, 'png', 'AAAA');
    await settle();
    assert.equal(asked.length, 2);
    assert.equal(server.last('memlens/save').params['form'], 'base64');
    server.last('memlens/save').resolve({});
    await again;
    assert.deepEqual(errors(), []);
    assert.deepEqual(browsed, []);
  });

  it('is not written when the dialog, or its question about a file that exists, is cancelled', async () => {
    chosen = undefined;
    await saveText(server.typed, view, 'json', '[]');
    assert.equal(asked.length, 1);
    assert.equal(server.count('memlens/save'), 0);
    assert.deepEqual(shown, []);
  });

  it('is not written over the snapshot: the refusal is shown, and no report is offered', async () => {
    chosen = SNAPSHOT;
    const saving = saveText(server.typed, view, 'html', '<p>');
    await settle();
    const { params, reject } = server.last('memlens/save');
    assert.equal(params['path'], params['source']);
    reject(responseError(-32803, REFUSED));
    await saving;
    assert.deepEqual(errors(), [`${REFUSED.message}. ${REFUSED.advice}`]);
    assert.deepEqual(browsed, []);
  });

  it('is opened in the browser, if it is a report and the user wants that', async () => {
    chosen = Uri.file('/out/report.html');
    const saving = saveText(server.typed, view, 'html', '<p>');
    await settle();
    server.last('memlens/save').resolve({});
    await saving;
    assert.deepEqual(browsed, ['/out/report.html']);
  });

  it('is written whole or not at all where the server can’t write', async () => {
    const done: string[] = [];
    let isFull = false;
    Object.assign(workspace, {
      fs: {
        writeFile: (to: Uri, data: Uint8Array) => {
          done.push(`write ${to.path} ${Buffer.from(data).toString()}`);
          return Promise.resolve();
        },
        rename: (from: Uri, to: Uri, options: { overwrite: boolean }) => {
          if (isFull) return Promise.reject(new Error('no room'));
          done.push(`rename ${from.path} ${to.path} ${options.overwrite}`);
          return Promise.resolve();
        },
        delete: (file: Uri) => {
          done.push(`delete ${file.path}`);
          return Promise.resolve();
        },
      },
    });
    chosen = Uri.from({ scheme: 'memfs', path: '/rows.csv' });
    const partial = `/rows.csv.partial-${process.pid}`;
    await saveText(server.typed, view, 'csv', 'a');
    assert.deepEqual(done.splice(0), [`write ${partial} a`, `rename ${partial} /rows.csv true`]);
    assert.deepEqual(errors(), []);
    isFull = true;
    await saveText(server.typed, view, 'csv', 'a');
    assert.deepEqual(done, [`write ${partial} a`, `delete ${partial}`]);
    assert.deepEqual(errors(), ['/rows.csv could not be written: no room']);
    assert.equal(server.count('memlens/save'), 0);
  });
});
