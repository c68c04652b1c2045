import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  ErrorCodes,
  type LanguageClientOptions,
  LanguageClient,
  MessageType,
  ResponseError,
  RevealOutputChannelOn,
  ShowMessageNotification,
  State,
  type ServerOptions,
  WorkDoneProgress,
} from 'vscode-languageclient/node';
import type {
  ClientRequests,
  DamagedParams,
  InitializationOptions,
  Notifications,
  ProgressParams,
  RelabelledParams,
  Requests,
} from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import { plainLenses, showError, showInformation, showWarning } from '../base/window';
import { pythonEnvironment } from '../python/environment';
import { findInterpreter, type Interpreter, NoInterpreterError } from '../python/interpreter';
import { readSettings, SECTION } from '../settings';
import { findFiles } from './findFiles';
import { missingPython, showMissingPython } from './missingPython';
import { NO_SERVER, problem, ProblemError } from './problem';

export const SHOW_LINE = 'memlens.showLine';
export const GO_TO_LINE = 'memlens.goToLine';
export const OPEN_RANK = 'memlens.openRank';
/** The only commands that Memlens's hovers may run. */
export const HOVER_COMMANDS = [SHOW_LINE, GO_TO_LINE, OPEN_RANK];

export type Health = 'starting' | 'running' | 'failed' | 'stopped';

const MOST_DEATHS = 5;
/** Errors of a request that the server never answered. */
const CONNECTION_LOST = new Set<number>([
  ErrorCodes.MessageWriteError,
  ErrorCodes.MessageReadError,
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
]);
const RESTART_WINDOW_MS = 3 * 60_000;

/** The client of the language server: finds a Python, starts and restarts the server, and sends typed requests. */
export class Server extends Disposable {
  readonly #healthChanged = this.own(new vscode.EventEmitter<Health>());
  readonly #started = this.own(new vscode.EventEmitter<void>());
  readonly #progress = this.own(new vscode.EventEmitter<ProgressParams>());
  readonly #damaged = this.own(new vscode.EventEmitter<DamagedParams>());
  readonly #relabelled = this.own(new vscode.EventEmitter<RelabelledParams>());
  readonly #sourcesChanged = this.own(new vscode.EventEmitter<void>());
  readonly #openChanged = this.own(new vscode.EventEmitter<number>());
  readonly #waiting = this.own(new vscode.EventEmitter<string>());
  readonly onDidChangeHealth = this.#healthChanged.event;
  /** The server runs, for the first time or again; snapshots that were open in an earlier one are closed. */
  readonly onDidStart = this.#started.event;
  readonly onDidProgress = this.#progress.event;
  /** What the start of the server waits for, in words. */
  readonly onDidWait = this.#waiting.event;
  /** The archive of a snapshot is damaged; the user has been notified. */
  readonly onDidFindDamage = this.#damaged.event;
  /** Whose code a snapshot's frames are follows another setting now. */
  readonly onDidRelabel = this.#relabelled.event;
  /** The number of open snapshots. */
  readonly onDidChangeOpen = this.#openChanged.event;
  /** Paths in snapshots are mapped to other local files than before. */
  readonly onDidChangeSources = this.#sourcesChanged.event;

