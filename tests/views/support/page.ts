// A view's whole page in a DOM, answered by a real server: everything between the two is what users have, except for
// VS Code. There is no layout and nothing is painted; elements say that they are as large as the window.

import { drawn } from '../../webview/support/dom';
import { EditorView } from '@codemirror/view';
import assert from 'node:assert/strict';
import path from 'node:path';
import { CancellationTokenSource, ResponseError } from 'vscode-jsonrpc/node';
import type { ViewCommand } from '../../../extension/shared/commands';
import type {
  FromWebviewMessage,
  SeriesDump,
  ToWebviewMessage,
  ViewState,
} from '../../../extension/shared/messages';
import type { OpenResult, Problem, Requests } from '../../../extension/shared/protocol.gen';
import { unpacked } from '../../../extension/src/editor/packing';
import { connect, type Api } from '../../../webview/src/api';
import { App } from '../../../webview/src/app';
import type { RealServer } from './server';

/** A context of a canvas that paints nothing, and measures texts as if each letter were this wide. */
const LETTER_PX = 7;

/** More than anything here takes, unless it hangs. */
const LIMIT_MS = 60_000;

export const SIZE = { width: 1440, height: 900 };

type Posted<T extends FromWebviewMessage['type']> = Extract<FromWebviewMessage, { type: T }>;

let api: Api | undefined;
let shown: Page | undefined;
/** What went wrong here, beside what the page shows. */
let failure: Error | undefined;
Object.assign(globalThis, {
  acquireVsCodeApi: () => ({
    postMessage: (message: FromWebviewMessage) => {
      shown?.receive(message).catch((error: unknown) => (failure ??= asError(error)));
    },
    getState: () => shown?.state,
    setState: (state: unknown) => {
      if (shown) shown.state = state;
    },
  }),
});

export class Page {
  /** What the page asked of VS Code, in order. */
  readonly posted: FromWebviewMessage[] = [];
  private snapshot: OpenResult | null = null;
  private other: OpenResult | null = null;
  /** What VS Code says of the snapshot that it is compared with, and of the dumps of a series. */
  private said: Extract<ToWebviewMessage, { type: 'other' | 'series' }>[] = [];
  /** A series of dumps, in their order, by the server's names. */
  private dumps: string[] = [];
  private readonly pending = new Map<number, CancellationTokenSource>();
  /** A request that nothing waits for, because it may take any time. */
  mayLast: string | undefined = undefined;
  /** What VS Code keeps for the page. */
  state: unknown = undefined;

  private constructor(
    private readonly server: RealServer,
    readonly file: string,
    readonly root: HTMLElement,
    private readonly before: ViewState | null,
  ) {}

  /** The view of a file, once it shows everything; `state` is what VS Code kept of an earlier page. */
  static async open(
    server: RealServer,
    file: string,
    state?: ViewState | null,
    kept?: unknown,
  ): Promise<Page> {
    // the view of an earlier page would hear keys, too; it is left as if its file were gone
    const problem: Problem = { code: 'closed', message: '', advice: '', offset: null, retry: false };
    shown?.post({ type: 'failed', problem, canOpenAsText: false });
    document.body.replaceChildren();
    const root = document.createElement('div');
    root.id = 'memlens';
    document.body.append(root);
    const page = new Page(server, file, root, state ?? null);
    page.state = kept;
    shown = page;
    api ??= connect();
    new App(api, root).start();
    await until(() => root.dataset['state'] === 'ready', `${file} is open`);
    await page.settled();
    return page;
  }

