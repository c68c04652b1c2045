// Answers language models: the tools of package.json, which Copilot Chat's agent mode and others offer a model. The
// server that runs already does the work; a snapshot that is open answers from its session.

import { isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { isFile } from './base/files';
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
        new SnapshotTool(name, 'path' in inputSchema.properties ? 'path' : 'after', server, editors),
      ),
    ),
  );
}

class SnapshotTool implements vscode.LanguageModelTool<Input> {
  constructor(
    private readonly name: string,
    /** The argument that may be left out, for the snapshot that was looked at last. */
    private readonly file: 'path' | 'after',
    private readonly server: Pick<Server, 'request'>,
    private readonly editors: Pick<SnapshotEditorProvider, 'views'>,
  ) {}

  prepareInvocation({
    input,
  }: vscode.LanguageModelToolInvocationPrepareOptions<Input>): vscode.PreparedToolInvocation {
    const file = basename(this.#chosen(input) ?? '');
    const invocationMessage = vscode.l10n.t('Asking Memlens about {0}', file);
    // What VS Code asks by itself says neither that contents are sent, nor what a query is.
    if (typeof input.query === 'string' && input.query !== '') {
      const message = new vscode.MarkdownString(
        vscode.l10n.t(
          'The rows of this query are sent to the language model. They may have texts of the program.',
        ),
      );
      message.appendCodeblock(input.query, 'sql');
      return {
        invocationMessage,
        confirmationMessages: { title: vscode.l10n.t('Query {0}?', file), message },
      };
    }
    if (input.values !== true) return { invocationMessage };
    return {
      invocationMessage,
      confirmationMessages: {
        title: vscode.l10n.t('Send what objects of {0} contain?', file),
        message: vscode.l10n.t('Texts of strings and values of fields are sent to the language model.'),
      },
    };
  }

  async invoke(
    { input }: vscode.LanguageModelToolInvocationOptions<Input>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const asked: Record<string, unknown> = { ...input, [this.file]: this.#chosen(input) };
    for (const key of FILES) {
      const path = asked[key];
      if (typeof path === 'string') asked[key] = await inWorkspace(path);
    }
    const { text, is_error } = await this.#request(asked, token);
    // An error is thrown, so that the model is told that there is no answer.
    if (is_error) throw new Error(text);
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
  }

  /** The file that the input names, else the snapshot that was looked at last. */
  #chosen(input: Input): string | undefined {
    const path = input[this.file];
    return typeof path === 'string' && path !== '' ? path : this.editors.views[0]?.uri.fsPath;
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

/** A relative path is one of the workspace's: of the first folder that has such a file. */
async function inWorkspace(path: string): Promise<string> {
  if (isAbsolute(path) || path.startsWith('~')) return path;
  const folders = vscode.workspace.workspaceFolders ?? [];
  const here = folders.map(({ uri }) => join(uri.fsPath, path));
  for (const each of here) if (await isFile(each)) return each;
  return here[0] ?? path;
}

function basename(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}
