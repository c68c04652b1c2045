// Fakes of what a view uses: a panel, a server, a memento, a log.

import type * as vscode from 'vscode';
import type { GraphState, TimelineState, ToWebviewMessage } from '../../extension/shared/messages';
import type {
  DamagedParams,
  ProgressParams,
  RelabelledParams,
  Requests,
  SnapshotInfo,
} from '../../extension/shared/protocol.gen';
import type { Logger } from '../../extension/src/base/logger';
import type { Server } from '../../extension/src/server/client';
import { EventEmitter } from './vscode';

export const INFO = {
  model: 'timeline',
  kind: 'torch',
  path: '/a.pickle',
  devices: [],
} as unknown as SnapshotInfo;

export const STATE: TimelineState = {
  model: 'timeline',
  ...{ device: 0, axis: 'time', x0: 1, x1: 2, y0: 0, y1: 5 },
  ...{
    selection: null,
    colour: 'stack',
    areas: 'line',
    holdHeight: false,
    picture: 'stacked',
    pane: null,
    filter: '',
  },
  ...{ scope: 'peak', kind: 'live', first: null, second: null, compare: null, flame: null },
};

/** The state of a heap dump. */
export const GRAPH: GraphState = {
  ...{ selection: { is: 'object', object: 7 }, order: 'name', reverse: false, by: 'type', through: ['weak'] },
  ...{
    without: [],
    tree: 'dominators',
    grouped: 'type',
    sunburst: false,
    images: 'bytes',
    opened: { types: ['a'] },
  },
  ...{ flame: null, value: 0, series: [], x0: 0, x1: 1, top: 0, fileBytes: 9 },
};

interface PendingRequest {
  method: keyof Requests;
  params: Record<string, unknown>;
  token: vscode.CancellationToken | undefined;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** A server that answers when the test says so. */
export class FakeServer {
  readonly progress = new EventEmitter<ProgressParams>();
  readonly waiting = new EventEmitter<string>();
  readonly started = new EventEmitter<void>();
  readonly onDidProgress = this.progress.event;
  readonly onDidWait = this.waiting.event;
  readonly onDidStart = this.started.event;
  readonly damaged = new EventEmitter<DamagedParams>();
  readonly onDidFindDamage = this.damaged.event;
  readonly relabelled = new EventEmitter<RelabelledParams>();
  readonly onDidRelabel = this.relabelled.event;
  readonly openChanged = new EventEmitter<number>();
  readonly onDidChangeOpen = this.openChanged.event;
  readonly sourcesChanged = new EventEmitter<void>();
  readonly onDidChangeSources = this.sourcesChanged.event;
  readonly requests: PendingRequest[] = [];
  /** The state of all files, which every view requests; it is answered at once. */
  fileState = 'same';
  open = 0;
  health = 'running';

  get hasLines(): boolean {
    return this.open > 0;
  }

  request(method: keyof Requests, params: object, token?: vscode.CancellationToken): Promise<unknown> {
    if (method === 'memlens/fileState') return Promise.resolve({ state: this.fileState });
    return new Promise((resolve, reject) => {
      this.requests.push({ method, params: { ...params }, token, resolve, reject });
    });
  }

  setOpen(open: number): void {
    this.open = open;
    this.openChanged.fire(open);
  }

  /** The latest request of a method. */
  last(method: keyof Requests): PendingRequest {
    const latest = this.requests.filter((each) => each.method === method).at(-1);
    if (latest === undefined) throw new Error(`${method} was never requested`);
    return latest;
  }

  count(method: keyof Requests): number {
    return this.requests.filter((each) => each.method === method).length;
  }

  get typed(): Server {
    return this as unknown as Server;
  }
}

export class FakePanel {
  readonly received = new EventEmitter<unknown>();
  readonly viewState = new EventEmitter<void>();
  readonly disposed = new EventEmitter<void>();
  readonly onDidChangeViewState = this.viewState.event;
  readonly onDidDispose = this.disposed.event;
  readonly posted: ToWebviewMessage[] = [];
  readonly webview = {
    options: {},
    html: '',
    cspSource: 'https://own.example',
    asWebviewUri: (uri: unknown): unknown => uri,
    onDidReceiveMessage: this.received.event,
    postMessage: (message: ToWebviewMessage): Promise<boolean> => {
      this.posted.push(message);
      return Promise.resolve(true);
    },
  };
  visible = true;
  active = true;
  viewColumn = 1;

  hide(): void {
    this.visible = false;
    this.viewState.fire();
  }

  show(): void {
    this.visible = true;
    this.viewState.fire();
  }

  dispose(): void {
    this.disposed.fire();
  }

  /** The messages posted since the last call. */
  taken(): ToWebviewMessage[] {
    return this.posted.splice(0);
  }

  get typed(): vscode.WebviewPanel {
    return this as unknown as vscode.WebviewPanel;
  }
}

export class FakeMemory {
  readonly values = new Map<string, unknown>();

  get(key: string): unknown {
    return this.values.get(key);
  }

  update(key: string, value: unknown): Promise<void> {
    this.values.set(key, value);
    return Promise.resolve();
  }

  get typed(): vscode.Memento {
    return this as unknown as vscode.Memento;
  }
}

export const log = {
  ...{ info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined },
} as unknown as Logger;

/** Lets all pending promises continue. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A JSON-RPC error as the language client throws it. */
export function responseError(code: number, data?: unknown): Error {
  return Object.assign(new Error('the server said no'), { code, data });
}
