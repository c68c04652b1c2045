// Words of the view: figures, names from hostile files, frames, keys, and the state that comes back.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AllocationSummary, Frame } from '../../extension/shared/protocol.gen';
import { BOX_KEYS, FLAME_KEYS, STACK_KEYS } from '../../webview/src/flame/keys';
import { GRAPH_COMMANDS } from '../../webview/src/graph/commands';
import { PROFILE_COMMANDS } from '../../webview/src/profile/commands';
import { KeyTable } from '../../webview/src/shell/key-table';
import { TIMELINE_COMMANDS } from '../../webview/src/timeline/commands';
import { wheelTurn } from '../../webview/src/widgets/wheel';
import { Names } from '../../webview/src/base/names';
import { restoreState } from '../../webview/src/timeline/state';
import { shorterNames, shortName } from '../../webview/src/base/symbols';
import { bandTexts, bytes, exactBytes, time } from '../../webview/src/base/format';
import { baseName, fileName, learnFileNames } from '../../webview/src/base/paths';
import { foldFrames, partsOf } from '../../webview/src/timeline/frames-list';
import { shorten, visible } from '../../webview/src/base/text';
import { FakeServer } from './support/fake-server';
import { trainingRun } from './support/training-run';

describe('figures', () => {
  it('have a unit and three digits', () => {
    const cases: [number, string][] = [
      [0, '0 B'],
      [512, '512 B'],
      [1023, '1023 B'],
      [1024, '1 KiB'],
      [1536, '1.50 KiB'],
      [1023 * 1024, '1.00 MiB'],
      [512 * 2 ** 20, '512 MiB'],
      [1.234 * 2 ** 30, '1.23 GiB'],
      [20.04 * 2 ** 30, '20.0 GiB'],
      [80 * 2 ** 40, '80 TiB'],
    ];
    for (const [value, text] of cases) assert.equal(bytes(value), text);
    assert.equal(exactBytes(1), '1 byte');
    assert.equal(exactBytes(1234567), '1,234,567 bytes');
    const times: [number, string][] = [
      [0, '0 µs'],
      [17, '17 µs'],
      [-0.04, '0 µs'],
      [1500, '1.5 ms'],
      [12_125, '12.13 ms'],
      [545_560, '545.6 ms'],
      [120_000, '120 ms'],
      [1_204_000, '1.204 s'],
      [125e6, '2 min 5 s'],
      [7300e6, '2 h 1 min'],
      [86400e6 * 11.5, '11.5 d'],
    ];
    for (const [us, text] of times) assert.equal(time(us), text);
  });
});

describe('a name with little room', () => {
  it('loses parameters first, then arguments, then what it begins with', () => {
    assert.deepEqual(shorterNames('std::vector<Node, std::allocator<Node>>::push_back(Node const&) const'), [
      'std::vector<Node, std::allocator<Node>>::push_back(Node const&) const',
      'std::vector<Node, std::allocator<Node>>::push_back',
      'std::vector<…>::push_back',
      'vector<…>::push_back',
      'push_back',
    ]);
    assert.deepEqual(shorterNames('go/parser.(*parser).parseStmt'), [
      'go/parser.(*parser).parseStmt',
      'parser.(*parser).parseStmt',
      '(*parser).parseStmt',
      'parseStmt',
    ]);
    assert.deepEqual(shorterNames('<T as alloc::Box>::new'), ['<T as alloc::Box>::new', 'new']);
    assert.deepEqual(shorterNames('svc::run::{{closure}}'), ['svc::run::{{closure}}', 'run::{{closure}}']);
    assert.equal(shortName('svc::run::{{closure}}', 12), 'run::{…ure}}');
  });

  it('is whole where it has no parts', () => {
    for (const name of [
      'forward',
      '<module>',
      'step (forward)',
      'model.py:12',
      '/usr/lib/libc.so.6',
      'a->b',
      '',
    ])
      assert.deepEqual(shorterNames(name), [name]);
    assert.deepEqual(shorterNames('operator new(unsigned long)').at(-1), 'operator new');
    assert.deepEqual(shorterNames('a::operator<(a::b<c> const&)'), ['a::operator<(a::b<c> const&)']);
  });
});

