// Where a query is written: CodeMirror, which knows SQLite's language and the snapshot's tables.

import { t } from '../base/l10n';
import {
  autocompletion,
  acceptCompletion,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { SQLite, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  EditorView,
  keymap,
  placeholder,
  tooltips,
  type Command,
  type DecorationSet,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { SqlSchema } from '../../../extension/shared/protocol.gen';
import { complete } from './complete';

const MOST_CHARACTERS = 100_000;

export interface EditorActions {
  readonly run: () => void;
  readonly changed: () => void;
  /** Alt with an arrow: to the query before or after in the history. */
  readonly past: (step: -1 | 1) => void;
  readonly giveUp: () => void;
  /** Filters the views by what the query names. */
  readonly filter: () => void;
}

export class Editor {
  readonly root: HTMLElement;
  private readonly view: EditorView;
  private schema: SqlSchema | null = null;

  constructor(query: string, actions: EditorActions) {
    const does =
      (run: () => void): Command =>
      () => {
        run();
        return true;
      };
    const keys = keymap.of(
      [
        { key: 'Mod-Enter', run: does(actions.run) },
        { key: 'Mod-Shift-Enter', run: does(actions.filter) },
        {
          key: 'Alt-ArrowUp',
          run: does(() => actions.past(-1)),
        },
        {
          key: 'Alt-ArrowDown',
          run: does(() => actions.past(1)),
        },
        { key: 'Tab', run: acceptCompletion },
        ...completionKeymap,
        { key: 'Escape', run: does(actions.giveUp) },
        // VS Code has keys of its own for these, and would do them once more
        ...historyKeymap,
      ].map((binding) => ({ ...binding, stopPropagation: true })),
    );
    this.view = new EditorView({
      doc: query,
      extensions: [
        Prec.high(keys),
        keymap.of(defaultKeymap),
        EditorView.cspNonce.of(nonceOf(document)),
        EditorState.changeFilter.of(({ newDoc }) => newDoc.length <= MOST_CHARACTERS),
        EditorView.updateListener.of(({ docChanged }) => {
          if (docChanged) actions.changed();
        }),
        EditorView.contentAttributes.of({
          'aria-label': t('SQL query'),
          'aria-keyshortcuts': 'Control+Enter',
          tabindex: '0',
        }),
        history(),
        bracketMatching(),
        placeholder(t('SELECT …   (Ctrl+Enter runs it, Ctrl+Space completes)')),
        sql({ dialect: SQLite }),
        autocompletion({
          override: [(context) => this.complete(context)],
          icons: false,
          activateOnTypingDelay: 20,
          interactionDelay: 0,
        }),
        // the pane is a container, in which nothing is fixed to the window
        tooltips({ parent: document.body }),
        mistake,
        syntaxHighlighting(HIGHLIGHT),
        THEME,
      ],
    });
    this.root = this.view.dom;
  }

  get value(): string {
    return this.view.state.doc.toString();
  }

  set value(text: string) {
    const { length } = this.view.state.doc;
    this.view.dispatch({ changes: { from: 0, to: length, insert: text }, selection: { anchor: 0 } });
  }

  learn(schema: SqlSchema): void {
    this.schema = schema;
  }

  get focused(): boolean {
    return this.view.hasFocus;
  }

  focus(): void {
    this.view.focus();
  }

  /** Underlines the word where the query is wrong, and selects it. */
  pointAt(offset: number): void {
    const from = Math.min(offset, this.view.state.doc.length);
    const length = /^\w+|^\S/.exec(this.value.slice(from))?.[0].length ?? 0;
    this.view.dispatch({
      selection: { anchor: from, head: from + length },
      effects: wrongAt.of({ from, to: from + length }),
      scrollIntoView: true,
    });
    this.view.focus();
  }

  dispose(): void {
    this.view.destroy();
  }

  private complete({ state, pos, explicit }: CompletionContext): CompletionResult | null {
    if (!this.schema) return null;
    const { from, suggestions } = complete(state.doc.toString(), pos, this.schema, explicit);
    if (suggestions.length === 0) return null;
    const options = suggestions.map(({ text, kind, detail }) => ({ label: text, type: kind, detail }));
    // they are matched and ordered already
    return { from, options, filter: false };
  }
}

/** With which the page allows styles; VS Code's own scripts stand before ours. */
function nonceOf({ scripts }: Document): string {
  return [...scripts].find(({ nonce }) => nonce !== '')?.nonce ?? '';
}

const wrongAt = StateEffect.define<{ readonly from: number; readonly to: number }>();

/** The word that the server names as wrong, until the query is changed. */
const mistake = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, { docChanged, effects }) => {
    const wrong = effects.find((effect) => effect.is(wrongAt));
    if (wrong?.is(wrongAt) && wrong.value.from < wrong.value.to)
      return Decoration.set(MISTAKE.range(wrong.value.from, wrong.value.to));
    return docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});
const MISTAKE = Decoration.mark({ class: 'sql-mistake', attributes: { 'aria-invalid': 'true' } });

const HIGHLIGHT = HighlightStyle.define([
  // as it is, the colour of a keyword doesn't stand out enough from an input's background in the dark theme
  {
    tag: tags.keyword,
    color:
      'color-mix(in srgb, var(--vscode-debugTokenExpression-boolean) 65%, var(--vscode-input-foreground))',
  },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--vscode-debugTokenExpression-string)' },
  { tag: tags.number, color: 'var(--vscode-debugTokenExpression-number)' },
  { tag: tags.comment, color: 'var(--vscode-descriptionForeground)', fontStyle: 'italic' },
]);

const THEME = EditorView.theme({
  '&': {
    height: '100%',
    border: '1px solid var(--vscode-input-border, var(--line))',
    borderRadius: '3px',
    color: 'var(--vscode-input-foreground)',
    background: 'var(--vscode-input-background)',
  },
  '&.cm-focused': { outline: '1px solid var(--vscode-focusBorder)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--code)', lineHeight: '19px' },
  '.cm-content': { padding: '6px 0', caretColor: 'var(--vscode-editorCursor-foreground)' },
  '.cm-placeholder': { color: 'var(--vscode-input-placeholderForeground)' },
  '.cm-content ::selection': { backgroundColor: 'var(--vscode-editor-selectionBackground)' },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'transparent',
    outline: '1px solid var(--vscode-editorBracketMatch-border)',
  },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'transparent' },
  '.sql-mistake': {
    textDecoration: 'underline wavy var(--vscode-editorError-foreground, var(--vscode-errorForeground))',
    textDecorationSkipInk: 'none',
  },
  '.cm-tooltip.cm-tooltip-autocomplete': {
    border: '1px solid var(--vscode-editorSuggestWidget-border, var(--line))',
    color: 'var(--vscode-editorSuggestWidget-foreground, var(--vscode-foreground))',
    backgroundColor: 'var(--vscode-editorSuggestWidget-background, var(--vscode-editor-background))',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    maxHeight: '180px',
    maxWidth: '420px',
    fontFamily: 'var(--code)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '1px 8px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    color:
      'var(--vscode-editorSuggestWidget-selectedForeground, var(--vscode-list-activeSelectionForeground))',
    background:
      'var(--vscode-editorSuggestWidget-selectedBackground, var(--vscode-list-activeSelectionBackground))',
    outline: '1px dashed var(--vscode-contrastActiveBorder, transparent)',
    outlineOffset: '-1px',
  },
  '.cm-completionDetail': {
    fontFamily: 'var(--vscode-font-family, system-ui, sans-serif)',
    fontStyle: 'normal',
    opacity: '0.8',
  },
});