  /** Waits until the page has all its answers and shows them. */
  async settled(): Promise<void> {
    const end = performance.now() + LIMIT_MS;
    for (let begun = -1; ;) {
      await drawn();
      if (performance.now() > end) assert.fail(`Never settled: ${window.memlensUnderWay?.names.join()}`);
      if (failure !== undefined) throw failure;
      const under = window.memlensUnderWay;
      assert.ok(under);
      const busy = under.names.some((name) => name !== this.mayLast);
      if (!busy && under.begun === begun) return;
      begun = busy ? -1 : under.begun;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** The elements that fit a selector, and whose texts contain some words or match. */
  all(selector: string, having: string | RegExp = ''): HTMLElement[] {
    return [...this.root.ownerDocument.querySelectorAll<HTMLElement>(selector)].filter(({ textContent }) =>
      typeof having === 'string' ? textContent.includes(having) : having.test(textContent),
    );
  }

  /** The first of them, which must be there. */
  one(selector: string, having: string | RegExp = ''): HTMLElement {
    const [found] = this.all(selector, having);
    assert.ok(found, `${selector} with ${having || 'any text'} is there`);
    return found;
  }

  text(selector: string): string {
    return this.one(selector).textContent;
  }

  texts(selector: string): string[] {
    return this.all(selector).map(({ textContent }) => textContent);
  }

  async click(
    target: string | HTMLElement,
    having: string | RegExp = '',
    more: MouseEventInit = {},
  ): Promise<void> {
    const element = typeof target === 'string' ? this.one(target, having) : target;
    element.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ...more }));
    await this.settled();
  }

  /** Clicks the middle of something that is drawn on a surface. */
  async clickAt(
    surface: string,
    { x, y, width, height }: { x: number; y: number; width: number; height: number },
    more: MouseEventInit & { double?: boolean } = {},
  ): Promise<void> {
    const element = this.one(surface);
    const init = {
      ...{ bubbles: true, cancelable: true, button: 0, clientX: x + width / 2, clientY: y + height / 2 },
      ...{ pointerId: 1, isPrimary: true, ...more },
    };
    for (const type of ['pointermove', 'pointerdown', 'pointerup'])
      element.dispatchEvent(new PointerEvent(type, { ...init, buttons: type === 'pointerdown' ? 1 : 0 }));
    element.dispatchEvent(new MouseEvent('click', init));
    if (more.double) element.dispatchEvent(new MouseEvent('dblclick', init));
    await this.settled();
  }

  /** Moves the pointer to a point of a surface. */
  async pointAt(surface: string, x: number, y: number): Promise<void> {
    const init = { bubbles: true, clientX: x, clientY: y, pointerId: 1, isPrimary: true };
    this.one(surface).dispatchEvent(new PointerEvent('pointermove', init));
    await this.settled();
  }

  /** Drags along a surface, from one distance to its left side to another. */
  async drag(surface: string, from: number, to: number, shiftKey = false): Promise<void> {
    const element = this.one(surface);
    for (const [type, x] of [
      ['pointermove', from],
      ['pointerdown', from],
      ['pointermove', to],
      ['pointerup', to],
    ] as const) {
      const event = new PointerEvent(type, {
        ...{ bubbles: true, cancelable: true, button: 0, buttons: type === 'pointerup' ? 0 : 1 },
        ...{ pointerId: 1, isPrimary: true, clientX: x, clientY: SIZE.height / 2, shiftKey },
      });
      // nothing has a place of its own here
      Object.defineProperty(event, 'offsetX', { value: x });
      element.dispatchEvent(event);
    }
    await this.settled();
  }

  /** Chooses an item of the menu that a right click opens. */
  async menu(target: HTMLElement, item: string): Promise<void> {
    target.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true }));
    await this.settled();
    await this.click('.menu [role^=menuitem]', item);
  }

  /** Chooses an item of the toolbar's menu. */
  async more(item: string): Promise<void> {
    await this.click('.toolbar [aria-label=More]');
    await this.click('.menu [role^=menuitem]', item);
  }

  async press(target: string | HTMLElement, key: string, more: KeyboardEventInit = {}): Promise<void> {
    const element = typeof target === 'string' ? this.one(target) : target;
    element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
    await this.settled();
  }

  async choose(target: string | HTMLElement, value: string): Promise<void> {
    const select = typeof target === 'string' ? this.one(target) : target;
    assert.ok(select instanceof HTMLSelectElement);
    assert.ok(
      [...select.options].some((option) => option.value === value),
      `${value} can be chosen`,
    );
    select.value = value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
    await this.settled();
  }

  async type(target: string, text: string): Promise<void> {
    const input = this.one(target);
    assert.ok(input instanceof HTMLInputElement);
    input.value = text;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await this.settled();
  }

  /** Where queries in SQL are written. */
  get sqlEditor(): EditorView {
    const editor = EditorView.findFromDOM(this.one('.sql .cm-editor'));
    assert.ok(editor);
    return editor;
  }

  /** Replaces the query in SQL's editor, and presses the key that runs it. */
  async runQuery(query: string, more: KeyboardEventInit = {}): Promise<void> {
    const { sqlEditor: editor } = this;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: query } });
    await this.press('.sql .cm-content', 'Enter', { ctrlKey: true, ...more });
  }

  /** Filters the whole view. */
  async filter(text: string): Promise<void> {
    await this.type('.filter-input', text);
    await this.press('.filter-input', 'Enter');
  }

  /** Shows a pane by its tab, or by the menu beside the tabs. */
  async pane(title: string): Promise<void> {
    const [tab] = this.all('.dock [role=tab]').filter(({ textContent }) => textContent === title);
    if (tab) await this.click(tab);
    else {
      await this.click('.tab-more');
      await this.click('.menu [role^=menuitem]', title);
    }
  }

  /** Waits until something is so that comes a while after what was done. */
  async waitUntil(isSo: () => boolean, what: string): Promise<void> {
    await until(isSo, what);
    await this.settled();
  }

  /** Runs a command of the palette. */
  async command(command: ViewCommand): Promise<void> {
    this.post({ type: 'command', command });
    await this.settled();
  }

  /** Another value of the setting `memlens.singleKeys`. */
  async singleKeys(single: boolean): Promise<void> {
    this.post({ type: 'keys', single });
    await this.settled();
  }

  /** Selects an allocation, as a click on its band does. */
  async show(allocation: number): Promise<void> {
    this.post({ type: 'showAllocation', allocation });
    await this.settled();
  }

  /** A new page with the state that VS Code kept of this one, as after it was hidden. */
  async reopened(): Promise<Page> {
    window.dispatchEvent(new Event('pagehide'));
    const { state } = this.last('state') ?? {};
    const page = await Page.open(this.server, this.file, state, this.state);
    Object.assign(page, { other: this.other, said: this.said, dumps: this.dumps });
    for (const message of this.said)
      page.post(message.type === 'other' ? { ...message, fresh: false } : message);
    await page.settled();
    return page;
  }

  /** Opens a second snapshot and compares with it, as a choice of the user does. */
  async compare(file: string, older: boolean): Promise<void> {
    this.other = await this.server.request('memlens/open', { path: file, view: 'page.other' });
    const name = path.basename(file);
    await this.say({
      type: 'other',
      other: {
        ...{ is: 'open', uri: `file://${file}`, name, file: name, info: this.other.info },
        ...{ itself: false, older, orderedBy: 'modified' },
      },
      fresh: true,
    });
  }

  /** Opens earlier dumps, and shows them over time with the page's own. */
  async series(files: readonly string[]): Promise<void> {
    const dumps: SeriesDump[] = [];
    this.dumps = [];
    for (const [number, file] of [...files, this.file].entries()) {
      const is = file === this.file ? 'own' : 'open';
      const { snapshot } =
        is === 'own'
          ? this.snapshot!
          : await this.server.request('memlens/open', { path: file, view: `page.series${number}` });
      this.dumps.push(snapshot);
      const name = path.basename(file);
      dumps.push({ is, uri: `file://${file}`, name, file: name, message: '' });
    }
    await this.say({ type: 'series', dumps });
  }

  /** Does what the page asked for about bookmarks, once the user has written a note. */
  async noted(note: string): Promise<void> {
    const { change } = this.last('bookmark')!;
    const { snapshot } = this.snapshot!;
    switch (change.is) {
      case 'add':
        await this.server.request('memlens/addBookmark', { snapshot, place: change.place, note });
        break;
      case 'rename':
        await this.server.request('memlens/renameBookmark', { snapshot, bookmark: change.bookmark, note });
        break;
      case 'delete':
        await this.server.request('memlens/deleteBookmark', { snapshot, bookmark: change.bookmark });
    }
    this.post({ type: 'bookmarks' });
    await this.settled();
  }

  private async say(message: Page['said'][number]): Promise<void> {
    this.said = [...this.said.filter(({ type }) => type !== message.type), message];
    this.post(message);
    await this.settled();
  }

  /** Where the server says that the source is which the page asked VS Code to open. */
  async sourceOf({ of }: Posted<'openObjectSource'>): Promise<Requests['memlens/objectSource']['result']> {
    const { snapshot } = this.snapshot!;
    const params = { snapshot, object: null, type: null, declared: '', ...of };
    return await this.server.request('memlens/objectSource', params);
  }

  /** The last message of a kind that the page sent. */
  last<T extends FromWebviewMessage['type']>(type: T): Posted<T> | undefined {
    return this.posted.findLast((message): message is Posted<T> => message.type === type);
  }

  private post(message: ToWebviewMessage): void {
    window.dispatchEvent(new window.MessageEvent('message', { data: message }));
  }

  async receive(message: FromWebviewMessage): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.snapshot = await this.server.request('memlens/open', { path: this.file, view: 'page' });
        this.post({ ...this.snapshot, type: 'opened', state: this.before });
        return;
      case 'request':
        await this.answer(message);
        return;
      case 'cancelRequest':
        this.pending.get(message.id)?.cancel();
        return;
      default:
        this.posted.push(message);
    }
  }

  private async answer({ id, method, params }: Posted<'request'>): Promise<void> {
    const cancel = new CancellationTokenSource();
    this.pending.set(id, cancel);
    try {
      // SAFETY: the view pairs methods and parameters, and the server checks them.
      const all = {
        ...(params as object),
        ...(method.startsWith('memlens/compare') ? { other: this.other?.snapshot } : {}),
        ...(['memlens/heapSeries', 'memlens/seriesSql'].includes(method) ? { dumps: this.dumps } : {}),
        snapshot: this.snapshot?.snapshot,
      } as Requests[typeof method]['params'];
      const result = await this.server.request(method, all, cancel.token);
      this.post({ type: 'response', id, ok: true, result: unpacked(result) });
    } catch (error) {
      if (!(error instanceof ResponseError)) throw error;
      this.post({ type: 'response', id, ok: false, problem: error.data as Problem });
    } finally {
      this.pending.delete(id);
    }
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Waits until something is so. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!isSo()) {
    if (failure !== undefined) throw failure;
    if (performance.now() > end) assert.fail(`Waited in vain until ${what}.`);
    await drawn();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Stands in for what a DOM without layout and painting lacks. */
function prepare(): void {
  const box = { x: 0, y: 0, left: 0, top: 0, right: SIZE.width, bottom: SIZE.height, ...SIZE };
  const { prototype } = HTMLElement;
  for (const [name, value] of Object.entries({
    ...{ clientWidth: SIZE.width, clientHeight: SIZE.height },
    ...{ offsetWidth: SIZE.width, offsetHeight: SIZE.height },
  }))
    Object.defineProperty(prototype, name, { configurable: true, get: () => value });
  prototype.getBoundingClientRect = () => ({ ...box, toJSON: () => box });
  // Each element has its size from the beginning.
  class SizeOnce {
    readonly unobserve = (): void => undefined;
    readonly disconnect = (): void => undefined;
    constructor(private readonly callback: ResizeObserverCallback) {}
    observe(target: Element): void {
      // SAFETY: what observers read of an entry here.
      const entry = { target, contentRect: box } as unknown as ResizeObserverEntry;
      requestAnimationFrame(() => this.callback([entry], this));
    }
  }
  // The same memory for all: nobody looks at them, and each frame of a picture makes five megabytes of them.
  let memory = new Uint8ClampedArray(0);
  class Pixels {
    readonly data: Uint8ClampedArray;
    constructor(
      readonly width: number,
      readonly height: number,
    ) {
      if (memory.length < 4 * width * height) memory = new Uint8ClampedArray(4 * width * height);
      this.data = memory.subarray(0, 4 * width * height);
    }
  }
  const context: object = new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === 'canvas') return { getContext };
        if (name === 'measureText') return (text: string) => ({ width: text.length * LETTER_PX });
        if (name === 'createImageData') return (width: number, height: number) => new Pixels(width, height);
        if (name === 'getImageData') return () => new Pixels(1, 1);
        return () => context;
      },
      set: () => true,
    },
  );
  // Whose methods do nothing.
  const Shape = function (): object {
    return new Proxy({}, { get: () => () => undefined });
  };
  const getContext = (kind: string): object | null => (kind === '2d' ? context : null);
  Object.defineProperty(window.HTMLCanvasElement.prototype, 'getContext', { value: getContext });
  class Canvas {
    readonly getContext = getContext;
  }
  Object.assign(globalThis, {
    ...{ ResizeObserver: SizeOnce, ImageData: Pixels, Path2D: Shape, OffscreenCanvas: Canvas },
    ...{
      Window: window.constructor,
      devicePixelRatio: 1,
      matchMedia: () => ({ matches: true, addEventListener: () => undefined }),
    },
  });
  // Browsers report it after the change that an editor makes, and not within.
  document.addEventListener('selectionchange', (event) => {
    event.stopImmediatePropagation();
  });
  window.addEventListener('error', ({ error }) => {
    failure ??= asError(error);
  });
}
prepare();
