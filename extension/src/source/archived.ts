import path from 'node:path';
import * as vscode from 'vscode';
import type { LibrarySource } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import type { Server } from '../server/client';

/** The scheme of source files in archives; package.json activates the extension for it. */
const SCHEME = 'memlens-source';

/** The address of a file in an archive, whose name comes before the path in it as a folder's does. */
export function uriOf({ archive, member }: Pick<LibrarySource, 'archive' | 'member'>): vscode.Uri {
  return vscode.Uri.from({
    scheme: SCHEME,
    path: `/${path.basename(archive)}/${member}`,
    query: JSON.stringify({ archive, member }),
  });
}

/**
 * Source files in archives, read-only. They are a file system and not just texts, so that VS Code waits for the extension
 * where it restores them.
 */
export class ArchivedFiles extends Disposable implements vscode.FileSystemProvider {
  readonly #changed = this.own(new vscode.EventEmitter<vscode.FileChangeEvent[]>());
  readonly onDidChangeFile = this.#changed.event;
  /** The file that was asked for last: VS Code asks for its size and then for its content. */
  #last: { uri: string; content: Promise<Uint8Array> } | undefined;

  constructor(private readonly server: Server) {
    super();
    this.own(vscode.workspace.registerFileSystemProvider(SCHEME, this, { isReadonly: true }));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { length } = await this.readFile(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: length };
  }

  readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const asked = uri.toString();
    if (this.#last?.uri !== asked) {
      const content = this.#read(uri);
      this.#last = { uri: asked, content };
      content.catch(() => {
        if (this.#last?.content === content) this.#last = undefined;
      });
    }
    return this.#last.content;
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory = readOnly;
  writeFile = readOnly;
  delete = readOnly;
  rename = readOnly;

  async #read(uri: vscode.Uri): Promise<Uint8Array> {
    const place = placeOf(uri);
    if (place === null) throw vscode.FileSystemError.FileNotFound(uri);
    const { text } = await this.server.request('memlens/archivedText', place);
    return new TextEncoder().encode(text);
  }
}

function placeOf(uri: vscode.Uri): { archive: string; member: string } | null {
  try {
    const { archive, member } = Object(JSON.parse(uri.query)) as Record<string, unknown>;
    return typeof archive === 'string' && typeof member === 'string' ? { archive, member } : null;
  } catch {
    return null; // a folder of a path, or not an address of ours
  }
}

function readOnly(uri: vscode.Uri): never {
  throw vscode.FileSystemError.NoPermissions(uri);
}
