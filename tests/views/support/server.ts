// A real server, over its standard input and output, as the extension host talks to it.

import { execFile as execFileOfNode, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import {
  CancellationToken,
  createMessageConnection,
  ParameterStructures,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from 'vscode-jsonrpc/node';
import type { Requests } from '../../../extension/shared/protocol.gen';

const execFile = promisify(execFileOfNode);

const BIN = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];
/** Of this checkout; tests are run in its root. */
const PYTHON = path.resolve('.venv', ...BIN);

/** Runs this checkout's Python in its root. */
export async function python(...args: string[]): Promise<void> {
  await execFile(PYTHON, args);
}

/** `memlens lsp` with a cache of its own. */
export class RealServer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: MessageConnection,
    private readonly temporary: string,
  ) {}

  static async start(workspace: string): Promise<RealServer> {
    const temporary = mkdtempSync(path.join(os.tmpdir(), 'memlens-views-'));
    const child = spawn(PYTHON, ['-m', 'memlens', 'lsp'], { stdio: ['pipe', 'pipe', 'ignore'] });
    const connection = createMessageConnection(
      new StreamMessageReader(child.stdout),
      new StreamMessageWriter(child.stdin),
    );
    connection.listen();
    const server = new RealServer(child, connection, temporary);
    await connection.sendRequest('initialize', {
      ...{ processId: process.pid, rootUri: null, capabilities: {} },
      workspaceFolders: [{ uri: pathToFileURL(workspace).href, name: path.basename(workspace) }],
      initializationOptions: {
        settings: { cache_directory: server.cache },
        ...{ find_files: false, texts: {} },
      },
    });
    await connection.sendNotification('initialized', {});
    return server;
  }

  /** Where it keeps archives. */
  get cache(): string {
    return path.join(this.temporary, 'cache');
  }

  request<M extends keyof Requests>(
    method: M,
    params: Requests[M]['params'],
    token = CancellationToken.None,
  ): Promise<Requests[M]['result']> {
    return this.connection.sendRequest(method, ParameterStructures.byName, params, token);
  }

  /** What `memlens ARGUMENTS --json` prints in a folder; it finds the archives that the server made. */
  async memlens<T>(folder: string, ...args: string[]): Promise<T> {
    const all = ['-m', 'memlens', ...args, '--json', '--cache-dir', this.cache];
    const { stdout } = await execFile(PYTHON, all, { cwd: folder, maxBuffer: 1 << 28 });
    return JSON.parse(stdout) as T;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    await ended;
    this.connection.dispose();
    rmSync(this.temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
