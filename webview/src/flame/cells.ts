// What stands in the cells of the flame graph's tables.

import type { FlameName } from '../../../extension/shared/protocol.gen';
import { element } from '../ui/dom';
import { bytes, exactBytes } from '../ui/format';
import { shorten } from '../ui/text';
import { placeOf, share } from './words';

type Cell = readonly (Node | string)[];

export function nameCell(name: FlameName): Cell {
  const place = placeOf(name);
  const code = element('bdi', { class: `code flame-${name.kind}` }, shorten(name.function, 120));
  if (place === '') return [code];
  const opens = name.kind !== 'native';
  return [
    code,
    element(
      'bdi',
      { class: `place${opens ? ' place-link' : ''}`, title: opens ? `Open ${shorten(name.file, 300)}` : '' },
      shorten(place, 60),
    ),
  ];
}

export function sizeCell(size: number): HTMLElement {
  return element('span', { title: exactBytes(size) }, bytes(size));
}

export function shareCell(part: number, whole: number): Cell {
  const bar = element('span', { class: 'share-bar', attributes: { 'aria-hidden': 'true' } });
  bar.style.setProperty('--share', whole > 0 ? String(part / whole) : '0');
  return [bar, share(part, whole)];
}
