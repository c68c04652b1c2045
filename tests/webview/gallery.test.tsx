// The gallery of images: what is asked for, what is drawn and said of each, and the keys.

import { drawn, press } from './support/dom';
import { ADDRESSES } from './support/heap-format';
import { mountedPane } from './support/pane';
import { assertTranslated } from './support/pseudo';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { GalleryRow, GraphInfo, Requests, TypeRow } from '../../extension/shared/protocol.gen';
import { imagesPane } from '../../webview/src/graph/gallery';
import type { GraphSession } from '../../webview/src/graph/session';
import { selectionMenu } from '../../webview/src/graph/menu';
import { restoreGraph } from '../../webview/src/graph/state';
import { EVERYTHING } from '../../webview/src/shell/context';

const KIB = 1024;
const TOTAL = 350;
const COLUMNS = 4;
const INFO = { file_bytes: 9, objects: 999, types: 2, compact_nodes: 3, native_bytes: KIB } as GraphInfo;

const rowAt = (at: number): GalleryRow => ({
  object: {
    ...{
      object: 500 + at,
      id: 16 * at,
      type: 'σ.Μ',
      name: `${at} × 7`,
      shallow_bytes: 40,
      retained_bytes: 9,
    },
    ...{ dominator: null, distance: 1, flags: [], space: null, file: null, line: null },
    ...{ native_bytes: 0, native_retained_bytes: 0 },
  },
  image: { width: at, height: 7, layout: 'Σ_8888' },
  ...{ count: at === 1 ? 3 : 1, heap_bytes: 2 * KIB, native_bytes: at === 0 ? KIB : 0 },
  freed_bytes: at === 1 ? KIB : 0,
});

type Asked =
  | { readonly is: 'rows'; readonly of: Requests['memlens/heapImages']['params'] }
  | { readonly is: 'thumbnails'; readonly of: readonly number[] };

/** A view whose server has images, and a browser that draws them; each third is as large as an answer may be. */
function made(): { readonly context: GraphSession; readonly asked: Asked[]; readonly did: unknown[] } {
  const asked: Asked[] = [];
  const did: unknown[] = [];
  const answers: Record<string, (params: never) => unknown> = {
    'memlens/heapImages': (params: Requests['memlens/heapImages']['params']) => {
      asked.push({ is: 'rows', of: params });
      const { offset, limit } = params;
      const length = Math.min(limit, TOTAL - offset);
      const sums = { images: 352, heap_bytes: 700 * KIB, native_bytes: KIB, freed_bytes: KIB };
      return { rows: Array.from({ length }, (_, at) => rowAt(offset + at)), offset, total: TOTAL, ...sums };
    },
    'memlens/heapThumbnails': ({ objects }: Requests['memlens/heapThumbnails']['params']) => {
      asked.push({ is: 'thumbnails', of: objects });
      const rows = objects.slice(0, 5).map((object) => ({
        ...{ object, media: 'image/png', data: 'AQID' },
        missing: object === 502 ? { text: 'σ <b>', template: 'σ <b>', values: {} } : null,
      }));
      return { rows };
    },
  };
  const api = {
    request: (method: string, params: never) => ({
      answer: Promise.resolve(answers[method]?.(params) ?? assert.fail(method)),
      cancel: () => undefined,
    }),
    post: () => undefined,
  };
  const state = restoreGraph(INFO, null);
  const context = {
    ...{ api, info: INFO, format: ADDRESSES, filter: '', state },
    keep: (part: object) => Object.assign(state, part),
    copy: (text: string) => did.push(text),
    select: (selected: unknown) => did.push(selected),
    openSource: () => did.push('source'),
    showImages: (filter: string) => did.push(filter),
    failed: (error: unknown) => {
      throw error;
    },
  } as unknown as GraphSession;
  const bitmap = { width: 20, height: 10, close: () => undefined };
  Object.assign(globalThis, { createImageBitmap: () => Promise.resolve(bitmap) });
  return { context, asked, did };
}

// a DOM without layout has no room for tiles
for (const [name, value] of [
  ['clientWidth', COLUMNS * 160],
  ['clientHeight', 450],
] as const)
  Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => value });

afterEach(() => {
  document.body.replaceChildren();
});

const settled = async (): Promise<void> => {
  for (let round = 0; round < 12; round++) await drawn();
};

