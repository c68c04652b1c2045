import * as vscode from 'vscode';
import type { DeclaredType, LibrarySourceResult } from '../../shared/protocol.gen';
import { type Logger, messageOf } from '../base/logger';
import { withProgress } from '../base/window';
import type { Server } from '../server/client';
import { JAVA_EXTENSION } from '../settings';
import { uriOf } from './archived';

/** How long language extensions are waited for: one that has just started may be reading a project. */
const MOST_LANGUAGES_MS = 10_000;
/** How long a search is on before it shows that, with a button that ends it. */
const SHOWN_AFTER_MS = 400;
/** The most symbols of the right name whose texts are looked at. */
const MOST_SYMBOLS = 5;

export interface LibraryType {
  readonly snapshot: string;
  /** The name in the dump. */
  readonly type: string;
  readonly declared: DeclaredType;
}

/** A place in a text of any scheme; lines count from 1. */
export interface Place {
  readonly uri: vscode.Uri;
  readonly line: number;
}

export interface Missing {
  readonly lookedFor: readonly string[];
  readonly advice: string;
}

/** Says beside the title what is being done now. */
type Say = (message: string) => void;

/** Lets the user choose one of several files, and remembers the choice by a name; null if none was chosen. */
type Choose = (name: string, candidates: string[]) => Promise<string | null>;

/**
 * Finds the declarations of types that no file of the workspace declares: asks the language extensions, which know the
 * libraries of the projects that are open and may decompile them, then searches the archives of source on this machine,
 * then the class files, which say which file of the workspace they were compiled from.
 */
export class LibrarySources {
  constructor(
    private readonly server: Server,
    private readonly log: Logger,
  ) {}

  /** Where a type is declared, else what was looked for; null if the user ended the search. */
  async find(type: LibraryType, choose: Choose): Promise<Place | Missing | null> {
    return await withCancel(
      vscode.l10n.t('Looking for the source of {0}', type.declared.symbol),
      async (token, say) => {
        const known = await this.#askLanguages(type, token);
        if (known !== null || token.isCancellationRequested) return known;
        return await this.#searchArchives(type, choose, token, say);
      },
    );
  }

  async #askLanguages(type: LibraryType, token: vscode.CancellationToken): Promise<Place | null> {
    const { symbol } = type.declared;
    try {
      const symbols = await within(
        MOST_LANGUAGES_MS,
        vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
          'vscode.executeWorkspaceSymbolProvider',
          symbol,
        ),
        token,
      );
      for (const uri of placesOf(symbol, symbols ?? []))
        if (!token.isCancellationRequested) {
          const line = await this.#lineIn(uri, type);
          if (line > 0) return { uri, line };
        }
    } catch (error) {
      this.log.warn(`the language extensions did not say where ${symbol} is: ${messageOf(error)}`);
    }
    return null;
  }

  /** The line of a text that declares a type; 0 if none does. Symbols of libraries have no line. */
  async #lineIn(uri: vscode.Uri, { snapshot, type }: LibraryType): Promise<number> {
    try {
      const text = (await vscode.workspace.openTextDocument(uri)).getText();
      return (await this.server.request('memlens/declaration', { snapshot, type, text })).line;
    } catch (error) {
      this.log.warn(`${uri.toString()} can't be read: ${messageOf(error)}`);
      return 0;
    }
  }

  async #searchArchives(
    type: LibraryType,
    choose: Choose,
    token: vscode.CancellationToken,
    say: Say,
  ): Promise<Place | Missing | null> {
    const { symbol, language } = type.declared;
    const sources = await this.#searchSources(type, choose, token);
    if (sources === null || 'uri' in sources) return sources;
    const asked = vscode.l10n.t('{0} among the symbols of the language extensions', symbol);
    if (language !== 'jvm') return { lookedFor: [asked, sources.looked_for], advice: advice(type.declared) };
    say(vscode.l10n.t('among class files'));
    const params = { snapshot: type.snapshot, type: type.type };
    const { local, looked_for } = await this.server.request('memlens/libraryClass', params, token);
    if (local !== null) return { uri: vscode.Uri.file(local.path), line: local.line };
    return { lookedFor: [asked, sources.looked_for, looked_for], advice: advice(type.declared) };
  }

  /** Where the archives of source have a type; lets the user choose among several. Null if none was chosen. */
  async #searchSources(
    { snapshot, type }: LibraryType,
    choose: Choose,
    token: vscode.CancellationToken,
  ): Promise<Place | LibrarySourceResult | null> {
    const [method, params] = ['memlens/librarySource', { snapshot, type }] as const;
    let answer = await this.server.request(method, params, token);
    if (answer.candidates.length > 0) {
      if ((await choose(answer.artifact, answer.candidates)) === null) return null;
      answer = await this.server.request(method, params, token);
    }
    return answer.found === null ? answer : { uri: uriOf(answer.found), line: answer.found.line };
  }
}

