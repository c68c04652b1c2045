// The differences, one row a line, function, file or stack.

import type { CompareAnswer, ComparedRow, Frame } from '../../../extension/shared/protocol.gen';
import { arrow, direction, withSign } from './comparison';
import { element, setText } from '../widgets/dom';
import { countsTitle, exactFigure, figure } from '../base/figure';
import { count, libraryMark } from '../base/format';
import { fileName } from '../base/paths';
import { shorten } from '../base/text';

export const COMPARE_PAGE = 200;

export type CompareOrder = 'difference' | 'before' | 'after' | 'count' | 'name';

export interface CompareTableActions {
  readonly pick: (row: ComparedRow, beside: boolean) => void;
  readonly sort: (order: CompareOrder) => void;
  readonly more: (offset: number) => void;
}

const COLUMNS: readonly { readonly order: CompareOrder; readonly name: string; readonly number: boolean }[] =
  [
    { order: 'name', name: 'Place', number: false },
    { order: 'difference', name: 'Difference', number: true },
    { order: 'before', name: 'Before', number: true },
    { order: 'after', name: 'After', number: true },
    { order: 'count', name: 'Allocations', number: true },
  ];

export class CompareTable {
  readonly root: HTMLElement;
  private readonly caption = element('p', { class: 'compare-caption muted' });
  private readonly heads = new Map<CompareOrder, HTMLElement>();
  private readonly body = element('tbody', {});
  private readonly more: HTMLButtonElement;
  private rows: ComparedRow[] = [];
  private selected: number | null = null;

  constructor(private readonly actions: CompareTableActions) {
    for (const { order, name, number } of COLUMNS)
      this.heads.set(
        order,
        element(
          'th',
          { class: number ? 'number' : '', attributes: { scope: 'col', 'data-order': order } },
          element(
            'button',
            {
              type: 'button',
              title: `Sort by ${name.toLowerCase()}`,
              on: {
                click: () => {
                  actions.sort(order);
                },
              },
            },
            name,
          ),
        ),
      );
    this.more = element('button', {
      class: 'button secondary table-more',
      type: 'button',
      hidden: true,
      on: {
        click: () => {
          actions.more(this.rows.length);
        },
      },
    });
    this.body.addEventListener('click', (event) => {
      this.pick(event.target, event.ctrlKey || event.metaKey);
    });
    this.body.addEventListener('keydown', (event) => {
      this.key(event);
    });
    this.root = element(
      'div',
      { class: 'table-scroll' },
      element(
        'table',
        { class: 'compare-table' },
        element('thead', {}, element('tr', {}, ...this.heads.values())),
        this.body,
      ),
      this.more,
      this.caption,
    );
  }

  clear(text: string): void {
    this.rows = [];
    this.selected = null;
    this.body.replaceChildren();
    this.more.hidden = true;
    setText(this.caption, text);
  }

  say(text: string): void {
    setText(this.caption, text);
  }

  add(answer: CompareAnswer): void {
    if (answer.offset === 0) {
      this.rows = [];
      this.body.replaceChildren();
      this.root.scrollTop = 0;
    }
    if (answer.offset !== this.rows.length) return;
    const widest = Math.max(
      1,
      ...answer.rows.map((row) => Math.abs(row.difference_bytes)),
      ...this.rows.map((row) => Math.abs(row.difference_bytes)),
    );
    for (const row of answer.rows) this.body.append(this.row(row, widest));
    this.rows.push(...answer.rows);
    const left = answer.found - this.rows.length;
    this.more.hidden = left <= 0 || answer.rows.length === 0;
    setText(this.more, `Show ${count(Math.min(left, COMPARE_PAGE))} more of ${count(left)}`);
  }

  sorted(order: CompareOrder, reverse: boolean): void {
    const counts = this.heads.get('count')?.querySelector('button');
    if (counts) setText(counts, countsTitle());
    for (const [each, head] of this.heads) {
      // Figures come largest first, names from A on.
      const down = (each !== 'name') !== reverse;
      if (each === order) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    }
  }

  private row(row: ComparedRow, widest: number): HTMLTableRowElement {
    const { difference_bytes: difference } = row;
    const counts = row.after_count - row.before_count;
    const first = this.body.childElementCount === 0 && this.rows.length === 0;
    return element(
      'tr',
      {
        tabIndex: first ? 0 : -1,
        attributes: { 'data-row': row.row, 'data-path': pathOf(row.after ?? row.before) },
      },
      element('td', { class: 'wide' }, ...placeOf(row)),
      element(
        'td',
        { class: `number compare-difference ${direction(difference)}`, title: exactDifference(difference) },
        bar(difference, widest),
        element('span', { class: 'compare-arrow', attributes: { 'aria-hidden': 'true' } }, arrow(difference)),
        withSign(difference),
      ),
      element(
        'td',
        { class: 'number', title: exactFigure(row.before_bytes) },
        amount(row.before_bytes, row.before_count),
      ),
      element(
        'td',
        { class: 'number', title: exactFigure(row.after_bytes) },
        amount(row.after_bytes, row.after_count),
      ),
      element(
        'td',
        { class: 'number', title: `${count(row.before_count)} before, ${count(row.after_count)} after` },
        counts === 0
          ? count(row.after_count)
          : `${count(row.after_count)} (${counts > 0 ? '+' : '−'}${count(Math.abs(counts))})`,
      ),
    );
  }