describe('names from a file', () => {
  it('can neither hide nor reorder anything', () => {
    assert.equal(visible('a\u202egnp.exe\u2066'), 'a<U+202E>gnp.exe<U+2066>');
    assert.equal(visible('two\nlines\u0000\u007f'), 'two␊lines␀␡');
    assert.equal(visible('zero\u200bwidth\ufeff'), 'zero<U+200B>width<U+FEFF>');
    assert.equal(visible('half \ud83d and whole \ud83d\ude00'), 'half \ufffd and whole \ud83d\ude00');
    assert.equal(visible('<img src=x onerror=alert(1)>'), '<img src=x onerror=alert(1)>');
    assert.equal(visible('größe_混合.py'), 'größe_混合.py');
    assert.equal(visible('\u3164'), '<U+3164>');
  });

  it('stay in their line: marks are stacked no higher than any language does, and on no other text', () => {
    assert.equal(visible(`z${'\u0301'.repeat(300)}algo`), 'z\u0301\u0301\u0301\u0301\ufffdalgo');
    assert.equal(visible('\u0301a'), '\u25cc\u0301a');
    for (const text of ['Việt', 'शक्ति', 'שָׁלוֹם', 'น้ำ'])
      assert.equal(visible(text.normalize('NFD')), text.normalize('NFD'));
  });

  it('are shortened in the middle, whole characters only, however long', () => {
    assert.equal(shorten('abcdefghij', 10), 'abcdefghij');
    assert.equal(shorten('abcdefghijk', 10), 'abcde…hijk');
    assert.equal(Array.from(shorten('😀'.repeat(50), 9)).length, 9);
    assert.ok(!shorten('😀'.repeat(50), 9).includes('\ufffd'));
    // A text that would not fit into an array of its characters.
    assert.equal(Array.from(shorten('x'.repeat(200_000_000), 60)).length, 60);
  });

  it('of files are cut at any separator', () => {
    assert.equal(baseName('/home/dev/train.py'), 'train.py');
    assert.equal(baseName('C:\\work\\train.py'), 'train.py');
    assert.equal(baseName('train.py'), 'train.py');
  });

  it('of files are as long as it takes to distinguish them', () => {
    learnFileNames({ '/src/vec/mod.rs': 'vec/mod.rs', __proto__: 'no' });
    assert.equal(fileName('/src/vec/mod.rs'), 'vec/mod.rs');
    assert.equal(fileName('/src/main.rs'), 'main.rs');
    assert.equal(fileName('__proto__'), '__proto__');
    learnFileNames({});
    assert.equal(fileName('/src/vec/mod.rs'), 'mod.rs');
  });
});

describe('frames', () => {
  it('fold where they are not one’s own, and none is lost', () => {
    const frame = (kind: Frame['kind'], line: number): Frame => ({
      file: 'f.py',
      line,
      function: 'f',
      kind,
      source: 'recorded',
    });
    const frames = [
      frame('native', 0),
      frame('library', 1),
      frame('user', 2),
      frame('library', 3),
      frame('user', 4),
      frame('user', 5),
      frame('library', 6),
      frame('library', 7),
    ];
    const runs = foldFrames(frames);
    assert.deepEqual(
      runs.map((run) => [run.folded, run.frames.length]),
      [
        [true, 2],
        [false, 1],
        [false, 1],
        [false, 1],
        [false, 1],
        [true, 2],
      ],
    );
    assert.deepEqual(
      runs.flatMap((run) => run.frames),
      frames,
    );
  });
});

describe('input', () => {
  const tables = {
    timeline: new KeyTable(TIMELINE_COMMANDS),
    profile: new KeyTable(PROFILE_COMMANDS),
    graph: new KeyTable(GRAPH_COMMANDS),
    ...{ FLAME_KEYS, STACK_KEYS, BOX_KEYS },
  };
  const press = (
    key: string,
    held: Partial<Record<'shiftKey' | 'altKey' | 'ctrlKey' | 'metaKey', boolean>> = {},
  ) =>
    tables.timeline.actionOf({
      key,
      shiftKey: false,
      altKey: false,
      ctrlKey: false,
      metaKey: false,
      ...held,
    });

  it('gives every key to one action', () => {
    for (const rows of [TIMELINE_COMMANDS, PROFILE_COMMANDS, GRAPH_COMMANDS]) {
      const actions = rows.map(({ action }) => action);
      assert.equal(new Set(actions).size, actions.length, 'an action has one row');
    }
    for (const [name, { rows }] of Object.entries(tables)) {
      const keys = rows.flatMap(({ keys: each = [] }) => each);
      assert.ok(keys.length > 4, name);
      assert.equal(new Set(keys).size, keys.length, name);
    }
    assert.equal(press('P', { shiftKey: true }), null);
    assert.equal(press('P'), 'peak', 'caps lock');
    assert.equal(press('+', { shiftKey: true }), 'zoomIn');
    assert.equal(press('?', { shiftKey: true }), 'help');
    assert.equal(press('ArrowUp', { altKey: true }), 'younger');
    assert.equal(press('Enter', { metaKey: true }), 'openSourceBeside');
    assert.equal(press('c', { ctrlKey: true }), null, 'copying is not ours');
  });

  it('zooms the axis that the held key says', () => {
    const turn = { deltaX: 0, deltaY: 100, deltaMode: 0, shiftKey: false, ctrlKey: false, metaKey: false };
    assert.ok(wheelTurn(turn).zoomX > 1 && wheelTurn(turn).zoomY === 1);
    assert.ok(
      wheelTurn({ ...turn, shiftKey: true }).zoomY > 1 && wheelTurn({ ...turn, shiftKey: true }).zoomX === 1,
    );
    assert.ok(
      wheelTurn({ ...turn, deltaX: 100, deltaY: 0, shiftKey: true }).zoomY > 1,
      'turned sideways by the system',
    );
    assert.ok(
      wheelTurn({ ...turn, metaKey: true }).zoomX > 1 && wheelTurn({ ...turn, metaKey: true }).zoomY > 1,
    );
    assert.deepEqual(wheelTurn({ ...turn, deltaX: 30, deltaY: 2 }), { zoomX: 1, zoomY: 1, panX: 30 });
    assert.equal(
      wheelTurn({ ...turn, deltaY: 3, deltaMode: 1 }).zoomX,
      wheelTurn({ ...turn, deltaY: 54 }).zoomX,
    );
  });
});

