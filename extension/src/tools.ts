// Answers language models: the tools of package.json, which Copilot Chat's agent mode and others offer a model. The
// server that runs already does the work; a snapshot that is open answers from its session.

import path from 'node:path';
import * as vscode from 'vscode';
import { isFile, isWithinAny, placesOf } from './base/files';
import { plain } from './base/window';
import type { SnapshotEditorProvider } from './editor/provider';
import type { Server } from './server/client';
import { CANCELLED, problemOf } from './server/problem';

/** What is read of the manifest, which `npm run contract` writes from the server's table. */
interface Manifest {
  readonly contributes: {
    readonly languageModelTools: readonly {
      readonly name: string;
      readonly inputSchema: { readonly properties: Readonly<Record<string, unknown>> };
    }[];
  };
}

/** What is looked at of the input; the server checks all of it. */
interface Input {
  readonly path?: unknown;
  readonly paths?: unknown;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly query?: unknown;
  readonly values?: unknown;
}

const FILES = ['path', 'before', 'after'] as const;

export function registerTools(
  extension: Pick<vscode.Extension<unknown>, 'packageJSON'>,
  server: Pick<Server, 'request'>,
  editors: Pick<SnapshotEditorProvider, 'views'>,
): vscode.Disposable {
  // SAFETY: this extension's own package.json.
  const { contributes } = extension.packageJSON as Manifest;
  return vscode.Disposable.from(
    ...contributes.languageModelTools.map(({ name, inputSchema }) =>
      vscode.lm.registerTool(
        name,
        new SnapshotTool(
          name,
          (['path', 'after'] as const).find((key) => key in inputSchema.properties) ?? null,
          server,
          editors,
        ),
      ),
    ),
  );
}

class SnapshotTool implements vscode.LanguageModelTool<Input> {
  constructor(
    private readonly name: string,
    /** The argument that may be left out, for the snapshot that was looked at last; null where none may. */
    private readonly file: 'path' | 'after' | null,
    private readonly server: Pick<Server, 'request'>,
    private readonly editors: Pick<SnapshotEditorProvider, 'views'>,
  ) {}

  prepareInvocation({
    input,
  }: vscode.LanguageModelToolInvocationPrepareOptions<Input>): vscode.PreparedToolInvocation {
    const file = plain(path.basename(this.#chosen(input) ?? ''));
    const invocationMessage = vscode.l10n.t('Asking Memlens about {0}', file);
    // What VS Code asks by itself says neither that contents are sent, nor what a query is.
    let title: string | undefined;
    const message = new vscode.MarkdownString();
    const say = (text: string, code?: string): void => {
      message.appendMarkdown(`${text}\n\n`);
      if (code !== undefined) message.appendCodeblock(code);
    };
    const others = this.#outside(input);
    if (others.length > 0) {
      title = vscode.l10n.t('Read {0}?', plain(path.basename(others[0] ?? '')));
      say(vscode.l10n.t('It is not in this workspace:'), others.join('\n'));
    }
    // The server also takes what models write in place of true.
    if (input.values !== undefined && input.values !== null && input.values !== false) {
      title = vscode.l10n.t('Send the contents of objects in {0}?', file);
      say(vscode.l10n.t('Texts of strings and values of fields will be sent to the language model.'));
    }
    if (typeof input.query === 'string' && input.query !== '') {
      title = vscode.l10n.t('Query {0}?', file);
      say(
        vscode.l10n.t(
          'The rows of this query will be sent to the language model. They may contain texts of the program.',
        ),
        input.query,
      );
    }
    return {
      invocationMessage,
      ...(title === undefined ? {} : { confirmationMessages: { title, message } }),
    };
  }

  async invoke(
    { input }: vscode.LanguageModelToolInvocationOptions<Input>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const asked: Record<string, unknown> = { ...input };
    if (this.file !== null) asked[this.file] = this.#chosen(input);
    for (const key of FILES) {
      const file = asked[key];
      if (typeof file === 'string') asked[key] = await inWorkspace(localPath(file));
    }
    if (Array.isArray(input.paths)) {
      const files = input.paths.filter((file) => typeof file === 'string').map(localPath);
      asked['paths'] = await Promise.all(files.map(inWorkspace));
    }
    const { text, is_error } = await this.#request(asked, token);
    // An error is thrown, so that the model is told that there is no answer.
    if (is_error) throw new Error(text);
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
  }

  /** The file that the input names, else the snapshot that was looked at last. */
  #chosen(input: Input): string | undefined {
    const file = this.file === null ? named(input)[0] : input[this.file];
    return typeof file === 'string' && file !== '' ? localPath(file) : this.editors.views[0]?.uri.fsPath;
  }

  /** The files that are neither open nor in the workspace. None is looked for before the user has confirmed it. */
  #outside(input: Input): string[] {
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    const open = this.editors.views.map(({ uri }) => uri.fsPath);
    return named(input).filter((file) => !open.includes(file) && !isWithinAny(folders, file));
  }

  async #request(
    asked: Readonly<Record<string, unknown>>,
    token: vscode.CancellationToken,
  ): Promise<{ readonly text: string; readonly is_error: boolean }> {
    try {
      const params = { name: this.name, arguments: JSON.stringify(asked) };
      return await this.server.request('memlens/tool', params, token);
    } catch (error) {
      const { code, message, advice } = problemOf(error);
      if (code === CANCELLED) throw new vscode.CancellationError();
      throw new Error(`${message}. ${advice}`, { cause: error });
    }
  }
}

/** All files that an input names. */
function named(input: Input): string[] {
  const several: readonly unknown[] = Array.isArray(input.paths) ? input.paths : [];
  return [...FILES.map((key) => input[key]), ...several]
    .filter((file) => typeof file === 'string')
    .map(localPath);
}

/** Some models write a file's URI instead of its path. */
function localPath(file: string): string {
  return file.startsWith('file://') ? vscode.Uri.parse(file).fsPath : file;
}

/** A relative path is one of the workspace's: of the first folder that has such a file. */
async function inWorkspace(file: string): Promise<string> {
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
  const places = placesOf(file, folders);
  for (const each of places) if (await isFile(each)) return each;
  return places[0] ?? file;
}
