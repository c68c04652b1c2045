import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type * as vscode from 'vscode';
import { Disposable } from '../../extension/src/base/disposable';
import { isWithinAny } from '../../extension/src/base/files';
import { nameOfDump } from '../../extension/src/commands/dump';
import { nameWithoutValues } from '../../extension/src/commands/redact';
import { ViewStates } from '../../extension/src/editor/states';
import { findFiles, globFor } from '../../extension/src/server/findFiles';
import { problem, ProblemError, problemOf } from '../../extension/src/server/problem';
import { forgetPaths, readSettings, rememberPath } from '../../extension/src/settings';
import { FakeMemory, responseError, STATE } from './fakes';
import { files, settings, Uri } from './vscode';

describe('the name of a dump that is taken', () => {
  it('has the program, when, and the ending of its format', () => {
    const now = new Date(2026, 0, 2, 3, 4, 5);
    const name = (of: string) => nameOfDump({ name: of, ending: '.hprof' }, now);
    assert.equal(name('server.js'), 'server-20260102-030405.hprof');
    assert.equal(name('../..\\a: b/c\n'), 'c-20260102-030405.hprof');
    assert.equal(name('日本.jar'), '日本-20260102-030405.hprof');
    assert.equal(name('a: b'), 'a-b-20260102-030405.hprof');
    assert.equal(name(''), 'heap-20260102-030405.hprof');
  });
});

describe('a path that a language model names', () => {
  it('is within the workspace only if it is wherever it may lead', () => {
    const within = (file: string, ...folders: string[]) => isWithinAny(folders, file);
    assert.ok(within('a.pickle', '/work/one', '/work/two'));
    assert.ok(within('/work/two/a.pickle', '/work/one', '/work/two'));
    assert.ok(within('../two/a.pickle', '/work/one', '/work/two'));
    // within the second folder from there, but in no folder from the first, where it is looked for first
    assert.ok(!within('../one.pickle', '/work/one', '/work/one/deep'));
    assert.ok(!within('/etc/passwd', '/work/one'));
    assert.ok(!within('a.pickle'));
  });
});

describe('the name of a dump without values', () => {
  it('keeps the endings by which it is known and compressed', () => {
    const names = ['heap.hprof', 'heap.hprof.gz', 'a.ruby.json.zst', 'dump', '.heap'];
    assert.deepEqual(names.map(nameWithoutValues), [
      'heap-without-values.hprof',
      'heap-without-values.hprof.gz',
      'a.ruby-without-values.json.zst',
      'dump-without-values',
      '-without-values.heap',
    ]);
  });
});

describe('globs for file names', () => {
  it('match any of the names', () => {
    assert.equal(globFor([]), null);
    assert.equal(globFor(['1.2']), '**/1.2');
    assert.equal(globFor(['1.2', '3.4']), '**/{1.2,3.4}');
  });

  it('ignore case', () => {
    assert.equal(globFor(['To.p_1']), '**/[tT][oO].[pP]_1');
  });

  it('escape special characters in names', () => {
    assert.equal(globFor(['*.{1,2}', '[3]?.4', '!..\\5']), '**/{?.?1?2?,?3??.4,?..?5}');
  });

  it('are used to search the workspace, of which only local files are returned', async () => {
    files.results = [Uri.file('/w/a.py'), Uri.from({ scheme: 'vscode-vfs', path: '/w/a.py' })];
    const token = {} as vscode.CancellationToken;
    assert.deepEqual(await findFiles({ names: ['1'], ending: '' }, token), { paths: ['/w/a.py'] });
    assert.equal(files.globs.at(-1), '**/1');
    await findFiles({ names: [], ending: '.ipynb' }, token);
    assert.equal(files.globs.at(-1), '**/*.ipynb');
  });
});

describe('problems', () => {
  it('come unchanged from the server', () => {
    const damaged = problem('damaged', 'The file is damaged', 'Make another.');
    assert.deepEqual(problemOf(responseError(-32803, damaged)), damaged);
    assert.deepEqual(problemOf(new ProblemError(damaged)), damaged);
  });

  it('are made from all other errors', () => {
    assert.equal(problemOf(responseError(-32800)).code, 'cancelled');
    assert.equal(problemOf(responseError(-32603, 'text')).code, 'no-server');
    assert.equal(problemOf('odd').code, 'no-server');
    assert.equal(problemOf(new Error('closed')).retry, true);
  });
});

describe('settings', () => {
  it('are sent to the server without invalid values', async () => {
    const memory = new FakeMemory();
    Object.assign(settings, { pathMappings: { '/a': '/b', '/c': 5 }, codeLens: true, 'cache.limit': 2 });
    Object.assign(settings, {
      'lines.measure': 'total',
      libraries: ['vendor', 7, '!src'],
      'lines.attribution': 'any',
    });
    await rememberPath(memory.typed, '/x/a.py', '/w/a.py');
    assert.deepEqual(readSettings(memory.typed), {
      path_mappings: { '/a': '/b' },
      remembered_paths: { '/x/a.py': '/w/a.py' },
      findings: true,
      code_lens: true,
      hover: true,
      measure: 'total',
      attribution: 'any',
      cache_limit_bytes: 2 * 2 ** 30,
      memory_limit_bytes: 0,
      cache_directory: '',
      libraries: ['vendor', '!src'],
      source_archives: [],
      snapshots: [],
      fleets: [],
      fleet_figures: true,
      symbol_folders: [],
    });
    Object.assign(settings, {
      pathMappings: 'no',
      codeLens: 'yes',
      'cache.limit': 'much',
      'lines.measure': 5,
      libraries: 'vendor',
      'lines.attribution': 'all',
    });
    await forgetPaths(memory.typed);
    const read = readSettings(memory.typed);
    assert.deepEqual(
      [
        read.path_mappings,
        read.remembered_paths,
        read.code_lens,
        read.cache_limit_bytes,
        read.measure,
        read.libraries,
      ],
      [{}, {}, false, 10 * 2 ** 30, 'peak', []],
    );
    assert.equal(read.attribution, 'mine');
  });
});

describe('states of views', () => {
  it('are kept for the most recently used files', async () => {
    const states = new ViewStates(new FakeMemory().typed);
    for (let number = 0; number < 60; number++)
      await states.set(`file:///${number}`, { ...STATE, device: number });
    await states.set('file:///59', { ...STATE, device: 100 });
    assert.deepEqual(states.get('file:///59'), { ...STATE, device: 100 });
    assert.deepEqual(states.get('file:///10'), { ...STATE, device: 10 });
    assert.equal(states.get('file:///9'), null);
  });
});

describe('an owner of disposables', () => {
  class Owner extends Disposable {
    add(name: string, gone: string[]): void {
      this.own({ dispose: () => gone.push(name) });
    }
  }

  it('disposes of them once, the last one first, and of late ones at once', () => {
    const gone: string[] = [];
    const owner = new Owner();
    owner.add('a', gone);
    owner.add('b', gone);
    owner.dispose();
    owner.dispose();
    owner.add('late', gone);
    assert.deepEqual(gone, ['b', 'a', 'late']);
  });
});
