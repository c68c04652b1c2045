import * as vscode from 'vscode';
import { Disposable } from '../base/disposable';
import { type HotLine, STEPS } from './words';

/** Colours of the bars, cool to hot. A bar's length has the same meaning. */
const PALETTES = {
  light: ['#9db7d5', '#7fa3c7', '#c9a227', '#d9822b', '#cf5327', '#b3261e'],
  dark: ['#3f5f82', '#5580ad', '#b8952f', '#d98a3a', '#e56a45', '#f0544f'],
  contrastLight: ['#0f4a85', '#0f4a85', '#0f4a85', '#8a1c00', '#8a1c00', '#8a1c00'],
  contrastDark: ['#ffffff', '#ffffff', '#ffffff', '#f3a712', '#f3a712', '#f3a712'],
} as const;

type Palette = (typeof PALETTES)[keyof typeof PALETTES];

const RULERS = ['memlens.heatLow', 'memlens.heatLow', 'memlens.heatMedium', 'memlens.heatMedium'] as const;
const RULER_HOT = 'memlens.heatHigh';

/** Draws the heat of lines into editors: a bar in the gutter, a mark in the ruler, figures after the line. */
export class HeatDecorations extends Disposable {
  #bars: vscode.TextEditorDecorationType[] = [];
  #staleBar: vscode.TextEditorDecorationType | undefined;
  #text: vscode.TextEditorDecorationType | undefined;

  /** Dispose of all decorations, because colours depend on the kind of theme; lines must be drawn again. */
  forget(): void {
    for (const type of this.#all()) type.dispose();
    this.#bars = [];
    this.#staleBar = undefined;
    this.#text = undefined;
  }

  draw(editor: vscode.TextEditor, lines: readonly HotLine[], withText: boolean): void {
    if (this.#text === undefined) this.#create();
    const { document } = editor;
    const shown = lines.filter(({ line }) => line <= document.lineCount);
    for (const [index, type] of this.#bars.entries()) {
      const ranges = shown
        .filter(({ step, stale }) => !stale && step === index + 1)
        .map(({ line }) => rangeOf(document, line));
      editor.setDecorations(type, ranges);
    }
    if (this.#staleBar !== undefined) {
      const stale = shown.filter((line) => line.stale);
      editor.setDecorations(
        this.#staleBar,
        stale.map(({ line }) => rangeOf(document, line)),
      );
    }
    if (this.#text !== undefined) {
      editor.setDecorations(this.#text, withText ? shown.map((line) => textOf(document, line)) : []);
    }
  }

  clear(editor: vscode.TextEditor): void {
    for (const type of this.#all()) editor.setDecorations(type, []);
  }

  override dispose(): void {
    this.forget();
    super.dispose();
  }

  #all(): vscode.TextEditorDecorationType[] {
    return [...this.#bars, this.#staleBar, this.#text].filter((type) => type !== undefined);
  }

  #create(): void {
    const { light, dark } = palettes(vscode.window.activeColorTheme.kind);
    this.#bars = Array.from({ length: STEPS }, (_, index) =>
      vscode.window.createTextEditorDecorationType({
        light: { gutterIconPath: bar(index + 1, light, false) },
        dark: { gutterIconPath: bar(index + 1, dark, false) },
        gutterIconSize: 'contain',
        overviewRulerColor: new vscode.ThemeColor(RULERS[index] ?? RULER_HOT),
        overviewRulerLane: vscode.OverviewRulerLane.Left,
        rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
      }),
    );
    this.#staleBar = vscode.window.createTextEditorDecorationType({
      light: { gutterIconPath: bar(STEPS, light, true) },
      dark: { gutterIconPath: bar(STEPS, dark, true) },
      gutterIconSize: 'contain',
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    this.#text = vscode.window.createTextEditorDecorationType({
      after: { margin: '0 0 0 3em' },
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
  }
}

/** Draws the marks of lines with findings into editors. */
export class FindingMarks extends Disposable {
  readonly #mark = this.own(
    vscode.window.createTextEditorDecorationType({
      light: { gutterIconPath: mark('#b3261e') },
      dark: { gutterIconPath: mark('#f0544f') },
      gutterIconSize: 'contain',
      overviewRulerColor: new vscode.ThemeColor(RULER_HOT),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    }),
  );

  readonly #marked = new WeakSet<vscode.TextEditor>();

  draw(editor: vscode.TextEditor, lines: readonly number[]): void {
    const { document } = editor;
    const shown = lines.filter((line) => line <= document.lineCount);
    if (shown.length > 0) this.#marked.add(editor);
    else if (!this.#marked.delete(editor)) return;
    editor.setDecorations(
      this.#mark,
      shown.map((line) => ({ range: rangeOf(document, line) })),
    );
  }
}

/** A diamond, which no breakpoint has. */
function mark(colour: string): vscode.Uri {
  return svg(`<path d="M8 2 14 8 8 14 2 8Z" fill="${colour}"/>`);
}

/** Returns the range from the line's first word to its end, which moves with the words when lines are split or joined. */
function rangeOf(document: vscode.TextDocument, line: number): vscode.Range {
  const { range, firstNonWhitespaceCharacterIndex } = document.lineAt(line - 1);
  return new vscode.Range(range.start.translate(0, firstNonWhitespaceCharacterIndex), range.end);
}

function textOf(document: vscode.TextDocument, { line, text, stale }: HotLine): vscode.DecorationOptions {
  const after: vscode.ThemableDecorationAttachmentRenderOptions = {
    contentText: text,
    color: new vscode.ThemeColor(stale ? 'memlens.lineTotalsStale' : 'memlens.lineTotals'),
  };
  if (stale) after.fontStyle = 'italic';
  return { range: rangeOf(document, line), renderOptions: { after } };
}

function palettes(kind: vscode.ColorThemeKind): { light: Palette; dark: Palette } {
  const contrast =
    kind === vscode.ColorThemeKind.HighContrast || kind === vscode.ColorThemeKind.HighContrastLight;
  // VS Code uses the light variant for light high-contrast themes, too.
  return contrast
    ? { light: PALETTES.contrastLight, dark: PALETTES.contrastDark }
    : { light: PALETTES.light, dark: PALETTES.dark };
}

/** Returns a bar, the longer the hotter; that of a line that has changed is an outline. */
export function bar(step: number, palette: Palette, hollow: boolean): vscode.Uri {
  const colour = palette[step - 1] ?? palette[0];
  const width = 2 + step * 2;
  const shape = hollow
    ? `<rect x="2.5" y="4.5" width="11" height="7" rx="1" fill="none" stroke="${palette[1]}" stroke-dasharray="2 1.5"/>`
    : `<rect x="1" y="4" width="${width}" height="8" rx="1" fill="${colour}"/>`;
  return svg(shape);
}

function svg(shape: string): vscode.Uri {
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">${shape}</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(text).toString('base64')}`);
}
