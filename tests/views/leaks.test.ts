// What a view leaves behind: opened and closed, its panes shown and another file compared, again and again, listeners,
// observers and elements don't become more.

import { Page } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ViewCommand } from '../../extension/shared/commands';

const TIMES = 20;

const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-leaks-'));

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The listeners of the window and the document, which outlive every view. */
const listeners = new Set<string>();
const numbers = new WeakMap<object, number>();
let known = 0;
type Options = AddEventListenerOptions | undefined;
for (const [name, target] of Object.entries({ window, document })) {
  const keyOf = (type: string, listener: EventListener, options: Options): string => {
    if (!numbers.has(listener)) numbers.set(listener, ++known);
    return `${name} ${type} ${numbers.get(listener)} ${Boolean(options?.capture)}`;
  };
  const add = target.addEventListener.bind(target);
  const remove = target.removeEventListener.bind(target);
  Object.assign(target, {
    addEventListener: (type: string, listener: EventListener, options: Options) => {
      listeners.add(keyOf(type, listener, options));
      options?.signal?.addEventListener('abort', () => listeners.delete(keyOf(type, listener, options)));
      add(type, listener, options);
    },
    removeEventListener: (type: string, listener: EventListener, options: Options) => {
      listeners.delete(keyOf(type, listener, options));
      remove(type, listener, options);
    },
  });
}

/** Observers that observe something. */
const observers = new Set<object>();
const Observer = ResizeObserver;
globalThis.ResizeObserver = class extends Observer {
  override observe(...args: Parameters<ResizeObserver['observe']>): void {
    observers.add(this);
    super.observe(...args);
  }
  // the stand-in has a property of that name
  override readonly disconnect = (): void => void observers.delete(this);
};

/** Elements that something still refers to, of those that views made. */
let made: WeakRef<Element>[] = [];
for (const name of ['createElement', 'createElementNS'] as const) {
  const create = (Reflect.get(document, name) as (...args: string[]) => Element).bind(document);
  const noted = (...args: string[]): Element => {
    const element = create(...args);
    made.push(new WeakRef(element));
    return element;
  };
  Object.assign(document, { [name]: noted });
}

async function held(): Promise<{ listeners: number; observers: number; elements: number }> {
  for (let i = 0; i < 3; i++) {
    // what a WeakRef was asked for is kept until the next task
    await new Promise((resolve) => setTimeout(resolve));
    collect();
  }
  made = made.filter((each) => each.deref());
  return { listeners: listeners.size, observers: observers.size, elements: made.length };
}

let server: RealServer;
before(async () => {
  cpSync('samples', folder, { recursive: true });
  cpSync('tests/fixtures/heap', folder, { recursive: true });
  server = await RealServer.start(folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

/** Opens and closes a file's view so often, each time with another of its panes and a comparison, which is with itself. */
async function look(file: string, panes: readonly ViewCommand[], times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const page = await Page.open(server, file);
    await page.command(panes[i % panes.length]!);
    await page.compare(file, true);
  }
}

for (const [what, name] of [
  ['a trace', 'train.pickle'],
  ['a profile', 'words.pb.gz'],
  ['a heap dump', 'sessions.hprof.zst'],
] as const)
  test(`${what} leaves nothing behind`, async () => {
    const file = path.join(folder, name);
    const page = await Page.open(server, file);
    const panes = page.last('commands')!.commands.filter((command) => command.startsWith('pane.'));
    assert.ok(panes.length > 3, panes.join());
    // what is made once for all views is there after that
    await look(file, panes, panes.length);
    await Page.open(server, file);
    const first = await held();
    await look(file, panes, TIMES - panes.length);
    await Page.open(server, file);
    assert.deepEqual(await held(), first);
    assert.ok(first.listeners > 0 && first.observers > 0 && first.elements > 0, JSON.stringify(first));
  });
