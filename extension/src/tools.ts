// Answers language models: the tools of package.json, which Copilot Chat's agent mode and others offer a model. The
// server that runs already does the work; a snapshot that is open answers from its session.

import path from 'node:path';
import * as vscode from 'vscode';
import { isFile, isWithinAny, placesOf } from './base/files';
import { plain, steady } from './base/window';
import type { Requests } from '../shared/protocol.gen';
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
  readonly beside?: unknown;
}

const FILES = ['path', 'before', 'after', 'beside'] as const;

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

  /** Asks the user by what the server says that the call would touch; that looks for no file outside. */
  async prepareInvocation(
    { input }: vscode.LanguageModelToolInvocationPrepareOptions<Input>,
    token: vscode.CancellationToken,
  ): Promise<vscode.PreparedToolInvocation> {
    const file = plain(path.basename(this.#chosen(input) ?? ''));
    const invocationMessage = vscode.l10n.t('Asking Memlens about {0}', file);
    const { outside, queries, contents } = await this.#request('memlens/toolTouches', token, {
      ...this.#call(await this.#asked(input)),
      folders: folders(),
      open: this.editors.views.map(({ uri }) => uri.fsPath),
    });
    // What VS Code asks by itself says neither that contents are sent, nor what a query is.
    let title: string | undefined;
    const message = new vscode.MarkdownString();
    const say = (text: string, code?: string): void => {
      message.appendMarkdown(`${text}\n\n`);
      if (code !== undefined) message.appendCodeblock(steady(code));
    };
    if (outside.length > 0) {
      title = vscode.l10n.t('Read {0}?', plain(path.basename(outside[0] ?? '')));
      say(vscode.l10n.t('It is not in this workspace:'), outside.join('\n'));
    }
    if (contents) {
      title = vscode.l10n.t('Send the contents of objects in {0}?', file);
      say(vscode.l10n.t('Texts of strings and values of fields will be sent to the language model.'));
    }
    for (const query of queries) {
      title = vscode.l10n.t('Query {0}?', file);
      say(vscode.l10n.t('What this query finds will be sent to the language model.'), query);
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
    const call = this.#call(await this.#asked(input));
    const { text, is_error } = await this.#request('memlens/tool', token, call);
    // The model learns from an error that there is no answer.
    if (is_error) throw new Error(text);
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
  }

  /** The input with the whole paths of its files. */
  async #asked(input: Input): Promise<Readonly<Record<string, unknown>>> {
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
    return asked;
  }

  #call(asked: Readonly<Record<string, unknown>>): { readonly name: string; readonly arguments: string } {
    return { name: this.name, arguments: JSON.stringify(asked) };
  }

  /** The file that the input names, else the snapshot that was looked at last. */
  #chosen(input: Input): string | undefined {
    const file = this.file === null ? named(input)[0] : input[this.file];
    return typeof file === 'string' && file !== '' ? localPath(file) : this.editors.views[0]?.uri.fsPath;
  }

  async #request<M extends 'memlens/tool' | 'memlens/toolTouches'>(
    method: M,
    token: vscode.CancellationToken,
    params: Requests[M]['params'],
  ): Promise<Requests[M]['result']> {
    try {
      return await this.server.request(method, params, token);
    } catch (error) {
      const { code, message, advice } = problemOf(error);
      if (code === CANCELLED) throw new vscode.CancellationError();
      throw new Error(`${message}. ${advice}`, { cause: error });
    }
  }
}

function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
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

/** A relative path is one of the workspace's: of the first folder that has such a file. No other is looked for. */
async function inWorkspace(file: string): Promise<string> {
  const all = folders();
  const places = placesOf(file, all);
  if (path.isAbsolute(file)) return file;
  for (const each of places) if (isWithinAny(all, each) && (await isFile(each))) return each;
  return places[0] ?? file;
}