  #client: LanguageClient | undefined;
  #starting: Promise<void> | undefined;
  #health: Health = 'stopped';
  #open = 0;
  #fleets: readonly string[] = [];
  #failure: ProblemError | undefined;
  #shownMissingPython = false;
  /** The times of recent crashes of the server. */
  #deaths: number[] = [];
  /** The number of requests whose progress was listened to. */
  #listened = 0;
  /** Counts starts and stops, so that a superseded start can be recognised. */
  #attempt = 0;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: Logger,
  ) {
    super();
    this.own(
      vscode.workspace.onDidChangeConfiguration((event) => {
        this.#configurationChanged(event);
      }),
    );
  }

  get health(): Health {
    return this.#health;
  }

  /** The number of open snapshots. */
  get open(): number {
    return this.#open;
  }

  /** Whether anything is open that has figures for lines of source: a snapshot, or a fleet's map. */
  get hasLines(): boolean {
    return this.#open > 0 || this.#fleets.length > 0;
  }

  /** The databases of the fleets whose maps are open; a server that is started again gets them as well. */
  async showFleets(paths: readonly string[]): Promise<void> {
    this.#fleets = paths;
    await this.request('memlens/fleetsShown', { paths: [...paths] });
  }

  /** Start the server unless it runs. Rejects with a ProblemError if it can't be started. */
  start(): Promise<void> {
    this.#starting ??= this.#start(++this.#attempt);
    return this.#starting;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    const client = this.#client;
    this.#attempt++;
    this.#client = undefined;
    this.#starting = undefined;
    this.#failure = undefined;
    this.#deaths = [];
    this.#setHealth('stopped');
    try {
      await client?.dispose();
    } catch (error) {
      this.log.warn(`the server did not stop by itself: ${messageOf(error)}`);
    }
  }

  /**
   * Send a request. Rejects with an error for `problemOf`. Opening a file starts a failed server again. `onProgress`
   * hears how much of a long answer is done, 0 to 1.
   */
  async request<M extends keyof Requests>(
    method: M,
    params: Requests[M]['params'],
    token?: vscode.CancellationToken,
    onProgress?: (fraction: number) => void,
  ): Promise<Requests[M]['result']> {
    if (this.#failure !== undefined && method !== 'memlens/open') throw this.#failure;
    await this.start();
    if (this.#client === undefined)
      throw this.#failure ?? noServer(vscode.l10n.t('The Memlens server is not running'));
    // An undefined token would count as a second parameter, and the parameters would become an array.
    const client = this.#client;
    if (token === undefined) return await client.sendRequest<Requests[M]['result']>(method, params);
    if (onProgress === undefined)
      return await client.sendRequest<Requests[M]['result']>(method, params, token);
    const workDoneToken = `memlens-${++this.#listened}`;
    const listening = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
      if (value.kind === 'report' && value.percentage !== undefined) onProgress(value.percentage / 100);
    });
    try {
      return await client.sendRequest<Requests[M]['result']>(method, { ...params, workDoneToken }, token);
    } finally {
      listening.dispose();
    }
  }

  /** Send the current settings to the server. */
  async sendSettings(): Promise<void> {
    if (this.#client?.state !== State.Running) return;
    const settings = readSettings(this.context.workspaceState);
    await this.#client.sendNotification('workspace/didChangeConfiguration', { settings });
  }

  override dispose(): void {
    void this.stop();
    super.dispose();
  }

  async #start(attempt: number): Promise<void> {
    this.#setHealth('starting');
    this.#failure = undefined;
    try {
      const interpreter = await this.findInterpreter();
      this.#waiting.fire(vscode.l10n.t('Starting the server'));
      for (let started = false; !started;) {
        if (attempt !== this.#attempt) throw noServer(vscode.l10n.t('The Memlens server was stopped'));
        started = await this.#startOnce(interpreter);
      }
      this.#shownMissingPython = false;
    } catch (error) {
      if (attempt !== this.#attempt) throw error;
      this.#client = undefined;
      this.#starting = undefined;
      // After crashes, #failure is set and the user has been notified.
      this.#failure ??= this.#explain(error);
      this.#setHealth('failed');
      throw this.#failure;
    }
  }

  /** The Python that runs the server. */
  findInterpreter(): Promise<Interpreter> {
    const { extensionPath, globalStorageUri } = this.context;
    return findInterpreter({ extensionPath, storagePath: globalStorageUri.fsPath }, this.log, (where) =>
      this.#waiting.fire(where),
    );
  }

  /** Start the server; false if it died meanwhile and may be started again. */
  async #startOnce(interpreter: Interpreter): Promise<boolean> {
    const life = { starting: true, died: false, again: false };
    const client = this.#createClient(interpreter, () => {
      if (life.died || this.#client !== client) return;
      life.died = true;
      life.again = this.#died();
      if (!life.again || life.starting) return;
      // It was running: requests from now on wait for the next server.
      this.#client = undefined;
      this.#starting = undefined;
      setImmediate(() => void client.dispose().catch(() => undefined));
      this.start().catch((error: unknown) => this.log.error(messageOf(error)));
    });
    this.#client = client;
    try {
      await client.start();
    } catch (error) {
      client.dispose().catch(() => undefined);
      if (life.again) return false;
      throw error;
    } finally {
      life.starting = false;
    }
    return !life.again;
  }

  #createClient(interpreter: Interpreter, onDeath: () => void): LanguageClient {
    const initializationOptions = (): InitializationOptions => ({
      settings: readSettings(this.context.workspaceState),
      find_files: true,
      texts: vscode.l10n.bundle ?? {},
    });
    const options: LanguageClientOptions = {
      documentSelector: [{ scheme: 'file' }],
      initializationOptions,
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      markdown: { isTrusted: { enabledCommands: HOVER_COMMANDS }, supportHtml: false },
      // The library's restart silently gives up if the server dies while it starts.
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          onDeath();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: {
        provideCodeLenses: async (document, token, next) => plainLenses((await next(document, token)) ?? []),
      },
      initializationFailedHandler: (error: unknown) => {
        this.log.error(`the server could not be initialized: ${messageOf(error)}`);
        // A pipe that breaks during the first request is only reported here.
        if (error instanceof ResponseError && CONNECTION_LOST.has(error.code)) onDeath();
        return false;
      },
    };
    const client = new LanguageClient(SECTION, 'Memlens', serverOptions(interpreter, this.context), options);
    // The library's own handler would show it with links.
    client.onNotification(ShowMessageNotification.type, ({ type, message }) => {
      void (type === MessageType.Error ? showError : showInformation)(message);
    });
    client.onNotification('memlens/progress' satisfies keyof Notifications, (params: ProgressParams) =>
      this.#progress.fire(params),
    );
    client.onNotification(
      'memlens/snapshotsChanged' satisfies keyof Notifications,
      (params: Notifications['memlens/snapshotsChanged']) => this.#setOpen(params.open),
    );
    client.onNotification('memlens/relabelled' satisfies keyof Notifications, (params: RelabelledParams) =>
      this.#relabelled.fire(params),
    );
    client.onNotification('memlens/damaged' satisfies keyof Notifications, (params: DamagedParams) => {
      this.#damaged.fire(params);
      void showDamage(params.message);
    });
    client.onNotification('memlens/sourcesChanged' satisfies keyof Notifications, () =>
      this.#sourcesChanged.fire(),
    );
    client.onRequest(
      'memlens/findFiles' satisfies keyof ClientRequests,
      (params: ClientRequests['memlens/findFiles']['params'], token: vscode.CancellationToken) =>
        findFiles(params, token),
    );
    client.onDidChangeState(({ newState }) => {
      if (this.#client !== client) return;
      if (newState === State.Running) {
        this.#setHealth('running');
        this.#setOpen(0);
        this.#started.fire();
      } else if (newState === State.Starting) {
        this.#setHealth('starting');
      } else if (this.#health !== 'failed') {
        this.#setHealth('stopped');
      }
    });
    return client;
  }

  /** Handle a crash of the server. Returns whether to start it again; if not, the user is notified. */
  #died(): boolean {
    const now = Date.now();
    this.#deaths = [...this.#deaths.filter((death) => now - death < RESTART_WINDOW_MS), now];
    if (this.#deaths.length < MOST_DEATHS) return true;
    this.log.error(`the server crashed ${MOST_DEATHS} times within ${RESTART_WINDOW_MS / 60_000} minutes`);
    this.#deaths = []; // opening a file, or Retry, tries once more
    this.#failure = noServer(vscode.l10n.t('The Memlens server keeps crashing'));
    this.#client = undefined;
    this.#starting = undefined;
    this.#setHealth('failed');
    void showCrashes();
    return false;
  }

  #explain(error: unknown): ProblemError {
    if (!(error instanceof NoInterpreterError)) {
      this.log.error(`the server could not be started: ${messageOf(error)}`);
      return noServer(vscode.l10n.t('The Memlens server could not be started ({0})', messageOf(error)));
    }
    this.log.error([error.message, ...error.tried].join('\n  '));
    const missing = missingPython(this.context.extensionPath, error);
    if (!this.#shownMissingPython) void showMissingPython(missing);
    this.#shownMissingPython = true;
    return new ProblemError(missing.problem);
  }

  #configurationChanged(event: vscode.ConfigurationChangeEvent): void {
    if (event.affectsConfiguration(`${SECTION}.interpreter`)) {
      this.restart().catch((error: unknown) => this.log.error(messageOf(error)));
    } else if (event.affectsConfiguration(SECTION)) {
      void this.sendSettings();
    }
  }

  #setOpen(open: number): void {
    this.#open = open;
    this.#openChanged.fire(open);
  }

  #setHealth(health: Health): void {
    if (this.#health === health) return;
    this.#health = health;
    this.#healthChanged.fire(health);
  }
}

