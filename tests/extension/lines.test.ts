import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type * as vscode from 'vscode';
import type { FileHeat, HeatLine } from '../../extension/shared/protocol.gen';
import { bytes } from '../../extension/shared/bytes';
import { formatValue } from '../../extension/src/base/figures';
import { documentOf } from '../../extension/src/lines/documents';
import { EditTracker, editsOf } from '../../extension/src/lines/edits';
import { LineHeat } from '../../extension/src/lines/heat';
import { next } from '../../extension/src/lines/navigate';
import { hotLines, stepOf } from '../../extension/src/lines/words';
import { FakeMemory, FakeServer, log, settle } from './fakes';
import { commands, contexts, events, FakeEditor, FakeText, Uri, window, workspace } from './vscode';

const MIB = 1 << 20;

function heatLine(line: number, peak: number, more: Partial<HeatLine> = {}): HeatLine {
  return {
    ...{ line, function: 'f', kind: 'user', live_at_peak_bytes: peak, total_bytes: peak * 2, count: 1 },
    ...{
      source: 'recorded',
      self_live_at_peak_bytes: peak,
      self_total_bytes: peak * 2,
      changed: null,
      ...more,
    },
  };
}

function fileHeat(title: string, lines: HeatLine[]): FileHeat {
  return {
    ...{ snapshot: title, title, path: `/${title}`, file: 'a.py', note: '', attribution: 'mine' },
    ...{ peak: { words: 'live at peak', unit: 'bytes' }, total: { words: 'in total', unit: 'bytes' } },
    ...{ most_live_at_peak_bytes: 64 * MIB, most_total_bytes: 128 * MIB, lines },
  };
}

describe('figures of lines', () => {
  it('are sizes, formatted as in the server', () => {
    const sizes = [0, 1023, 1024, 10_240, 1_342_177_280, 2 ** 60];
    assert.deepEqual(sizes.map(bytes), [...['0 B', '1023 B', '1 KiB', '10 KiB', '1.25 GiB', '1 EiB']]);
  });

  it('are values of profiles in their units', () => {
    const written = [
      formatValue(2048, 'bytes'),
      formatValue(1234, 'count'),
      formatValue(1_500_000, 'nanoseconds'),
      formatValue(90, 'seconds'),
      formatValue(7, 'widgets'),
      formatValue(7, 'constructor'),
    ];
    assert.deepEqual(written, ['2 KiB', '1,234', '1.5 ms', '90 s', '7 widgets', '7 constructor']);
  });

  it('are hotter by factors of four, in six steps', () => {
    const bytes = [64, 17, 16, 4, 1, 0.25, 0.0625, 1e-9, 0];
    assert.deepEqual(
      bytes.map((each) => stepOf(each * MIB, 64 * MIB)),
      [6, 6, 5, 4, 3, 2, 1, 1, 0],
    );
    assert.equal(stepOf(5, 0), 0);
  });

  it('show what was allocated in calls, and omit lines without any', () => {
    const own = heatLine(3, MIB);
    const part = heatLine(5, 64 * MIB, { self_live_at_peak_bytes: MIB, self_total_bytes: 0 });
    const none = heatLine(4, 0, { total_bytes: MIB, self_total_bytes: MIB });
    const library = heatLine(6, MIB, { kind: 'library', self_live_at_peak_bytes: 1024 });
    const files = [fileHeat('a.pickle', [part, own, none])];
    assert.deepEqual(hotLines(files, 'peak'), [
      { line: 3, step: 3, stale: false, text: '1 MiB live at peak' },
      { line: 5, step: 6, stale: false, text: '64 MiB live at peak, 1 MiB by itself (my code)' },
    ]);
    assert.deepEqual(
      hotLines(files, 'total').map(({ line, text }) => [line, text]),
      [
        [3, '2 MiB in total'],
        [4, '1 MiB in total'],
        [5, '128 MiB in total, all of it in calls'],
      ],
    );
    const [line] = hotLines([fileHeat('a.pickle', [library])], 'peak');
    assert.equal(line?.text, '1 MiB live at peak, 1 KiB by itself (my code, library)');
    const any = { ...fileHeat('a.pickle', [library]), attribution: 'any' as const };
    assert.equal(hotLines([any], 'peak')[0]?.text, '1 MiB live at peak, 1 KiB by itself (any code)');
    const forward = heatLine(7, MIB, { source: 'forward' });
    assert.equal(hotLines([fileHeat('a', [forward])], 'peak')[0]?.text, '1 MiB live at peak (forward)');
  });

  it('name each of several snapshots, and changed lines', () => {
    const changed = { message: 'Changed: `f` is now at line 40', lines: [40] };
    const stale = fileHeat('b.pickle', [heatLine(3, MIB, { changed })]);
    assert.deepEqual(hotLines([fileHeat('a.pickle', [heatLine(3, 64 * MIB)]), stale], 'peak'), [
      {
        ...{ line: 3, step: 6, stale: false },
        text:
          'a.pickle: 64 MiB live at peak · ' +
          'Changed: `f` is now at line 40 (b.pickle: 1 MiB live at peak then)',
      },
    ]);
    const many = ['a', 'b', 'c', 'd', 'e'].map((title) => fileHeat(title, [heatLine(1, MIB)]));
    assert.match(hotLines(many, 'peak')[0]?.text ?? '', /c: 1 MiB live at peak · and 2 more$/);
    assert.equal(hotLines([stale], 'peak')[0]?.stale, true);
  });
});

