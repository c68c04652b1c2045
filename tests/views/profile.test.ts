// Profiles: every part of the view follows the value, the filter and the selected range of time, and hot spots and
// functions are charged by one rule, with the figures of the command line.

import { Page, SIZE } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const FILE = 'words.pb.gz';
const TIMED = 'heaptrack.pprof';
const RECORDED = 'sessions.jfr.zst';
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-profile-'));
const at = (name: string): string => path.join(folder, name);

/** What `memlens flame --json` prints. */
interface Flame {
  readonly rows: readonly {
    readonly name: { readonly function: string };
    readonly bytes: number;
    readonly self_bytes: number;
  }[];
  readonly total_bytes: number;
}

let server: RealServer;
let page: Page;

before(async () => {
  cpSync(path.join('samples', FILE), at(FILE));
  cpSync('tests/fixtures/profiles/service.heaptrack.zst', at(TIMED));
  cpSync('tests/fixtures/profiles/sessions.jfr.zst', at(RECORDED));
  cpSync('tests/fixtures/profiles/src/Sessions.java', at('Sessions.java'));
  server = await RealServer.start(folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const PICKER = '.toolbar select';
const SURFACE = '.flame-surface';
const boxes = () => window.memlensFlame!.boxes();
const value = (): string => {
  const picker = page.one(PICKER) as HTMLSelectElement;
  return picker.selectedOptions[0]?.textContent ?? '';
};
/** Chooses the value whose title matches. */
const ask = (title: RegExp): Promise<void> =>
  page.choose(
    PICKER,
    [...(page.one(PICKER) as HTMLSelectElement).options].find(({ textContent }) => title.test(textContent))!
      .value,
  );
const summary = (): string => page.text('.live-set-summary');
const groupBy = (kind: string): Promise<void> => page.choose('.live-set-controls select', kind);

describe('a profile of one moment', () => {
  let reported: Flame;
  before(async () => {
    reported = await server.memlens(folder, 'flame', FILE);
    page = await Page.open(server, at(FILE));
  });

  test('opens with the flame graph of the selected value, as wide as the view', () => {
    assert.equal(boxes().find(({ node }) => node === 0)!.width, SIZE.width);
    let looked = 0;
    for (const { name, bytes } of reported.rows.slice(0, 6)) {
      const own = boxes().filter((box) => box.name === name.function);
      if (own.length !== 1) continue;
      looked++;
      const expected = (SIZE.width * bytes) / reported.total_bytes;
      assert.ok(Math.abs(own[0]!.width - expected) <= 1.01, name.function);
    }
    assert.ok(looked >= 3, `${looked} functions`);
    assert.match(value(), /In use/);
  });

  test('another value is shown everywhere', async () => {
    const counts: Flame = await server.memlens(folder, 'flame', FILE, '--value', 'inuse_objects');
    const [objects, bytes] = [...(page.one(PICKER) as HTMLSelectElement).options].map((each) => each.value);
    await page.choose(PICKER, objects!);
    await page.clickAt(
      '.flame-surface',
      boxes().find(({ name }) => name === 'Index.search')!,
    );
    assert.match(page.text('.flame-details h3'), /Index\.search/);
    const row = counts.rows.find(({ name }) => name.function === 'Index.search')!;
    assert.ok(page.text('.flame-details').includes(row.bytes.toLocaleString('en-US')));
    await page.command('pane.liveSet');
    assert.ok(summary().includes(counts.total_bytes.toLocaleString('en-US')), summary());
    await page.choose(PICKER, bytes!);
    assert.match(summary(), /iB in/);
  });

  test('a profile has three panes; a filter applies to all of it', async () => {
    await page.click('.tab-more');
    const panes = new Set([...page.texts('.dock [role=tab]'), ...page.texts('.menu .menu-text')]);
    assert.deepEqual([...panes], ['Hot spots', 'Compare', 'SQL']);
    await page.press('.menu', 'Escape');
    await page.type('.filter-input', 'function:nothing_like_this');
    await page.waitUntil(() => page.all('.flame-empty', 'Nothing').length > 0, 'nothing is left');
    await page.waitUntil(() => page.text('.filter-error').includes('Nothing matches'), 'it is said');
    await page.filter('life>1s');
    assert.match(page.text('.filter-error'), /a profile doesn't record that/);
    await page.filter('');
    assert.ok(boxes().length > 3);
  });
});

test('of a recording without frees a range has what was allocated, and so has a moment', async () => {
  page = await Page.open(server, at(RECORDED));
  const canvas = '.profile-times-canvas';
  assert.match(value(), /^Sampled objects still alive · 30$/);
  assert.ok(page.all('.profile-times-key', 'Heap after collections').length > 0);
  const said = (): string => page.text('.profile-times-head [role=status]');
  await page.drag(canvas, 0.3 * SIZE.width, 0.6 * SIZE.width, true);
  assert.match(said(), /: allocated [\d.]+ MiB$/);
  assert.equal(page.all('.profile-times-head button', 'Freed').length, 0);
  await page.press(canvas, '.');
  assert.match(said(), /: allocated /);
  assert.match(value(), /^Allocated from .*, in bytes$/);
  await page.press(canvas, 'Escape');
  await ask(/what holds them/);
  await page.waitUntil(
    () => boxes().some(({ name }) => name === 'Sessions.open'),
    'the field that holds them',
  );
  // a field and a class lead to their declarations, whose lines the recording doesn't have
  const opened = async (): Promise<string> => {
    const found = await page.sourceOf(page.last('openObjectSource')!);
    return `${path.basename(found.path ?? '')}:${found.line}`;
  };
  await page.clickAt(
    SURFACE,
    boxes().find(({ name }) => name === 'Sessions.open')!,
  );
  await page.click('.flame-lines button', 'Sessions#open');
  assert.equal(await opened(), 'Sessions.java:6');
  await page.command('pane.liveSet');
  await groupBy('function');
  await page.click('.live-set .place-link', /^Sessions\$Session$/);
  assert.equal(await opened(), 'Sessions.java:9');
});

describe('a profile of a run', () => {
  before(async () => {
    page = await Page.open(server, at(TIMED));
  });

  const CANVAS = '.profile-times-canvas';

  test('the whole view follows the selected range of time', async () => {
    assert.ok(page.all('.profile-times-key', 'Live').length > 0);
    await page.drag(CANVAS, 0.3 * SIZE.width, 0.8 * SIZE.width, true);
    const reported = page.text('.profile-times-head [role=status]');
    const [, allocated, many] = /allocated (\S+ \S+) in ([\d,]+),.*freed /.exec(reported)!;
    await page.command('pane.liveSet');
    assert.ok(summary().includes(`${many} allocations, ${allocated}`), summary());
    await page.click('.profile-times-head button', 'Freed');
    // values aren't known for a range: none is selected, and choosing one shows the whole run
    assert.match(value(), /^Freed from .*, in bytes$/);
    await ask(/^Temporary allocations/);
    assert.ok(page.all('.live-set [role=columnheader]', 'Number').length > 0);
    assert.match(value(), /^Temporary allocations · /);
    await ask(/peak/i);
    await page.press(CANVAS, '.');
    assert.match(value(), /^Live at/, 'a moment is shown');
    await page.press(CANVAS, 'Escape');
    assert.doesNotMatch(value(), /^Live at \d/, 'the whole run is shown again');
    // it would flatten the line of what is live, so it is hidden at first
    const hidden = (): HTMLElement[] => page.all('.profile-times-key.off', 'RSS');
    assert.equal(hidden().length, 1);
    await page.click('.profile-times-legend');
    await page.click('.menu [role^=menuitem]', 'Resident set (RSS)');
    assert.equal(hidden().length, 0);
  });

  test('the wheel zooms about the pointer, a drag moves the picture, and with Shift it marks a range', async () => {
    const marked = async (): Promise<string> => {
      await page.drag(CANVAS, 0.3 * SIZE.width, 0.8 * SIZE.width, true);
      return page.text('.profile-times-head [role=status]').replace(/:.*/, '');
    };
    const whole = await marked();
    const at = { bubbles: true, cancelable: true, clientX: 0.5 * SIZE.width, clientY: 50 };
    const turn = Object.assign(new MouseEvent('wheel', at), { deltaX: 0, deltaY: -500, deltaMode: 0 });
    page.one(CANVAS).dispatchEvent(turn);
    const near = await marked();
    assert.notEqual(near, whole);
    const chosen = value();
    await page.drag(CANVAS, 0.6 * SIZE.width, 0.2 * SIZE.width);
    assert.equal(value(), chosen, 'nothing is chosen by moving about');
    const later = await marked();
    assert.notEqual(later, near);
    // to its very end, which another drag doesn't pass
    for (let n = 0; n < 9; n++) await page.drag(CANVAS, 0.9 * SIZE.width, 0.1 * SIZE.width);
    const last = await marked();
    await page.drag(CANVAS, 0.9 * SIZE.width, 0.1 * SIZE.width);
    assert.equal(await marked(), last);
    await page.press(CANVAS, '0');
    assert.equal(await marked(), whole);
    await page.press(CANVAS, 'Escape');
  });

  test('hot spots and functions are charged by one rule, my code or any code', async () => {
    const ofRule = async (...rule: string[]): Promise<string> => {
      const options = ['--value', 'peak', ...rule] as const;
      const { rows }: Flame = await server.memlens(folder, 'flame', TIMED, ...options);
      return rows.toSorted((a, b) => b.self_bytes - a.self_bytes)[0]!.name.function.slice(0, 40);
    };
    const [mine, any] = [await ofRule(), await ofRule('--any-code')];
    assert.notEqual(mine, any);
    await groupBy('function');
    const first = (table: string): string => page.text(`${table} [role=row][aria-rowindex="2"]`);
    assert.ok(first('.live-set').includes(mine), first('.live-set'));
    await page.click('.live-set-controls button', 'Any code');
    assert.ok(first('.live-set').includes(any));
    await page.choose('.flame-toolbar select[aria-label="Layout"]', 'functions');
    const pressed = page.one('.flame-toolbar [aria-pressed=true]', /(My|Any) code/);
    assert.equal(pressed.textContent, 'Any code');
    assert.ok(first('.flame-functions').includes(any));
    await page.click('.flame-toolbar button', 'My code');
    assert.ok(first('.flame-functions').includes(mine));
    assert.ok(first('.live-set').includes(mine));
    await page.click('.flame-toolbar button', 'Any code');
    assert.ok(first('.live-set').includes(any));
    await page.choose('.flame-toolbar select[aria-label="Layout"]', 'icicle');
    await groupBy('line');
  });

  test('the value, the range, the zoom, the selection and the rule are restored', async () => {
    await page.press(CANVAS, '.');
    for (let times = 0; times < 3; times++) await page.press(CANVAS, '>', { shiftKey: true });
    const range = (): string => page.text('.profile-times-head [role=status]');
    assert.match(range(), /live$/);
    const box = boxes().find(
      ({ node, width }) => node !== 0 && width > 0.1 * SIZE.width && width < 0.9 * SIZE.width,
    )!;
    await page.clickAt('.flame-surface', box, { double: true });
    const camera = () => {
      const { x0, x1, top } = window.memlensFlame!.camera();
      return { x0, x1, top };
    };
    assert.ok(camera().x1 - camera().x0 < 0.95, 'it has zoomed');
    // the rule that decides a box's own value is shown with it
    assert.ok(page.all('.flame-details dt', 'Self (any code)').length > 0);
    const state = () => ({
      ...{ camera: camera(), range: range(), value: value() },
      chosen: page.text('.flame-details'),
    });
    const before = state();
    assert.ok(before.chosen.includes(box.name));
    page = await page.reopened();
    assert.deepEqual(state(), before);
  });
});
