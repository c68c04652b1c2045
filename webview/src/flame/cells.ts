// What stands in the cells of the flame graph's tables.

import type { FlameName, FlameNode, FlameSides } from '../../../extension/shared/protocol.gen';
import { element } from '../widgets/dom';
import { exactFigure, figure } from '../base/figure';
import { libraryMark } from '../base/format';
import { shorten } from '../base/text';
import { changeOf, changeText, sideText, turnOf, type Sided } from './difference';
import { nameText, share, type Places } from './words';

type Cell = readonly (Node | string)[];

/** `charged`: it has something of its own, so whose code it is has to be said. */
export function nameCell(name: FlameName, places: Places, charged: boolean): Cell {
  const place = places.of(name);
  const mark = charged ? libraryMark(name) : '';
  const badges = mark === '' ? [] : [element('span', { class: 'badge' }, mark)];
  const code = element('bdi', { class: `code flame-${name.kind}` }, shorten(nameText(name), 120));
  if (place === '') return [code, ...badges];
  const opens = name.kind !== 'native';
  return [
    code,
    element(
      'bdi',
      { class: `place${opens ? ' place-link' : ''}`, title: opens ? `Open ${shorten(name.file, 300)}` : '' },
      place,
    ),
    ...badges,
  ];
}

export function sizeCell(size: number): HTMLElement {
  return element('span', { title: exactFigure(size) }, figure(size));
}

export function shareCell(part: number, whole: number): Cell {
  const bar = element('span', { class: 'share-bar', attributes: { 'aria-hidden': 'true' } });
  bar.style.setProperty('--share', whole > 0 ? String(part / whole) : '0');
  return [bar, share(part, whole)];
}

/** Whether something is charged to what has these figures of its own, on either side of a comparison. */
export function isCharged(self: number, sides: FlameSides | null): boolean {
  return self !== 0 || (sides !== null && (sides.before_bytes !== 0 || sides.after_bytes !== 0));
}

/** What has become more or less, and by how much. */
export function changeCell(sides: FlameSides | null, { whole, scale }: Sided): Cell {
  const change = changeOf(sides);
  return [
    element(
      'span',
      {
        class: `compare-difference ${turnOf(change, whole, scale)}`,
        title: `${exactFigure(change.before)} → ${exactFigure(change.after)}`,
      },
      changeText(change, whole, scale),
    ),
  ];
}

/** A node of a comparison: its name, the difference, both sides, and the difference of its own. */
export function comparedCells(node: FlameNode, places: Places, sided: Sided): readonly Cell[] {
  const { whole, scale } = sided;
  const side = (value: number, all: number): Cell => [
    element('span', { title: exactFigure(value) }, sideText(value, all, scale)),
  ];
  const change = changeOf(node.sides);
  return [
    nameCell(node.name, places, isCharged(node.self_bytes, node.self_sides)),
    changeCell(node.sides, sided),
    side(change.before, whole.before),
    side(change.after, whole.after),
    changeCell(node.self_sides, sided),
  ];
}
