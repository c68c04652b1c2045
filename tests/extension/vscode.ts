// Stands in for the module that only VS Code has: as much of it as the tested files touch.

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
  static joinPath(base: Uri, ...segments: string[]): Uri {
    return new Uri(base.scheme, [base.path, ...segments].join('/'));
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

/** What `findFiles` was asked, and what it answers. */
export const files = { asked: [] as string[], found: [] as Uri[] };

export const workspace = {
  getConfiguration: (): { get: (key: string, fallback?: unknown) => unknown } => ({
    get: (key, fallback) => settings[key] ?? fallback,
  }),
  findFiles: (glob: string): Promise<Uri[]> => {
    files.asked.push(glob);
    return Promise.resolve(files.found);
  },
};

export const window = {};
