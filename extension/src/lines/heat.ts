import * as vscode from 'vscode';
import type { FileHeat, ShownValue } from '../../shared/protocol.gen';
import { setContext } from '../base/context';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';
import { lineFindings, lineTotals, measure, SECTION } from '../settings';
import { FindingMarks, HeatDecorations } from './decorations';
import { documentOf } from './documents';
import type { EditTracker } from './edits';
import { hotLines } from './words';

const SHOWN_KEY = 'memlens.heatShown';
const SETTLE_MS = 150;

/**
 * Marks the lines of open files that findings are about, and shows beside lines what they allocated, if the user has
 * turned it on.
 *
 * Figures are requested when snapshots are opened and closed, when other editors are shown, and when lines move. While
 * turned off, only the list of visible files with lines is requested, for the button in the editor's title, and their
 * findings; without a snapshot nothing is.
 */
export class LineHeat extends Disposable {
  readonly #decorations = this.own(new HeatDecorations());
  readonly #marks = this.own(new FindingMarks());
  #shown: boolean;
  #timer: NodeJS.Timeout | undefined;
  /** Counts updates, so that a superseded one draws nothing. */
  #round = 0;
  #drawn = false;

  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
    /** The views, whose profiles' lines are shown by the values that are chosen there. */
    private readonly views: { readonly shownValues: ShownValue[]; onDidChangeValues: vscode.Event<void> },
    edits: EditTracker,
    private readonly log: Logger,
  ) {
    super();
    this.#shown = memory.get(SHOWN_KEY) === true;
    setContext('memlens.heatShown', this.#shown);
    const soon = (): void => this.#soon();
    this.own(server.onDidChangeOpen(soon));
    this.own(server.onDidChangeSources(soon));
    this.own(vscode.window.onDidChangeVisibleTextEditors(soon));
    this.own(edits.onDidMove(soon));
    this.own(views.onDidChangeValues(soon));
    this.own(
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        // A cell is identified by its text, so every edit makes it a different one.
        if (document.uri.scheme !== 'file' && contentChanges.length > 0) this.#soon();
      }),
    );
    this.own(
      vscode.window.onDidChangeActiveColorTheme(() => {
        this.#decorations.forget();
        this.#soon();
      }),
    );
    this.own(
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`${SECTION}.lines`)) this.#soon();
      }),
    );
    this.own(vscode.commands.registerCommand('memlens.showLineHeat', () => this.#show(true)));
    this.own(vscode.commands.registerCommand('memlens.hideLineHeat', () => this.#show(false)));
    this.own(vscode.commands.registerCommand('memlens.switchLineMeasure', switchMeasure));
  }

  override dispose(): void {
    clearTimeout(this.#timer);
    super.dispose();
  }

  async #show(shown: boolean): Promise<void> {
    this.#shown = shown;
    setContext('memlens.heatShown', shown);
    await this.memory.update(SHOWN_KEY, shown);
    await this.#update();
  }

  #soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#update(), SETTLE_MS);
  }

  async #update(): Promise<void> {
    clearTimeout(this.#timer);
    const round = ++this.#round;
    if (this.disposed) return;
    const editors = vscode.window.visibleTextEditors;
    setContext('memlens.snapshotsOpen', this.server.open > 0);
    if (this.server.open === 0) {
      setContext('memlens.paths', []);
      setContext('memlens.cellsKnown', false);
      await this.#mark(editors, [], round);
      this.#clear(editors);
      return;
    }
    try {
      const known = await this.#known(editors);
      if (round !== this.#round) return;
      setContext(
        'memlens.paths',
        known.flatMap(({ document }) => spellings(document.uri)),
      );
      setContext(
        'memlens.cellsKnown',
        known.some(({ document }) => document.uri.scheme !== 'file'),
      );
      await this.#mark(editors, known, round);
      if (round !== this.#round) return;
      if (!this.#shown) {
        this.#clear(editors);
        return;
      }
      const unknown = editors.filter((editor) => !known.includes(editor));
      for (const editor of unknown) if (this.#drawn) this.#decorations.clear(editor);
      for (const editor of known) {
        const files = await this.#filesOf(editor.document);
        if (round !== this.#round) return;
        this.#drawn = true;
        this.#decorations.draw(editor, hotLines(files, measure()), lineTotals());
      }
    } catch (error) {
      this.log.warn(`heat of lines: ${messageOf(error)}`);
    }
  }

  /** Marks the lines of the editors that are known to snapshots, and of no other. */
  async #mark(
    editors: readonly vscode.TextEditor[],
    known: readonly vscode.TextEditor[],
    round: number,
  ): Promise<void> {
    for (const editor of editors) {
      const document = known.includes(editor) && lineFindings() ? documentOf(editor.document) : null;
      const lines =
        document === null ? [] : (await this.server.request('memlens/lineFindings', { document })).lines;
      if (round !== this.#round) return;
      this.#marks.draw(editor, lines);
    }
  }

  #clear(editors: readonly vscode.TextEditor[]): void {
    if (!this.#drawn) return;
    for (const editor of editors) this.#decorations.clear(editor);
    // Disposing of the decoration types removes them from hidden editors, too.
    this.#decorations.forget();
    this.#drawn = false;
  }

  /** Returns the editors whose documents have lines in an open snapshot. */
  async #known(editors: readonly vscode.TextEditor[]): Promise<vscode.TextEditor[]> {
    const candidates = editors.flatMap((editor) => {
      const document = documentOf(editor.document);
      return document === null ? [] : [{ editor, document }];
    });
    if (candidates.length === 0) return [];
    const { known } = await this.server.request('memlens/knownDocuments', {
      documents: candidates.map(({ document }) => document),
    });
    return candidates.filter((_, index) => known[index] === true).map(({ editor }) => editor);
  }

  async #filesOf(text: vscode.TextDocument): Promise<FileHeat[]> {
    const document = documentOf(text);
    if (document === null) return [];
    const { version } = text;
    const shown = this.views.shownValues;
    const { files } = await this.server.request('memlens/lineHeat', { document, shown });
    // The text was edited meanwhile, so request its lines again.
    if (text.version !== version) this.#soon();
    return files;
  }
}

/**
 * Returns the forms of a file's path in the context key `resourcePath`, for menus. The workbench, which may run on
 * another system, derives it from a URI with another scheme.
 */
function spellings(uri: vscode.Uri): string[] {
  const path = uri.path.replace(/^\/([a-z]:)/i, '$1');
  return [...new Set([uri.fsPath, path, path.replaceAll('/', '\\')])];
}

async function switchMeasure(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(`${SECTION}.lines`);
  const inWorkspace = settings.inspect('measure')?.workspaceValue !== undefined;
  const target = inWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await settings.update('measure', measure() === 'peak' ? 'total' : 'peak', target);
}
