// The only file that talks to the host.

import { signal, type Signal } from '@preact/signals';
import type { ViewCommand } from '../../extension/shared/commands';
import type {
  FromWebviewMessage,
  ToWebviewMessage,
  ViewMethod,
  ViewParams,
  ViewResult,
  ViewState,
} from '../../extension/shared/messages';
import { commandArrived, exposeUnderWay, finished, started } from './base/under-way';
import { Acts } from './base/acts';
import type { Kept, SavedState } from './base/saved';
import { unpack } from './unpacking';
import { RequestError, type Pending } from './base/request';

export interface Api {
  post(message: FromWebviewMessage): void;
  request<M extends ViewMethod>(method: M, params: ViewParams<M>): Pending<ViewResult<M>>;
  /** Runs a command as VS Code's palette does. */
  command(command: ViewCommand): void;
  /** Says which commands do something now. */
  offer(commands: readonly ViewCommand[]): void;
  listen(handler: (message: HostMessage) => void): void;
  saved(): SavedState | undefined;
  /** Keeps the view's state, and reports it to the host with the commands that do something in it. */
  save(view: ViewState, layout: SavedState['layout'], commands: readonly ViewCommand[]): void;
  /** Keeps what a pane wants to find again when the view is reloaded. */
  keep(part: Kept): void;
}

/** Responses are handled here; the rest is for the view. */
export type HostMessage = Exclude<
  ToWebviewMessage,
  { type: 'response' | 'packed' | 'requestProgress' | 'tellNextAct' | 'tellFocusSettled' }
>;

/**
 * VS Code looks every 250 ms whether a page has the focus, and says so where the page's own messages go: a message that
 * is sent after that arrives after it, however busy the machine is.
 */
const FOCUS_MS = 300;

interface Waiting {
  readonly done: Signal<number | null>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export function connect(): Api {
  const vscode = acquireVsCodeApi<SavedState>();
  const waiting = new Map<number, Waiting>();
  /** Who waits for an answer, and does so no more. */
  const take = (id: number): Waiting | undefined => {
    const request = waiting.get(id);
    if (request) finished(request);
    waiting.delete(id);
    return request;
  };
  exposeUnderWay();
  let lastId = 0;
  let kept = vscode.getState()?.kept;
  let handler: ((message: HostMessage) => void) | null = null;

  const post = (message: FromWebviewMessage): void => vscode.postMessage(message);
  const command = (each: ViewCommand): void => {
    handler?.({ type: 'command', command: each });
  };
  const acts = new Acts(command);
  let offered = '';
  const offer = (commands: readonly ViewCommand[]): void => {
    const text = commands.join(' ');
    if (text === offered) return;
    offered = text;
    post({ type: 'commands', commands });
  };

  window.addEventListener('message', (event: MessageEvent<ToWebviewMessage>) => {
    const message = event.data;
    if (message.type === 'packed') {
      // Only then: it may be cancelled meanwhile.
      unpack(message).then(
        (result) => take(message.id)?.resolve(result),
        (error: unknown) => take(message.id)?.reject(error),
      );
      return;
    }
    if (message.type === 'requestProgress') {
      const request = waiting.get(message.id);
      if (request) request.done.value = message.fraction;
      return;
    }
    if (message.type === 'tellNextAct') {
      acts.next = () => post({ type: 'acted' });
      return;
    }
    if (message.type === 'tellFocusSettled') {
      setTimeout(() => {
        post({ type: 'focusSettled' });
      }, FOCUS_MS);
      return;
    }
    if (message.type !== 'response') {
      if (message.type === 'goTo') acts.count = 0;
      else if (isAct(message)) acts.add();
      handler?.(message);
      if (message.type === 'command') commandArrived();
      return;
    }
    const request = take(message.id);
    if (message.ok) request?.resolve(message.result);
    else request?.reject(new RequestError(message.problem));
  });

  return {
    post,
    request<M extends ViewMethod>(method: M, params: ViewParams<M>): Pending<ViewResult<M>> {
      const id = ++lastId;
      const done = signal<number | null>(null);
      const answer = new Promise<ViewResult<M>>((resolve, reject) => {
        // The host answers a method with that method's result, as messages.ts says; nothing checks it here.
        const request = { resolve, reject, done };
        waiting.set(id, request);
        started(request, method);
      });
      post({ type: 'request', id, method, params });
      return {
        answer,
        done,
        cancel: () => {
          if (take(id)) post({ type: 'cancelRequest', id });
        },
      };
    },
    command,
    offer,
    listen: (next) => {
      handler = next;
    },
    saved: () => vscode.getState(),
    save: (view, layout, commands) => {
      offer(commands);
      vscode.setState({ view, layout, ...(kept ? { kept } : {}) });
      post({ type: 'state', state: view, acts: acts.count });
    },
    keep: (part) => {
      kept = { ...kept, ...part };
      const state = vscode.getState();
      if (state) vscode.setState({ ...state, kept });
    },
  };
}

/** Whether a message comes of what the user did elsewhere in VS Code. */
function isAct(message: HostMessage): boolean {
  switch (message.type) {
    case 'command':
      return message.command !== 'back' && message.command !== 'forward';
    case 'other':
      return message.fresh;
    default:
      return message.type === 'showLine' || message.type === 'showAllocation';
  }
}
