// A real server, over its standard input and output, as the extension host talks to it.

import { execFile as execFileOfNode, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
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

interface Answer {
  readonly returncode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs all commands in one process, one after another, because starting one takes longer than most commands. */
class CommandLine {
  private readonly child = spawn(PYTHON, ['-m', 'tests.python.command_line'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  private readonly ended = once(this.child, 'close').then(() => {
    for (const answer of this.waiting) answer({ returncode: -1, stdout: '', stderr: 'It has ended.' });
  });
  private readonly waiting: ((answer: Answer) => void)[] = [];

  constructor() {
    createInterface({ input: this.child.stdout }).on('line', (line) =>
      this.waiting.shift()!(JSON.parse(line) as Answer),
    );
  }

  /** The output of `memlens ARGUMENTS` in a folder. Throws what it printed when it fails. */
  async run(args: readonly string[], cwd: string): Promise<string> {
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => name.startsWith('MEMLENS_')),
    );
    const { returncode, stdout, stderr } = await new Promise<Answer>((resolve) => {
      this.waiting.push(resolve);
      this.child.stdin.write(`${JSON.stringify({ arguments: args, cwd, env })}\n`);
    });
    if (returncode !== 0) throw new Error(`memlens ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async stop(): Promise<void> {
    this.child.stdin.end();
    await this.ended;
  }
}

/** `memlens lsp` with a cache of its own. */
export class RealServer {
  private commands: CommandLine | undefined;

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

  /** The Markdown of the hover at the beginning of a file's line, counted from 1; '' if there is none. */
  async hover(file: string, line: number): Promise<string> {
    const { href: uri } = pathToFileURL(file);
    const text = readFileSync(file, 'utf8');
    const textDocument = { uri, languageId: 'plaintext', version: 1, text };
    await this.connection.sendNotification('textDocument/didOpen', { textDocument });
    const position = { line: line - 1, character: 0 };
    const found = await this.connection.sendRequest<{ contents: { value: string } } | null>(
      'textDocument/hover',
      { textDocument: { uri }, position },
    );
    await this.connection.sendNotification('textDocument/didClose', { textDocument: { uri } });
    return found?.contents.value ?? '';
  }

  /** What `memlens ARGUMENTS --json` prints in a folder; it finds the archives that the server made. */
  async memlens<T>(folder: string, ...args: string[]): Promise<T> {
    this.commands ??= new CommandLine();
    const stdout = await this.commands.run([...args, '--json', '--cache-dir', this.cache], folder);
    return JSON.parse(stdout) as T;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    await ended;
    this.connection.dispose();
    await this.commands?.stop();
    rmSync(this.temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
