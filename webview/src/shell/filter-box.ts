// The filter of the whole view: a line of terms with help while it is typed, errors in place, and what is left.

import { count, t } from '../base/l10n';
import { offersFor, wordAt, type Offer } from './filter-terms';
import { debounce, element, icon, iconButton, replace, setText } from '../widgets/dom';

export interface FilterEvents {
  apply(text: string): void;
  /** The focus is to go back to the picture. */
  leave(): void;
}

const APPLY_AFTER_MS = 600;

export class FilterBox {
  readonly root: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly badge = element('span', { class: 'filter-badge', hidden: true });
  private readonly error = element('div', {
    class: 'filter-error',
    id: 'filter-error',
    role: 'alert',
    hidden: true,
  });
  private readonly list = element('ul', {
    class: 'filter-offers',
    id: 'filter-offers',
    role: 'listbox',
    hidden: true,
    // a browser makes what scrolls a stop of Tab, and this goes away as the box loses the focus
    tabIndex: -1,
    attributes: { 'aria-label': t('Terms of a filter') },
  });
  private readonly clearButton: HTMLButtonElement;
  private offers: readonly Offer[] = [];
  private active = -1;
  /** What was last applied or given up as wrong: typing it again asks nothing. */
  private settled = '';
  private readonly applySoon = debounce(APPLY_AFTER_MS, () => {
    this.apply();
  });

  constructor(
    private readonly terms: readonly Offer[],
    private readonly events: FilterEvents,
    /** Terms that come to be known later. */
    private readonly more: () => readonly Offer[] = () => [],
  ) {
    this.input = element('input', {
      class: 'filter-input',
      type: 'text',
      role: 'combobox',
      title: t(
        'Filter every view: words, {0} and others (/)',
        terms
          .slice(0, 3)
          .map(({ text }) => text)
          .join(', '),
      ),
      attributes: {
        'aria-label': t('Filter every view'),
        'aria-keyshortcuts': '/',
        'aria-autocomplete': 'list',
        'aria-expanded': 'false',
        'aria-controls': this.list.id,
        'aria-describedby': this.error.id,
        autocomplete: 'off',
        placeholder: t('Filter (/)'),
        spellcheck: 'false',
      },
      on: {
        input: () => {
          this.offer();
          this.applySoon();
        },
        focus: () => {
          this.offer();
        },
        blur: () => {
          this.close();
        },
        keydown: (event) => {
          this.key(event);
        },
      },
    });
    this.clearButton = iconButton(
      'close',
      t('Clear the filter'),
      () => {
        this.clear();
      },
      'Escape',
    );
    this.clearButton.hidden = true;
    // A press on an offer must not take the focus from the box.
    this.list.addEventListener('mousedown', (event) => {
      event.preventDefault();
      const row = event.target instanceof Element ? event.target.closest('li') : null;
      if (row) this.take(Array.from(this.list.children).indexOf(row));
    });
    this.root = element(
      'div',
      { class: 'filter', role: 'search' },
      icon('filter'),
      this.input,
      this.badge,
      this.clearButton,
      element('div', { class: 'filter-below' }, this.error, this.list),
    );
  }

  /** The filter that holds or is being asked about. */
  show(text: string): void {
    this.applySoon.cancel();
    this.settled = text;
    if (this.input.value.trim() !== text) this.input.value = text;
    this.clearButton.hidden = text === '';
    this.problem('');
    if (text === '') this.badge.hidden = true;
    this.root.classList.toggle('active', text !== '');
  }

  /** How many of all there are fit. */
  fits(some: number, every: number, what: 'allocations' | 'objects' = 'allocations'): void {
    setText(this.badge, t('{0} of {1}', count(some), count(every)));
    this.badge.title =
      what === 'objects'
        ? t('{0} of {1} objects fit the filter', count(some), count(every))
        : t('{0} of {1} allocations fit the filter', count(some), count(every));
    this.badge.hidden = false;
  }

  fails(message: string): void {
    this.problem(message);
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private clear(): void {
    this.input.value = '';
    this.apply();
  }

  private apply(): void {
    this.applySoon.cancel();
    const text = this.input.value.trim();
    if (text === this.settled) return;
    this.events.apply(text);
  }

  private problem(message: string): void {
    setText(this.error, message);
    this.error.hidden = message === '';
    this.input.setAttribute('aria-invalid', String(message !== ''));
  }

  private key(event: KeyboardEvent): void {
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp':
        this.move(event.key === 'ArrowDown' ? 1 : -1);
        break;
      case 'Tab':
        if (this.active < 0) return;
        this.take(this.active);
        break;
      case 'Enter':
        if (this.active >= 0) this.take(this.active);
        else {
          this.close();
          this.apply();
        }
        break;
      case 'Escape':
        if (this.active >= 0) this.close();
        else if (this.input.value !== '') this.clear();
        else {
          this.close();
          this.events.leave();
        }
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  private offer(): void {
    const { value, selectionStart } = this.input;
    this.offers = offersFor(wordAt(value, selectionStart ?? value.length).word, [
      ...this.terms,
      ...this.more(),
    ]);
    this.active = -1;
    replace(
      this.list,
      ...this.offers.map((offer, i) =>
        element(
          'li',
          { id: `filter-offer-${i}`, role: 'option', attributes: { 'aria-selected': 'false' } },
          element('code', {}, offer.text),
          element('span', {}, offer.help),
        ),
      ),
    );
    this.open(this.offers.length > 0);
  }

  private open(opened: boolean): void {
    this.list.hidden = !opened;
    this.input.setAttribute('aria-expanded', String(opened));
    if (!opened) {
      this.active = -1;
      this.input.removeAttribute('aria-activedescendant');
    }
  }

  private close(): void {
    this.open(false);
  }

  private move(by: number): void {
    if (this.list.hidden) this.offer();
    if (this.offers.length === 0) return;
    const { length } = this.offers;
    this.active = this.active < 0 ? (by > 0 ? 0 : length - 1) : (this.active + by + length) % length;
    Array.from(this.list.children).forEach((row, i) => {
      row.setAttribute('aria-selected', String(i === this.active));
      if (i === this.active) row.scrollIntoView({ block: 'nearest' });
    });
    this.input.setAttribute('aria-activedescendant', `filter-offer-${this.active}`);
  }

  private take(index: number): void {
    const offer = this.offers[index];
    if (!offer) return;
    const { value, selectionStart } = this.input;
    const caret = selectionStart ?? value.length;
    const { from } = wordAt(value, caret);
    this.input.value = value.slice(0, from) + offer.text + value.slice(caret);
    const end = from + offer.text.length;
    this.input.setSelectionRange(end, end);
    this.offer();
    // A term that is whole already.
    if (offer.text.includes('is:')) {
      this.close();
      this.apply();
    }
  }
}