// One object in an arena of Python's allocator keeps a megabyte; glibc returns the free memory around it.
const ALLOCATOR = process.platform === 'linux' ? { PYTHONMALLOC: 'malloc' } : {};

function serverOptions(interpreter: Interpreter, context: vscode.ExtensionContext): ServerOptions {
  // Set by the launch configuration, whose debugger listens on that port.
  const port = process.env['MEMLENS_DEBUGPY_PORT'];
  const debugpy = ['-X', 'frozen_modules=off', '-m', 'debugpy', '--connect'];
  const debugging = port ? [...debugpy, `127.0.0.1:${port}`] : [];
  return {
    command: interpreter.command,
    args: [...interpreter.args, ...debugging, '-m', 'memlens', 'lsp'],
    options: {
      cwd: context.extensionPath,
      env: { ...pythonEnvironment(context.extensionPath), ...ALLOCATOR },
    },
  };
}

function noServer(message: string): ProblemError {
  return new ProblemError(
    problem(
      NO_SERVER,
      message,
      vscode.l10n.t('Run "Memlens: Restart Server" to try again, or "Memlens: Show Log" for details.'),
    ),
  );
}

async function showCrashes(): Promise<void> {
  const restart = vscode.l10n.t('Restart');
  const log = vscode.l10n.t('Show Log');
  const minutes = RESTART_WINDOW_MS / 60_000;
  const message = vscode.l10n.t(
    'The Memlens server crashed {0} times within {1} minutes and is not restarted automatically.',
    MOST_DEATHS,
    minutes,
  );
  const choice = await showError(message, restart, log);
  if (choice === restart) await vscode.commands.executeCommand('memlens.restartServer');
  if (choice === log) await vscode.commands.executeCommand('memlens.showLog');
}

async function showDamage(message: string): Promise<void> {
  const log = vscode.l10n.t('Show Log');
  const choice = await showWarning(message, log);
  if (choice === log) await vscode.commands.executeCommand('memlens.showLog');
}
