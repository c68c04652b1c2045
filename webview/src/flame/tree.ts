// The call tree as a table whose rows open: the form of the flame graph for keyboards and screen readers.

import type { FlameChildrenAnswer, FlameNode } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import { element, replace, setText } from '../ui/dom';
import { bytes, count } from '../ui/format';
import { shorten } from '../ui/text';
import { placeOf, share } from './words';

export interface FlameTreeEvents {
  ask(node: number, offset: number, limit: number): Pending<FlameChildrenAnswer>;
  selected(node: FlameNode): void;
  open(node: FlameNode, beside: boolean): void;
  failed(error: unknown): void;
}

const PAGE = 100;
/** Opening a row opens its only child too, and so on: a chain of calls says nothing until it branches. */
const MOST_OPENED = 64;

interface Row {
  readonly element: HTMLTableRowElement;
  readonly level: number;
  /** Null for "n more". */
  readonly node: FlameNode | null;
  readonly parent: number;
  readonly offset: number;
}

export class FlameTree {
  readonly root: HTMLElement;
  private readonly body = element('tbody');
  private readonly caption = element('caption', { class: 'sr-only' });
  private rows: Row[] = [];
  private current: Row | null = null;
  private isCount = false;
  private total = 0;
  private readonly pending = new Set<Pending<FlameChildrenAnswer>>();

  constructor(private readonly events: FlameTreeEvents) {
    const head = (text: string): HTMLElement => element('th', { attributes: { scope: 'col' } }, text);
    this.root = element(
      'div',
      { class: 'flame-tree', hidden: true },
      element(
        'table',
        {
          role: 'treegrid',
          attributes: { 'aria-label': 'Call tree' },
          on: {
            keydown: (event) => {
              this.key(event);
            },
          },
        },
        this.caption,
        element(
          'thead',
          {},
          element(
            'tr',
            {},
            head('Function'),
            head('Inclusive'),
            head('Share'),
            head('Self'),
            head('Allocations'),
          ),
        ),
        this.body,
      ),
    );
  }

  dispose(): void {
    this.cancel();
  }

  show(title: string, isCount: boolean): void {
    this.cancel();
    setText(this.caption, title);
    this.isCount = isCount;
    this.rows = [];
    this.current = null;
    replace(this.body);
    void this.fill(0, 0, 0, 0);
  }

  focus(): void {
    this.current?.element.focus();
  }

  private cancel(): void {
    for (const each of this.pending) each.cancel();
    this.pending.clear();
  }

  /** Puts a page of a node's children at a place among the rows. */
  private async fill(node: number, offset: number, level: number, at: number): Promise<void> {
    const asked = this.events.ask(node, offset, PAGE);
    this.pending.add(asked);
    try {
      const answer = await asked.answer;
      if (!this.pending.delete(asked)) return;
      this.total = this.isCount ? answer.total_count : answer.total_bytes;
      const made = answer.rows.map((child) => this.row(child, level, node, offset));
      const rest = answer.children - offset - answer.rows.length;
      if (rest > 0) made.push(this.moreRow(answer, level, node, offset + answer.rows.length, rest));
      const before = this.rows[at]?.element ?? null;
      for (const { element: row } of made) this.body.insertBefore(row, before);
      this.rows.splice(at, 0, ...made);
      const [first] = made;
      if (!this.current && first) this.setCurrent(first, false);
      if (offset === 0 && answer.children === 1 && first?.node && level < MOST_OPENED)
        this.toggle(first, true);
    } catch (error) {
      this.pending.delete(asked);
      this.events.failed(error);
    }
  }