test('only images in view are drawn, and what an answer left out is asked for again', async () => {
  const { context, asked } = made();
  const pane = imagesPane.make(context);
  const host = mountedPane(pane);
  pane.update(new Set(EVERYTHING));
  await settled();
  assertTranslated(host, 'images');
  assert.deepEqual(asked[0], {
    is: 'rows',
    of: { filter: '', order: 'bytes', offset: 0, limit: 100 },
  });
  // three rows of tiles are in view, the last of them in part
  const inView = Array.from({ length: 3 * COLUMNS }, (_, at) => 500 + at);
  assert.deepEqual(
    asked.flatMap((each) => (each.is === 'thumbnails' ? [each.of] : [])),
    [inView, inView.slice(5), inView.slice(10)],
  );
  const tiles = [...host.querySelectorAll<HTMLElement>('[role=option]')];
  assert.equal(tiles.length, 3 * COLUMNS);
  const labels = tiles.map((tile) =>
    [...tile.querySelectorAll('span')].map((line) => line.textContent).join(', '),
  );
  assert.match(labels[0] ?? '', /^0 × 7, .*2 KiB .*1 KiB/);
  assert.match(labels[1] ?? '', /^1 × 7, 2 KiB, .*3 .*2 .*1 KiB/);
  assert.equal(labels[2], 'σ <b>, 2 × 7, 2 KiB');
  assert.equal(tiles[1]?.querySelectorAll('canvas').length, 1);
  assert.equal(tiles[2]?.querySelector('.tile-picture')?.textContent, 'σ <b>');
  const list = host.querySelector<HTMLElement>('[role=listbox]') ?? assert.fail('no list');
  assert.equal(tiles[0]?.getAttribute('aria-setsize'), String(TOTAL));
  // rows that aren't here yet are asked for by the page
  press(list, 'End');
  await settled();
  assert.deepEqual(
    asked.flatMap((each) => (each.is === 'rows' ? [each.of.offset] : [])),
    [0, 300],
  );
  pane.dispose?.();
});

test('keys, a click and the menu lead to the object, and what is copied is exact', async () => {
  const { context, did, asked } = made();
  const pane = imagesPane.make(context);
  const host = mountedPane(pane);
  pane.update(new Set(EVERYTHING));
  await settled();
  const list = host.querySelector<HTMLElement>('[role=listbox]') ?? assert.fail('no list');
  const active = (): string | undefined => host.querySelector<HTMLElement>('.tile.active')?.dataset['index'];
  const stops = [];
  for (const key of [
    'ArrowRight',
    'ArrowDown',
    'ArrowUp',
    'ArrowUp',
    'PageDown',
    'PageUp',
    'PageUp',
    'End',
    'ArrowDown',
    'Home',
  ]) {
    press(list, key);
    await settled();
    stops.push(active());
  }
  assert.deepEqual(stops, ['1', '5', '1', '1', '9', '1', '1', '349', '349', '0']);
  press(list, 'ArrowDown');
  press(list, 'ArrowRight');
  press(list, 'Enter');
  assert.deepEqual(did.pop(), { is: 'object', object: 500 + COLUMNS + 1 });
  host.querySelector<HTMLElement>('[data-index="2"] canvas, [data-index="2"]')?.click();
  assert.deepEqual(did.pop(), { is: 'object', object: 502 });
  host.querySelector<HTMLElement>('.heap-bar .icon-button')?.click();
  const lines = String(did.pop()).split('\n');
  assert.equal(lines.length, 151);
  assert.deepEqual(lines[2]?.split('\t').slice(1), ['1', '7', 'Σ_8888', '3', '2 KiB', '0 B', '1 KiB']);
  const order = host.querySelector<HTMLSelectElement>('select') ?? assert.fail('no order');
  order.value = 'freed';
  order.dispatchEvent(new Event('change', { bubbles: true }));
  pane.update(new Set(['images']));
  await settled();
  const last = asked.findLast((each) => each.is === 'rows');
  assert.equal(last?.is === 'rows' && last.of.order, 'freed');
  assert.equal(restoreGraph(INFO, context.state).images, 'freed');
  pane.dispose?.();
});

test('a type whose instances are images leads to them', () => {
  const { context, did } = made();
  const info: GraphInfo = { ...INFO, image_types: [1] };
  const session = Object.assign(context, { info });
  const type = { number: 1, type: 'σ.Μ' } as TypeRow;
  const menuOf = (kind: number): readonly (string | undefined)[] =>
    selectionMenu(session, { is: 'type', kind }, type.type).map((item) => item?.text);
  assert.equal(menuOf(1).length, menuOf(0).length + 1);
  const entry = selectionMenu(session, { is: 'type', kind: 1 }, type.type).at(-1);
  if (entry && 'run' in entry) entry.run();
  assert.deepEqual(did, ['type:"=σ.Μ"']);
});