describe('the next line', () => {
  it('is the nearest one, else the first from the other end', () => {
    const lines = [3, 7, 9];
    assert.deepEqual(next(lines, 3, 1), { line: 7, wrapped: false });
    assert.deepEqual(next(lines, 1, 1), { line: 3, wrapped: false });
    assert.deepEqual(next(lines, 9, 1), { line: 3, wrapped: true });
    assert.deepEqual(next(lines, 8, -1), { line: 7, wrapped: false });
    assert.deepEqual(next(lines, 2, -1), { line: 9, wrapped: true });
    assert.deepEqual(next([5], 5, 1), { line: 5, wrapped: true });
    assert.equal(next([], 5, 1), null);
  });
});

describe('documents', () => {
  it('are local files, and cells of local notebooks', () => {
    assert.deepEqual(documentOf(new FakeText('/w/a.py', 'x').typed), { path: '/w/a.py', cell: null });
    const remote = new FakeText(Uri.from({ scheme: 'git', path: '/w/a.py' }), 'x');
    assert.equal(documentOf(remote.typed), null);
    const cell = new FakeText(Uri.from({ scheme: 'vscode-notebook-cell', path: '/w/b.ipynb' }), 'y = 1');
    assert.equal(documentOf(cell.typed), null);
    workspace.notebookDocuments = [{ uri: Uri.file('/w/b.ipynb'), getCells: () => [{ document: cell }] }];
    assert.deepEqual(documentOf(cell.typed), { path: '/w/b.ipynb', cell: 'y = 1' });
    workspace.notebookDocuments = [];
  });
});

/** What a change of `range` (from line and column, to line and column, counted from 0) to `text` does to lines. */
function editOf(after: string, range: [number, number, number, number], text: string): unknown {
  const [line, character, endLine, endCharacter] = range;
  const places = { start: { line, character }, end: { line: endLine, character: endCharacter } };
  const contentChanges = [{ range: places, text }] as unknown as vscode.TextDocumentContentChangeEvent[];
  return editsOf({ document: new FakeText('/w/a.py', after).typed, contentChanges });
}

describe('edits', () => {
  it('move lines with their text', () => {
    // Enter before the first word pushes the line down, one after it doesn't
    assert.deepEqual(editOf('\n  x = 1', [0, 2, 0, 2], '\n  '), [{ line: 1, removed: 0, added: 1 }]);
    assert.deepEqual(editOf('x = 1\n', [0, 5, 0, 5], '\n'), [{ line: 2, removed: 0, added: 1 }]);
    assert.deepEqual(editOf('a\nd', [1, 0, 3, 0], ''), [{ line: 2, removed: 2, added: 0 }]);
    assert.deepEqual(editOf('ab', [0, 1, 1, 0], ''), [{ line: 2, removed: 1, added: 0 }]);
    assert.deepEqual(editOf('a\r\nb\r\nc', [0, 0, 0, 0], 'a\r\nb\r\n'), [{ line: 1, removed: 0, added: 2 }]);
    assert.deepEqual(editOf('xy', [0, 1, 0, 1], 'y'), []);
  });

  it('are reported in order while a snapshot is open, and so are saving, discarding and reloading', async () => {
    const server = new FakeServer();
    const tracker = new EditTracker(server.typed, log);
    const text = new FakeText('/w/a.py', 'x\ny');
    const enter = {
      document: text,
      contentChanges: [{ range: range(0, 0, 0, 0), text: '\n' }],
      reason: undefined,
    };
    text.isDirty = true;
    events.changed.fire(enter);
    assert.equal(server.requests.length, 0, 'nothing is open');
    server.setOpen(1);
    events.changed.fire(enter);
    events.changed.fire({ ...enter, contentChanges: [{ range: range(0, 0, 0, 0), text: 'z' }] });
    events.saved.fire(text);
    events.closed.fire(text);
    events.closed.fire(text);
    const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 250));
    const reported = (): unknown[] => server.requests.map(({ params }) => params['what']);
    assert.deepEqual(reported(), ['edited', 'saved', 'discarded']);
    assert.deepEqual(server.requests[0]?.params['edits'], [{ line: 1, removed: 0, added: 1 }]);
    text.isDirty = false;
    events.changed.fire({ ...enter, reason: 1 });
    await later();
    assert.deepEqual(reported().slice(3), ['edited'], 'undo is not a change on disk');
    events.changed.fire(enter);
    text.isDirty = true;
    await later();
    events.changed.fire(enter);
    text.isDirty = false;
    events.saved.fire(text);
    await later();
    assert.deepEqual(reported().slice(4), ['edited', 'edited', 'saved']);
    events.changed.fire(enter);
    await later();
    assert.deepEqual(reported().slice(7), ['edited', 'reloaded']);
    const other = new FakeText(Uri.from({ scheme: 'untitled', path: 'x' }), '');
    events.changed.fire({ ...enter, document: other });
    assert.equal(server.requests.length, 9);
    let moved = 0;
    tracker.onDidMove(() => moved++);
    for (const request of server.requests) request.resolve({});
    await settle();
    assert.equal(moved, 9);
    tracker.dispose();
  });
});