/** What the user can do about a type without source. */
function advice({ language }: DeclaredType): string {
  if (language === 'dotnet')
    return vscode.l10n.t('The C# extension knows the types of the projects that are open in this window.');
  return vscode.extensions.getExtension(JAVA_EXTENSION) === undefined
    ? vscode.l10n.t(
        'The extension “Language Support for Java” ({0}) finds the sources of a project’s libraries and decompiles classes that have none. The setting memlens.sourceArchives names further archives.',
        JAVA_EXTENSION,
      )
    : vscode.l10n.t(
        'The Java extension finds and decompiles classes of the projects that are open in this window: open the program’s project. The setting memlens.sourceArchives names further archives.',
      );
}

/** The texts that may declare a symbol, those whose container fits first. */
export function placesOf(symbol: string, found: readonly vscode.SymbolInformation[]): vscode.Uri[] {
  const end = symbol.lastIndexOf('.');
  const [container, name] = [symbol.slice(0, Math.max(end, 0)), symbol.slice(end + 1)];
  // an extension may give the name with its type parameters, and the Java extension gives it with the package if it was
  // asked for with one
  const named = found.filter((each) => [name, symbol].includes(/^[\w$.]*/.exec(each.name)?.[0] ?? ''));
  const fits = (each: vscode.SymbolInformation) => each.containerName === container;
  const uris = [...named.filter(fits), ...named.filter((each) => !fits(each))].map(
    (each) => each.location.uri,
  );
  return [...new Map(uris.map((uri) => [uri.toString(), uri])).values()].slice(0, MOST_SYMBOLS);
}

async function within<T>(
  limitMs: number,
  work: Thenable<T>,
  token: vscode.CancellationToken,
): Promise<T | undefined> {
  const stops: vscode.Disposable[] = [];
  const ended = new Promise<undefined>((resolve) => {
    const late = setTimeout(() => {
      resolve(undefined);
    }, limitMs);
    stops.push(
      new vscode.Disposable(() => {
        clearTimeout(late);
      }),
    );
    stops.push(
      token.onCancellationRequested(() => {
        resolve(undefined);
      }),
    );
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    for (const stop of stops) stop.dispose();
  }
}

/** Runs work that can be cancelled, and shows that it is on if it takes a while. Null if it was cancelled. */
async function withCancel<T>(
  title: string,
  work: (token: vscode.CancellationToken, say: Say) => Promise<T>,
): Promise<T | null> {
  const source = new vscode.CancellationTokenSource();
  let said: string | undefined;
  let say: Say = (message) => {
    said = message;
  };
  const running = work(source.token, (message) => {
    say(message);
  });
  const shown = setTimeout(() => {
    const location = vscode.ProgressLocation.Notification;
    void withProgress({ location, title, cancellable: true }, (progress, token) => {
      say = (message) => {
        progress.report({ message });
      };
      if (said !== undefined) say(said);
      token.onCancellationRequested(() => {
        source.cancel();
      });
      return running.then(
        () => undefined,
        () => undefined,
      );
    });
  }, SHOWN_AFTER_MS);
  try {
    return await running;
  } catch (error) {
    if (source.token.isCancellationRequested) return null;
    throw error;
  } finally {
    clearTimeout(shown);
    source.dispose();
  }
}