describe('the state that comes back', () => {
  const { info } = new FakeServer(trainingRun(2, 1));
  const first = restoreState(info, null);

  it('is the whole run on the default device when there is none', () => {
    const device = info.devices[0];
    assert.equal(first.axis, 'time');
    assert.deepEqual([first.x0, first.x1, first.y0], [device?.time_axis?.x0, device?.time_axis?.x1, 0]);
    assert.ok(first.y1 > (device?.peak_bytes ?? Infinity));
  });

  it('is what was saved, within what the snapshot has', () => {
    const saved = {
      ...first,
      axis: 'event',
      x0: 3,
      x1: 30,
      y0: 10,
      y1: 1e6,
      selection: 2,
      colour: 'category',
      picture: 'map',
      pane: 'sql',
      filter: 'size>1MiB',
      scope: 'between',
      kind: 'survived',
      first: 3,
      second: 2,
    } as const;
    assert.deepEqual(restoreState(info, saved), saved);
    const wild = restoreState(info, { ...saved, x0: -1e9, x1: NaN, selection: 10_000_000, first: 1e9 });
    assert.deepEqual([wild.first, wild.second], [null, null]);
    assert.deepEqual([wild.x0, wild.x1], [0, info.devices[0]?.event_axis.x1]);
    assert.equal(wild.selection, null);
    assert.equal(restoreState(info, { ...saved, device: 77 }).device, info.default_device);
    assert.equal(restoreState({ ...info, categories: [] }, saved).colour, 'stack');
  });
});

describe('the name of a band', () => {
  const summary = (label: Frame | null, stack: number, allocation: number): AllocationSummary =>
    ({ label, stack, allocation, operator: null, before_trace: label === null }) as AllocationSummary;
  const guess: Frame = { file: '/p/net.py', line: 20, function: 'forward', kind: 'user', source: 'inferred' };

  it('says how its line is known, however little room there is', () => {
    assert.deepEqual(bandTexts(1024, summary(guess, 3, 1)), [
      'forward  net.py:20 (inferred)  1 KiB',
      'forward (inferred)  1 KiB',
      'net.py:20 (inferred)',
      '1 KiB',
    ]);
    assert.equal(bandTexts(1024, summary({ ...guess, source: 'recorded' }, 3, 1))[1], 'forward  1 KiB');
  });

  it('is that of another allocation of its stack only where it is the same for all', () => {
    const names = new Names();
    const recorded = summary({ ...guess, source: 'recorded' }, 4, 2);
    names.learn([summary(guess, 3, 1), recorded, summary(null, 0, 3)]);
    assert.deepEqual([names.stack(3), names.stack(4), names.stack(0)], [undefined, recorded, undefined]);
    assert.equal(names.allocation(1)?.label, guess);
  });
});

describe('a stack with what was recorded beside it', () => {
  const frame = (name: string, source: Frame['source']): Frame => ({
    ...{ file: `/p/${name}.py`, line: 3, function: name, kind: 'user', source },
  });

  it('has no caller among what called nothing', () => {
    const generated = frame('call', 'recorded');
    const parts = partsOf({
      frames: [generated, frame('main', 'recorded')],
      fx_traces: [{ of: generated, frames: [frame('block', 'fx')] }],
      forward_frames: [frame('forward', 'forward')],
      stack_of_free: false,
    });
    assert.deepEqual(
      parts.map(({ title, frames }) => [title, ...frames.map((each) => each.function)]),
      [
        ['Allocated by', 'call', 'main'],
        ['FX trace', 'block'],
        ['Forward stack', 'forward'],
      ],
    );
    assert.equal(parts[0]?.hint, null);
    assert.match(parts[1]?.hint ?? '', /call \(call\.py:3\).*No callers/);
    assert.match(parts[2]?.hint ?? '', /No callers/);
    const [inferred] = partsOf({
      ...{ frames: [generated], fx_traces: [], forward_frames: [], stack_of_free: true },
    });
    assert.equal(inferred?.title, 'Allocated by (inferred)');
    assert.match(inferred.hint ?? '', /stack of its free/);
    assert.deepEqual(partsOf({ frames: [], fx_traces: [], forward_frames: [], stack_of_free: false }), []);
  });
});
