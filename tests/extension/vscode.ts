// Stands in for the module that only VS Code has: as much of it as the tested files touch.

import type * as Real from 'vscode';

export interface Disposable {
  dispose(): void;
}

export const Disposable = {
  from: (...all: Disposable[]): Disposable => ({
    dispose: () => {
      all.forEach((each) => {
        each.dispose();
      });
    },
  }),
};

export class EventEmitter<T> {
  readonly #listeners = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): Disposable => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };
  fire(value: T): void {
    for (const listener of [...this.#listeners]) listener(value);
  }
  dispose(): void {
    this.#listeners.clear();
  }
}

export class CancellationTokenSource {
  readonly #cancelled = new EventEmitter<void>();
  readonly token = { isCancellationRequested: false, onCancellationRequested: this.#cancelled.event };
  cancel(): void {
    if (this.token.isCancellationRequested) return;
    this.token.isCancellationRequested = true;
    this.#cancelled.fire();
  }
  dispose(): void {
    this.#cancelled.dispose();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}
  static file(path: string): Uri {
    return new Uri('file', path);
  }
  static from(parts: { scheme: string; path: string }): Uri {
    return new Uri(parts.scheme, parts.path);
  }
  static parse(text: string): Uri {
    const [scheme = '', path = ''] = text.split(/:(?:\/\/)?(.*)/s);
    return new Uri(scheme, path);
  }
  static joinPath(base: Uri, ...segments: string[]): Uri {
    return new Uri(base.scheme, [base.path, ...segments].join('/'));
  }
  with(change: { path: string }): Uri {
    return new Uri(this.scheme, change.path);
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}://${this.path}`;
  }
}

/** Set by tests: what `getConfiguration().get` returns. */
export const settings: Record<string, unknown> = {};

/** Set by tests: what `getConfiguration().inspect` returns. */
export const inspected: Record<string, unknown> = {};

/** The globs that `findFiles` was called with, and its results. */
export const files = { globs: [] as string[], results: [] as Uri[] };

/** What the editor reports: fired by tests. */
export const events = {
  changed: new EventEmitter<unknown>(),
  saved: new EventEmitter<unknown>(),
  closed: new EventEmitter<unknown>(),
  visible: new EventEmitter<unknown>(),
  theme: new EventEmitter<unknown>(),
  configuration: new EventEmitter<unknown>(),
  /** A file of the disk was made, written or removed. */
  disk: new EventEmitter<Uri>(),
  focus: new EventEmitter<{ focused: boolean }>(),
};

/** Set by `setContext`. */
export const contexts = new Map<string, unknown>();

/** Set by tests: the messages of a language. */
export const translations: Record<string, string> = {};

export const l10n = {
  t: (message: string, ...args: (string | number)[]): string =>
    (translations[message] ?? message).replace(/\{(\d+)\}/g, (whole, index: string) =>
      String(args[Number(index)] ?? whole),
    ),
};

interface Notebook {
  uri: Uri;
  getCells(): { document: FakeText }[];
}

export class RelativePattern {
  constructor(
    readonly base: Uri,
    readonly pattern: string,
  ) {}
}

export const workspace = {
  createFileSystemWatcher: (): object => {
    const quiet = new EventEmitter<Uri>();
    return {
      onDidChange: events.disk.event,
      onDidCreate: quiet.event,
      onDidDelete: quiet.event,
      dispose: () => undefined,
    };
  },
  isTrusted: true,
  workspaceFolders: undefined,
  notebookDocuments: [] as Notebook[],
  onDidChangeTextDocument: events.changed.event,
  onDidSaveTextDocument: events.saved.event,
  onDidCloseTextDocument: events.closed.event,
  onDidChangeConfiguration: events.configuration.event,
  getConfiguration: (): {
    get: (key: string, fallback?: unknown) => unknown;
    inspect: (key: string) => unknown;
  } => ({
    get: (key, fallback) => settings[key] ?? fallback,
    inspect: (key) => inspected[key],
  }),
  findFiles: (glob: string): Promise<Uri[]> => {
    files.globs.push(glob);
    return Promise.resolve(files.results);
  },
};

/** Other extensions, with what each gives when it is activated; set by tests. */
export const extensions = {
  known: new Map<string, unknown>(),
  activated: new Set<string>(),
  getExtension: (name: string): { extensionPath: string; activate: () => Promise<unknown> } | undefined =>
    extensions.known.has(name)
      ? {
          extensionPath: `/extensions/${name}`,
          activate: () => {
            extensions.activated.add(name);
            return Promise.resolve(extensions.known.get(name));
          },
        }
      : undefined,
};

const registered = new Map<string, (...args: unknown[]) => unknown>();

export const commands = {
  registerCommand: (name: string, run: (...args: unknown[]) => unknown): Disposable => {
    registered.set(name, run);
    return { dispose: () => registered.delete(name) };
  },
  executeCommand: (name: string, ...args: unknown[]): Promise<unknown> => {
    if (name === 'setContext') contexts.set(String(args[0]), args[1]);
    return Promise.resolve(registered.get(name)?.(...args));
  },
};

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
  translate(lines: number, characters: number): Position {
    return new Position(this.line + lines, this.character + characters);
  }
}

export class Range {
  constructor(
    readonly start: Position,
    readonly end: Position,
  ) {}
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class Selection extends Range {}

export const ProgressLocation = { Notification: 15 };

export const ConfigurationTarget = { Global: 1, Workspace: 2 };
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 };
export const ColorThemeKind = { Light: 1, Dark: 2, HighContrast: 3, HighContrastLight: 4 };
export const OverviewRulerLane = { Left: 1 };
export const DecorationRangeBehavior = { ClosedClosed: 1 };

/** A text document over a string. */
export class FakeText {
  readonly uri: Uri;
  readonly languageId = 'python';
  readonly version = 1;
  isDirty = false;
  isClosed = false;
  constructor(
    place: string | Uri,
    private readonly content: string,
  ) {
    this.uri = typeof place === 'string' ? Uri.file(place) : place;
  }
  get lineCount(): number {
    return this.content.split('\n').length;
  }
  getText(): string {
    return this.content;
  }
  lineAt(line: number): { text: string; range: Range; firstNonWhitespaceCharacterIndex: number } {
    const text = this.content.split('\n')[line];
    if (text === undefined) throw new Error(`there is no line ${line}`);
    const range = new Range(new Position(line, 0), new Position(line, text.length));
    return { text, range, firstNonWhitespaceCharacterIndex: text.length - text.trimStart().length };
  }
  get typed(): Real.TextDocument {
    return this as unknown as Real.TextDocument;
  }
}

/** A range, or what is written there. */
export interface Drawn {
  range?: Range;
  start?: Position;
  renderOptions?: Real.DecorationInstanceRenderOptions;
}

/** An editor that keeps what was drawn into it, by decoration type. */
export class FakeEditor {
  readonly drawn = new Map<unknown, Drawn[]>();
  constructor(readonly document: FakeText) {}
  setDecorations(type: unknown, ranges: Drawn[]): void {
    this.drawn.set(type, ranges);
  }
}

/** Every text that was given to one of VS Code's own windows, with the window. */
export const shown: { where: string; text: string }[] = [];

function record(where: string, value: unknown): void {
  if (typeof value === 'string') shown.push({ where, text: value });
  else if (Array.isArray(value)) for (const each of value) record(where, each);
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value))
      if (!['item', 'value', 'command'].includes(key)) record(`${where}.${key}`, each);
}

