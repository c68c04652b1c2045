// Where a query is written: a text area that knows the tables.

import type { SqlSchema } from '../../../extension/shared/protocol.gen';
import { element, replace } from '../ui/dom';
import { complete, type Completion, type Suggestion } from './complete';

export interface EditorActions {
  readonly run: () => void;
  readonly changed: () => void;
  /** Alt with an arrow: to the query before or after in the history. */
  readonly past: (step: -1 | 1) => void;
  readonly giveUp: () => void;
}

export class Editor {
  readonly root: HTMLElement;
  readonly area = element('textarea', {
    class: 'code',
    attributes: {
      'aria-label': 'SQL query',
      'aria-keyshortcuts': 'Control+Enter',
      'aria-autocomplete': 'list',
      'aria-controls': 'sql-completion',
      autocapitalize: 'off',
      autocomplete: 'off',
      spellcheck: 'false',
      wrap: 'off',
      maxlength: 100_000,
      placeholder: 'SELECT …   (Ctrl+Enter runs it, Ctrl+Space completes)',
    },
  });
  private readonly popup = element('ul', {
    class: 'sql-completion',
    role: 'listbox',
    id: 'sql-completion',
    hidden: true,
    attributes: { 'aria-label': 'Suggestions' },
  });
  private schema: SqlSchema | null = null;
  private completion: Completion | null = null;
  private chosen = 0;

  constructor(private readonly actions: EditorActions) {
    this.root = element('div', { class: 'sql-editor' }, this.area, this.popup);
    this.area.addEventListener('keydown', (event) => {
      if (!this.key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.area.addEventListener('input', () => {
      this.actions.changed();
      this.suggest(false);
    });
    this.area.addEventListener('blur', () => {
      this.hide();
    });
    this.area.addEventListener('scroll', () => {
      if (this.completion) this.place(this.completion.from);
    });
    this.popup.addEventListener('mousedown', (event) => {
      // The focus stays where it is.
      event.preventDefault();
      const item = event.target instanceof Element ? event.target.closest('li') : null;
      if (!item) return;
      this.chosen = [...this.popup.children].indexOf(item);
      this.accept();
    });
  }

  get value(): string {
    return this.area.value;
  }

  set value(text: string) {
    this.area.value = text;
    this.hide();
    this.actions.changed();
  }

  learn(schema: SqlSchema): void {
    this.schema = schema;
  }

  focus(): void {
    this.area.focus();
  }

  /** Puts the caret where the query is wrong, over the word that is. */
  pointAt(offset: number): void {
    const length = /^\w+|^\S/.exec(this.value.slice(offset))?.[0].length ?? 0;
    this.area.focus();
    this.area.setSelectionRange(offset, offset + length);
  }

  private key(event: KeyboardEvent): boolean {
    const mod = event.ctrlKey || event.metaKey;
    if (event.key === 'Enter' && mod) {
      this.hide();
      this.actions.run();
      return true;
    }
    if (event.key === ' ' && mod) {
      this.suggest(true);
      return true;
    }
    if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
      this.actions.past(event.key === 'ArrowUp' ? -1 : 1);
      return true;
    }
    if (this.completion) return this.popupKey(event);
    if (event.key === 'Escape') {
      this.actions.giveUp();
      return true;
    }
    return false;
  }

  private popupKey(event: KeyboardEvent): boolean {
    const count = this.completion?.suggestions.length ?? 0;
    switch (event.key) {
      case 'ArrowDown':
        this.choose((this.chosen + 1) % count);
        return true;
      case 'ArrowUp':
        this.choose((this.chosen + count - 1) % count);
        return true;
      case 'Enter':
      case 'Tab':
        if (event.shiftKey) return false;
        this.accept();
        return true;
      case 'Escape':
        this.hide();
        return true;
      case 'ArrowLeft':
      case 'ArrowRight':
      case 'Home':
      case 'End':
        this.hide();
        return false;
      default:
        return false;
    }
  }

  private suggest(asked: boolean): void {
    const { selectionStart, selectionEnd } = this.area;
    this.hide();
    if (!this.schema || selectionStart !== selectionEnd) return;
    const completion = complete(this.value, selectionStart, this.schema, asked);
    if (completion.suggestions.length === 0) return;
    this.completion = completion;
    replace(this.popup, ...completion.suggestions.map(item));
    this.popup.hidden = false;
    this.place(completion.from);
    this.choose(0);
  }

  /** Below the word; the text is of one width, so its place is counted. */
  private place(from: number): void {
    const lines = this.value.slice(0, from).split('\n');
    const style = getComputedStyle(this.area);
    const lineHeight = parseFloat(style.lineHeight);
    const inset = parseFloat(style.paddingTop);
    const below = inset + lines.length * lineHeight - this.area.scrollTop;
    const room = this.root.clientHeight - below;
    // Where there is no room below it stands above, and where there is none either it covers what it must.
    const height = Math.min(this.popup.scrollHeight, 180);
    const above = below - lineHeight - height;
    const top = room >= height || above < 0 ? below : above;
    this.popup.style.top = `${top}px`;
    const left = (lines.at(-1)?.length ?? 0) * this.characterPx() + inset - this.area.scrollLeft;
    const most = window.innerWidth - this.root.getBoundingClientRect().left - this.popup.offsetWidth - 8;
    this.popup.style.left = `${Math.max(Math.min(left, most), 0)}px`;
  }

  private characterPx(): number {
    const canvas = document.createElement('canvas').getContext('2d');
    if (!canvas) return 8;
    const { fontSize, fontFamily } = getComputedStyle(this.area);
    canvas.font = `${fontSize} ${fontFamily}`;
    return canvas.measureText('0').width;
  }

  private choose(index: number): void {
    this.chosen = index;
    [...this.popup.children].forEach((each, i) => {
      each.setAttribute('aria-selected', String(i === index));
      if (i !== index || !(each instanceof HTMLElement)) return;
      // Not scrollIntoView, which would move the page as well.
      const { offsetTop, offsetHeight } = each;
      const { scrollTop, clientHeight } = this.popup;
      if (offsetTop < scrollTop) this.popup.scrollTop = offsetTop;
      else if (offsetTop + offsetHeight > scrollTop + clientHeight)
        this.popup.scrollTop = offsetTop + offsetHeight - clientHeight;
      this.area.setAttribute('aria-activedescendant', each.id);
    });
  }

  private accept(): void {
    const suggestion = this.completion?.suggestions[this.chosen];
    if (!this.completion || !suggestion) return;
    const { from } = this.completion;
    const rest = this.value.slice(this.area.selectionStart);
    const caret = from + suggestion.text.length;
    this.area.value = this.value.slice(0, from) + suggestion.text + rest;
    this.area.setSelectionRange(caret, caret);
    this.hide();
    this.actions.changed();
  }

  private hide(): void {
    this.completion = null;
    this.popup.hidden = true;
    this.area.removeAttribute('aria-activedescendant');
  }
}

function item(suggestion: Suggestion, index: number): HTMLElement {
  return element(
    'li',
    { role: 'option', id: `sql-suggestion-${index}`, class: suggestion.kind },
    element('span', { class: 'code' }, suggestion.text),
    suggestion.detail !== '' && element('span', { class: 'muted' }, suggestion.detail),
  );
}