  private pick(target: EventTarget | null, beside: boolean): void {
    const tr = target instanceof Element ? target.closest('tr') : null;
    const row = this.rows.find((each) => each.row === Number(tr?.dataset['row']));
    if (!tr || !row) return;
    this.focusRow(tr);
    this.selected = row.row;
    for (const each of this.body.rows) {
      if (Number(each.dataset['row']) === this.selected) each.setAttribute('aria-current', 'true');
      else each.removeAttribute('aria-current');
    }
    this.actions.pick(row, beside);
  }

  private key(event: KeyboardEvent): void {
    const row = event.target instanceof Element ? event.target.closest('tr') : null;
    if (!row || event.altKey) return;
    const { firstElementChild: top, lastElementChild: end } = this.body;
    const to = {
      ArrowDown: row.nextElementSibling,
      ArrowUp: row.previousElementSibling,
      Home: top,
      End: end,
    }[event.key];
    if (event.key === 'Enter' || event.key === ' ') this.pick(row, event.ctrlKey || event.metaKey);
    else if (to === undefined || event.ctrlKey || event.metaKey) return;
    else if (to instanceof HTMLTableRowElement) this.focusRow(to);
    event.preventDefault();
    event.stopPropagation();
  }

  private focusRow(row: HTMLTableRowElement): void {
    for (const each of this.body.rows) each.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }
}

/** To the right what is more, to the left what is less. */
function bar(difference: number, widest: number): HTMLElement {
  const fill = element('span', { class: `compare-fill ${direction(difference)}` });
  fill.style.width = `${(Math.abs(difference) / widest) * 50}%`;
  return element('span', { class: 'compare-bar', attributes: { 'aria-hidden': 'true' } }, fill);
}

function amount(size: number, allocations: number): string {
  return allocations === 0 ? '–' : figure(size);
}

function exactDifference(difference: number): string {
  if (difference === 0) return 'No difference';
  return `${exactFigure(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'} after`;
}

/** What a place is called, and what became of it in words. */
function placeOf(row: ComparedRow): HTMLElement[] {
  const place = row.after ?? row.before;
  const parts: HTMLElement[] = [];
  const add = (name: string, text: string): void => {
    parts.push(element('bdi', { class: name }, text));
  };
  if (!place) return parts;
  const where = whereOf(place);
  if (place.function === '' && where === null) add('muted', 'No stack');
  else if (place.function !== '') add('code', shorten(place.function, 70));
  if (where !== null) add(place.function === '' ? 'code' : 'place', shorten(where, 60));
  else if (place.function !== '') add('place', 'no line of source');
  for (const mark of marksOf(row)) add('badge', mark);
  if (row.callers.length > 0)
    add('place', `← ${row.callers.map((each) => `${shorten(each.function, 30)}:${each.line}`).join(' ← ')}`);
  for (const part of parts) part.title = titleOf(row);
  return parts;
}

function whereOf(place: Frame): string | null {
  if (place.file === '') return null;
  return place.line > 0 ? `${fileName(place.file)}:${place.line}` : fileName(place.file);
}

/** "library", "inferred", "only before", "moved from line 12", "was old_name". */
export function marksOf(row: ComparedRow): string[] {
  const marks: string[] = [];
  const place = row.after ?? row.before;
  const library = place && place.line > 0 ? libraryMark(place) : '';
  if (library !== '') marks.push(library);
  if (place?.source === 'inferred') marks.push('inferred');
  if (row.before_count === 0) marks.push('only after');
  else if (row.after_count === 0) marks.push('only before');
  const { before, after } = row;
  if (!before || !after) return marks;
  if (before.function !== after.function) marks.push(`was ${shorten(before.function, 40)}`);
  if (before.line !== after.line) marks.push(`moved from line ${before.line}`);
  return marks;
}

function pathOf(place: Frame | null): string {
  if (!place) return '';
  return place.line > 0 ? `${place.file}:${place.line}` : place.file;
}

function titleOf({ before, after }: ComparedRow): string {
  if (before && after && pathOf(before) !== pathOf(after))
    return `before: ${shorten(pathOf(before), 300)}\nafter: ${shorten(pathOf(after), 300)}`;
  const place = after ?? before;
  return place ? shorten(pathOf(place), 300) : '';
}