/** A window that keeps what it shows, and answers with what is at `answer`, the last button or item. */
const shows =
  (where: string) =>
  (...given: unknown[]): Promise<unknown> => {
    record(where, given);
    const [first] = given;
    return Promise.resolve(Array.isArray(first) ? first.at(-1) : given.length > 1 ? given.at(-1) : undefined);
  };

export enum StatusBarAlignment {
  Left = 1,
}

export const window = {
  showInformationMessage: shows('information'),
  showWarningMessage: shows('warning'),
  showErrorMessage: shows('error'),
  showQuickPick: shows('pick'),
  showInputBox: shows('input'),
  showSaveDialog: shows('save'),
  showOpenDialog: shows('open'),
  setStatusBarMessage: shows('status'),
  createStatusBarItem: (): object =>
    new Proxy(
      { show: () => undefined, dispose: () => undefined },
      {
        set: (_item, key, value) => {
          if (key !== 'command') record(`status item.${String(key)}`, value);
          return true;
        },
      },
    ),
  withProgress: (
    options: unknown,
    task: (progress: { report: (step: unknown) => void }) => Promise<unknown>,
  ): Promise<unknown> => {
    record('progress', options);
    return task({
      report: (step) => {
        record('progress', step);
      },
    });
  },
  visibleTextEditors: [] as FakeEditor[],
  activeColorTheme: { kind: ColorThemeKind.Dark },
  onDidChangeWindowState: events.focus.event,
  onDidChangeVisibleTextEditors: events.visible.event,
  onDidChangeActiveColorTheme: events.theme.event,
  createTextEditorDecorationType: (): Disposable => ({ dispose: () => undefined }),
};

export const version = '1.200.0';

export const UIKind = { Desktop: 1, Web: 2 };

export const env = {
  appName: 'An Editor',
  language: 'en',
  remoteName: undefined as string | undefined,
  uiKind: UIKind.Desktop,
  clipboard: { writeText: (): Promise<void> => Promise.resolve() },
};
