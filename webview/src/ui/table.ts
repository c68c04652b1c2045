// What is live at a moment as a table: the picture's content for a screen reader, and for people who want figures.

import type { AllocationSummary, LiveAnswer } from '../../../extension/shared/protocol.gen';
import { css, type Rgb } from '../scene/colour';
import { element, setText } from './dom';
import { bytes, categoryName, codeClass, count, counted, exactBytes, nameOf, STATES, time } from './format';
import { shorten } from './text';

export const TABLE_PAGE = 200;

/** Null is the peak. */
export type TableMoment = number | null;

export interface TableActions {
  readonly select: (allocation: number, moment: number) => void;
  readonly fetch: (moment: TableMoment, offset: number) => void;
  readonly colourOf: (allocation: AllocationSummary) => Rgb;
}

const COLUMNS = ['Size', 'Rounded', 'Lifetime', 'Line of code', 'Category', 'State'];

export class LiveTable {
  readonly root: HTMLElement;
  private readonly caption = element('caption', {});
  private readonly head: HTMLElement;
  private readonly rows = element('tbody', {});
  private readonly more: HTMLButtonElement;
  private answer: LiveAnswer | null = null;
  private moment: TableMoment = null;
  private selected: number | null = null;
  private shown = 0;

  constructor(
    categories: boolean,
    private readonly actions: TableActions,
  ) {
    const columns = COLUMNS.filter((name) => categories || name !== 'Category');
    this.head = element(
      'thead',
      {},
      element('tr', {}, ...columns.map((name) => element('th', { attributes: { scope: 'col' } }, name))),
    );
    this.more = element('button', {
      class: 'button secondary table-more',
      type: 'button',
      on: {
        click: () => {
          this.actions.fetch(this.moment, this.shown);
        },
      },
    });
    this.rows.addEventListener('click', (event) => {
      this.pick(event.target);
    });
    this.rows.addEventListener('keydown', (event) => {
      this.key(event);
    });
    this.root = element(
      'section',
      { class: 'table' },
      element(
        'div',
        { class: 'table-scroll' },
        element('table', {}, this.caption, this.head, this.rows),
        this.more,
      ),
    );
  }

  show(moment: TableMoment): void {
    this.moment = moment;
    this.answer = null;
    this.shown = 0;
    this.rows.replaceChildren();
    this.more.hidden = true;
    setText(this.caption, 'Fetching…');
    this.actions.fetch(moment, 0);
  }

  /** `asked` is the moment that was asked for: an answer for another one comes too late. */
  add(answer: LiveAnswer, asked: TableMoment): void {
    if (asked !== this.moment || answer.offset !== this.shown) return;
    this.answer = answer;
    this.shown += answer.rows.length;
    for (const row of answer.rows) this.rows.append(this.row(row));
    const when = answer.time_us === null ? `event ${count(answer.moment)}` : time(answer.time_us);
    const name = this.moment === null ? `the peak (${when})` : when;
    setText(
      this.caption,
      `At ${name}: ${counted(answer.live_count, 'allocation')}, ${bytes(answer.live_bytes)} live` +
        (this.shown < answer.live_count ? `; the largest ${count(this.shown)} are shown` : ''),
    );
    const left = answer.live_count - this.shown;
    this.more.hidden = left <= 0 || answer.rows.length === 0;
    setText(this.more, `Show ${count(Math.min(left, TABLE_PAGE))} more of ${count(left)}`);
    this.mark();
  }

  failed(message: string): void {
    setText(this.caption, message);
  }

  setSelected(allocation: number | null): void {
    this.selected = allocation;
    this.mark();
  }

  /** Swatches again, after the colours changed. */
  recolour(known: (allocation: number) => AllocationSummary | undefined): void {
    for (const row of this.rows.rows) {
      const summary = known(Number(row.dataset['allocation']));
      const swatch = row.querySelector<HTMLElement>('.swatch');
      if (summary && swatch) swatch.style.background = css(this.actions.colourOf(summary));
    }
  }

  private row(a: AllocationSummary): HTMLTableRowElement {
    const { title, place } = nameOf(a);
    const swatch = element('span', { class: 'swatch' });
    swatch.style.background = css(this.actions.colourOf(a));
    const cells: HTMLElement[] = [
      element('td', { class: 'number', title: exactBytes(a.size_bytes) }, swatch, bytes(a.size_bytes)),
      element('td', { class: 'number' }, a.rounded_bytes === null ? '–' : bytes(a.rounded_bytes)),
      element('td', { class: 'number' }, a.lifetime_us === null ? '–' : time(a.lifetime_us)),
      element(
        'td',
        { class: 'wide' },
        element('bdi', { class: codeClass(a) }, shorten(title, 70)),
        place !== null && element('bdi', { class: 'place' }, shorten(place, 60)),
      ),
    ];
    if (this.head.querySelectorAll('th').length === COLUMNS.length) {
      cells.push(element('td', {}, a.category === null ? '–' : shorten(categoryName(a.category), 40)));
    }
    cells.push(
      element('td', {}, a.before_trace ? `${STATES[a.state]}, alive before the trace` : STATES[a.state]),
    );
    // Only one row is a stop for Tab; the arrow keys go on from there.
    const first = this.rows.childElementCount === 0;
    return element(
      'tr',
      { tabIndex: first ? 0 : -1, attributes: { 'data-allocation': a.allocation } },
      ...cells,
    );
  }

  private mark(): void {
    for (const row of this.rows.rows) {
      const is = Number(row.dataset['allocation']) === this.selected;
      if (is) row.setAttribute('aria-current', 'true');
      else row.removeAttribute('aria-current');
    }
  }

  private pick(target: EventTarget | null): void {
    const row = target instanceof Element ? target.closest('tr') : null;
    if (!row || !this.answer) return;
    this.focusRow(row);
    this.actions.select(Number(row.dataset['allocation']), this.answer.moment);
  }

  private key(event: KeyboardEvent): void {
    const row = event.target instanceof Element ? event.target.closest('tr') : null;
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (event.key === 'Enter' || event.key === ' ') this.pick(row);
    else if (to === undefined) return;
    else if (to instanceof HTMLTableRowElement) this.focusRow(to);
    event.preventDefault();
    event.stopPropagation();
  }

  private focusRow(row: HTMLTableRowElement): void {
    for (const each of this.rows.rows) each.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }
}
