// What stands in the cells of the flame graph's tables.

import type { FlameName, FlameNode, FlameSides } from '../../../extension/shared/protocol.gen';
import { element } from '../ui/dom';
import { exactFigure, figure } from '../ui/figure';
import { shorten } from '../ui/text';
import { changeOf, changeText, sideText, turnOf, type Sided } from './difference';
import { share, type Places } from './words';

type Cell = readonly (Node | string)[];

export function nameCell(name: FlameName, places: Places): Cell {
  const place = places.of(name);
  const code = element('bdi', { class: `code flame-${name.kind}` }, shorten(name.function, 120));
  if (place === '') return [code];
  const opens = name.kind !== 'native';
  return [
    code,
    element(
      'bdi',
      { class: `place${opens ? ' place-link' : ''}`, title: opens ? `Open ${shorten(name.file, 300)}` : '' },
      place,
    ),
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
    nameCell(node.name, places),
    changeCell(node.sides, sided),
    side(change.before, whole.before),
    side(change.after, whole.after),
    changeCell(node.self_sides, sided),
  ];
}