  private row(node: FlameNode, level: number, parent: number, offset: number): Row {
    const { name } = node;
    const opens = node.children > 0;
    const place = placeOf(name);
    const arrow = element('span', { class: 'flame-arrow', attributes: { 'aria-hidden': true } });
    const title = element(
      'td',
      { class: 'flame-name', role: 'gridcell' },
      arrow,
      element('bdi', { class: `code flame-${name.kind}` }, shorten(name.function, 120)),
      place !== '' && element('bdi', { class: 'place' }, shorten(place, 60)),
    );
    title.style.paddingInlineStart = `${8 + Math.min(level, 40) * 12}px`;
    const part = this.isCount ? node.count : node.bytes;
    const bar = element('span', { class: 'flame-bar', attributes: { 'aria-hidden': true } });
    bar.style.width = `${this.total > 0 ? (100 * part) / this.total : 0}%`;
    const cell = (text: string, titleText = ''): HTMLElement =>
      element('td', { class: 'number', role: 'gridcell', title: titleText }, text);
    const row: Row = {
      element: element(
        'tr',
        {
          tabIndex: -1,
          role: 'row',
          attributes: { 'aria-level': level + 1, ...(opens ? { 'aria-expanded': false } : {}) },
          on: {
            click: (event) => {
              this.setCurrent(row, true);
              if (event.ctrlKey || event.metaKey) this.events.open(node, false);
              else if (event.target === arrow) this.toggle(row);
            },
            dblclick: () => {
              this.toggle(row);
            },
          },
        },
        title,
        cell(bytes(node.bytes), `${count(node.bytes)} bytes`),
        element('td', { class: 'number flame-share', role: 'gridcell' }, bar, share(part, this.total)),
        cell(bytes(node.self_bytes), `${count(node.self_bytes)} bytes`),
        cell(count(node.count)),
      ),
      level,
      node,
      parent,
      offset,
    };
    return row;
  }

  private moreRow(
    answer: FlameChildrenAnswer,
    level: number,
    parent: number,
    offset: number,
    rest: number,
  ): Row {
    const title = element('td', { class: 'flame-name muted', role: 'gridcell' }, `${count(rest)} more…`);
    title.style.paddingInlineStart = `${24 + Math.min(level, 40) * 12}px`;
    const row: Row = {
      element: element(
        'tr',
        {
          tabIndex: -1,
          role: 'row',
          attributes: { 'aria-level': level + 1 },
          on: {
            click: () => {
              this.more(row);
            },
          },
        },
        title,
        element('td', { class: 'number', role: 'gridcell' }, bytes(answer.rest_bytes)),
        element('td', { role: 'gridcell' }),
        element('td', { role: 'gridcell' }),
        element('td', { class: 'number', role: 'gridcell' }, count(answer.rest_count)),
      ),
      level,
      node: null,
      parent,
      offset,
    };
    return row;
  }

  private more(row: Row): void {
    const at = this.rows.indexOf(row);
    this.rows.splice(at, 1);
    row.element.remove();
    if (this.current === row) this.current = null;
    void this.fill(row.parent, row.offset, row.level, at);
  }

  private toggle(row: Row, open = row.element.getAttribute('aria-expanded') === 'false'): void {
    const isOpen = row.element.getAttribute('aria-expanded');
    if (!row.node || isOpen === null || isOpen === String(open)) return;
    row.element.setAttribute('aria-expanded', String(open));
    const at = this.rows.indexOf(row) + 1;
    if (open) {
      void this.fill(row.node.node, 0, row.level + 1, at);
      return;
    }
    let end = at;
    while (end < this.rows.length && (this.rows[end]?.level ?? 0) > row.level) end++;
    const gone = this.rows.splice(at, end - at);
    for (const each of gone) each.element.remove();
    if (this.current && gone.includes(this.current)) this.setCurrent(row, false);
  }

  private setCurrent(row: Row, chosen: boolean): void {
    this.current?.element.removeAttribute('aria-selected');
    if (this.current) this.current.element.tabIndex = -1;
    this.current = row;
    row.element.tabIndex = 0;
    if (!chosen) return;
    row.element.setAttribute('aria-selected', 'true');
    row.element.focus({ preventScroll: false });
    if (row.node) this.events.selected(row.node);
  }

  private key(event: KeyboardEvent): void {
    const row = this.current;
    if (!row || event.altKey) return;
    const at = this.rows.indexOf(row);
    const go = (to: number): void => {
      const next = this.rows[Math.min(Math.max(to, 0), this.rows.length - 1)];
      if (next) this.setCurrent(next, true);
    };
    const open = row.element.getAttribute('aria-expanded');
    switch (event.key) {
      case 'ArrowDown':
        go(at + 1);
        break;
      case 'ArrowUp':
        go(at - 1);
        break;
      case 'Home':
        go(0);
        break;
      case 'End':
        go(this.rows.length - 1);
        break;
      case 'ArrowRight':
        if (open === 'false') this.toggle(row, true);
        else if (open === 'true') go(at + 1);
        break;
      case 'ArrowLeft':
        if (open === 'true') this.toggle(row, false);
        else {
          let up = at - 1;
          while (up >= 0 && (this.rows[up]?.level ?? 0) >= row.level) up--;
          if (up >= 0) go(up);
        }
        break;
      case 'Enter':
        if (row.node) this.events.open(row.node, event.ctrlKey || event.metaKey);
        else this.more(row);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
