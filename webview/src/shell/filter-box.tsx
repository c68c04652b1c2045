// The filter of the whole view: a line of terms with help while it is typed, errors in place, and what is left.

import { effect, signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../base/l10n';
import { debounce } from '../widgets/dom';
import { Icon } from '../widgets/icon';
import { IconButton } from '../widgets/icon-button';
import type { Filtering } from './filtering';
import { offersFor, wordAt, type Offer } from './filter-terms';
import type { Session } from './session';

const APPLY_AFTER_MS = 600;

/** What is offered for the word at the caret. */
interface Offers {
  readonly open: boolean;
  readonly all: readonly Offer[];
  /** The one that Enter takes; -1 for none. */
  readonly active: number;
}

const CLOSED: Offers = { open: false, all: [], active: -1 };

export class FilterBox {
  readonly input = createRef<HTMLInputElement>();
  readonly offers = signal<Offers>(CLOSED);
  /** What was last applied or given up as wrong: typing it again asks nothing. */
  private settled = '';
  readonly applySoon = debounce(APPLY_AFTER_MS, () => this.apply());

  constructor(
    private readonly session: Pick<Session, 'filtering' | 'setFilter'>,
    readonly terms: readonly Offer[],
    /** Gives the focus back to the picture. */
    private readonly leave: () => void,
    /** Terms that come to be known later. */
    private readonly more: () => readonly Offer[] = () => [],
  ) {}

  readonly View = (): VNode => <Box box={this} />;

  get filtering(): Filtering {
    return this.session.filtering;
  }

  /** Writes what holds or is being asked about. */
  write(): void {
    const { text } = this.filtering.written.value;
    this.applySoon.cancel();
    this.settled = text;
    const input = this.input.current;
    if (input && input.value.trim() !== text) input.value = text;
  }

  focus(): void {
    this.input.current?.focus();
    this.input.current?.select();
  }

  clear(): void {
    if (this.input.current) this.input.current.value = '';
    this.apply();
  }

  key(event: KeyboardEvent): void {
    const { active } = this.offers.value;
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp':
        this.move(event.key === 'ArrowDown' ? 1 : -1);
        break;
      case 'Tab':
        if (active < 0) return;
        this.take(active);
        break;
      case 'Enter':
        if (active >= 0) this.take(active);
        else {
          this.close();
          this.apply();
        }
        break;
      case 'Escape':
        if (active >= 0) this.close();
        else if (this.input.current?.value !== '') this.clear();
        else {
          this.close();
          this.leave();
        }
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  offer(): void {
    const { value, caret } = this.written;
    const all = offersFor(wordAt(value, caret).word, [...this.terms, ...this.more()]);
    this.offers.value = { open: all.length > 0, all, active: -1 };
  }

  close(): void {
    this.offers.value = { ...this.offers.value, open: false, active: -1 };
  }

  /** Puts one of the offers in the place of the word at the caret. */
  take(index: number): void {
    const offer = this.offers.value.all[index];
    const input = this.input.current;
    if (!offer || !input) return;
    const { value, caret } = this.written;
    const { from } = wordAt(value, caret);
    input.value = value.slice(0, from) + offer.text + value.slice(caret);
    const end = from + offer.text.length;
    input.setSelectionRange(end, end);
    this.offer();
    // A term that is whole already.
    if (offer.text.includes('is:')) {
      this.close();
      this.apply();
    }
  }

  private get written(): { readonly value: string; readonly caret: number } {
    const { value = '', selectionStart = null } = this.input.current ?? {};
    return { value, caret: selectionStart ?? value.length };
  }

  private apply(): void {
    this.applySoon.cancel();
    const text = this.written.value.trim();
    if (text === this.settled) return;
    this.session.setFilter(text);
  }

  private move(by: number): void {
    if (!this.offers.value.open) this.offer();
    const { all, active } = this.offers.value;
    if (all.length === 0) return;
    const next = active < 0 ? (by > 0 ? 0 : all.length - 1) : (active + by + all.length) % all.length;
    this.offers.value = { open: true, all, active: next };
  }
}

function Box({ box }: { readonly box: FilterBox }): VNode {
  const { open, active } = box.offers.value;
  const error = box.filtering.error.value;
  const badge = box.filtering.badge.value;
  const isFiltered = box.filtering.written.value.text !== '';
  useLayoutEffect(() => effect(() => box.write()), [box]);
  const examples = box.terms.slice(0, 3).map(({ text }) => text);
  return (
    <div class={isFiltered ? 'filter active' : 'filter'} role="search">
      <Icon name="filter" />
      <input
        ref={box.input}
        class="filter-input"
        type="text"
        role="combobox"
        title={t('Filter every view: words, {0} and others (/)', examples.join(', '))}
        aria-label={t('Filter every view')}
        aria-keyshortcuts="/"
        aria-autocomplete="list"
        aria-expanded={open}
        aria-controls="filter-offers"
        aria-describedby="filter-error"
        aria-invalid={error !== ''}
        {...(active < 0 ? {} : { 'aria-activedescendant': `filter-offer-${active}` })}
        autocomplete="off"
        placeholder={t('Filter (/)')}
        spellcheck={false}
        onInput={() => {
          box.offer();
          box.applySoon();
        }}
        onFocus={() => box.offer()}
        onBlur={() => box.close()}
        onKeyDown={(event) => box.key(event)}
      />
      <span class="filter-badge" hidden={!badge} title={badge?.title ?? ''}>
        {badge?.text}
      </span>
      {isFiltered && (
        <IconButton icon="close" label={t('Clear the filter')} keys="Escape" press={() => box.clear()} />
      )}
      <div class="filter-below">
        <div class="filter-error" id="filter-error" role="alert" hidden={error === ''}>
          {error}
        </div>
        <List box={box} />
      </div>
    </div>
  );
}

function List({ box }: { readonly box: FilterBox }): VNode {
  const list = useRef<HTMLUListElement>(null);
  const { open, all, active } = box.offers.value;
  useLayoutEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  return (
    <ul
      ref={list}
      class="filter-offers"
      id="filter-offers"
      role="listbox"
      hidden={!open}
      // a browser makes what scrolls a stop of Tab, and this goes away as the box loses the focus
      tabIndex={-1}
      aria-label={t('Terms of a filter')}
    >
      {all.map((offer, i) => (
        <li
          key={offer.text}
          id={`filter-offer-${i}`}
          role="option"
          aria-selected={i === active}
          // a press must not take the focus from the box
          onMouseDown={(event) => {
            event.preventDefault();
            box.take(i);
          }}
        >
          <code>{offer.text}</code>
          <span>{offer.help}</span>
        </li>
      ))}
    </ul>
  );
}