function range(line: number, character: number, endLine: number, endCharacter: number): unknown {
  return { start: { line, character }, end: { line: endLine, character: endCharacter } };
}

describe('the heat of lines', () => {
  const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200));

  async function shown(): Promise<{ server: FakeServer; heat: LineHeat; editor: FakeEditor }> {
    const server = new FakeServer();
    const memory = new FakeMemory();
    await memory.update('memlens.heatShown', true);
    const editor = new FakeEditor(new FakeText('/w/a.py', 'a\nb\n  c\nd'));
    window.visibleTextEditors = [editor];
    const views = {
      shownValues: [{ snapshot: 'p', value: 2 }],
      onDidChangeValues: server.sourcesChanged.event,
    };
    const tracker = { onDidMove: server.sourcesChanged.event } as unknown as EditTracker;
    return { server, heat: new LineHeat(server.typed, memory.typed, views, tracker, log), editor };
  }

  it('sends no requests without a snapshot, and few while it is not shown', async () => {
    const { server, heat, editor } = await shown();
    events.visible.fire([]);
    await wait();
    assert.equal(server.requests.length, 0);
    await commands.executeCommand('memlens.hideLineHeat');
    server.setOpen(1);
    await wait();
    server.last('memlens/knownDocuments').resolve({ known: [true] });
    await settle();
    assert.equal(server.count('memlens/lineHeat'), 0);
    assert.deepEqual(contexts.get('memlens.paths'), ['/w/a.py', '\\w\\a.py']);
    assert.equal(editor.drawn.size, 0);
    heat.dispose();
  });

  it('is drawn after a delay, and removed with the last snapshot', async () => {
    const { server, heat, editor } = await shown();
    server.setOpen(1);
    server.setOpen(2);
    await wait();
    assert.equal(server.count('memlens/knownDocuments'), 1);
    server.last('memlens/knownDocuments').resolve({ known: [true] });
    await settle();
    server.last('memlens/lineFindings').resolve({ lines: [2, 40] });
    await settle();
    const marked = [...editor.drawn.values()].flat().map(({ range: at }) => at?.start.line);
    assert.deepEqual(marked, [1], 'of the lines that there are');
    const changed = { message: 'Changed', lines: [] };
    const lines = [heatLine(3, 64 * MIB), heatLine(4, MIB, { changed }), heatLine(40, MIB)];
    const asked = server.last('memlens/lineHeat');
    assert.deepEqual(asked.params['shown'], [{ snapshot: 'p', value: 2 }]);
    asked.resolve({ files: [fileHeat('a.pickle', lines)] });
    await settle();
    const texts = [...editor.drawn.values()]
      .flat()
      .filter(({ renderOptions }) => renderOptions !== undefined);
    assert.deepEqual(
      texts.map(({ range: at, renderOptions }) => [
        at?.start.line,
        at?.start.character,
        renderOptions?.after?.contentText,
      ]),
      [
        [2, 2, '64 MiB live at peak'],
        [3, 0, 'Changed (1 MiB live at peak then)'],
      ],
    );
    const places = [...editor.drawn.values()].filter((each) => each.length > 0).length;
    assert.equal(places, 4, 'a finding, a bar, the outline of one, and the texts');
    server.setOpen(0);
    await wait();
    assert.ok([...editor.drawn.values()].every((each) => each.length === 0));
    heat.dispose();
  });

  it('does not draw superseded answers', async () => {
    const { server, heat, editor } = await shown();
    server.setOpen(1);
    await wait();
    const first = server.last('memlens/knownDocuments');
    events.visible.fire([]);
    await wait();
    first.resolve({ known: [true] });
    await settle();
    assert.equal(server.count('memlens/lineHeat'), 0);
    assert.equal(editor.drawn.size, 0);
    heat.dispose();
  });
});
