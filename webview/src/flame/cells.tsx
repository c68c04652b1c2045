// The cells of the flame graph's tables.

import type { VNode } from 'preact';
import type { FlameName, FlameNode, FlameSides } from '../../../extension/shared/protocol.gen';
import { exactFigure, figure } from '../base/figure';
import { libraryMark } from '../base/format';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import { ShareBar } from '../widgets/share-bar';
import type { GridCell } from '../widgets/grid';
import { changeOf, changeText, sideText, turnOf, type Sided } from './difference';
import { nameText, share, type Places } from './words';

/** `charged`: it has something of its own, so whose code it is has to be said. */
export function nameCell(name: FlameName, places: Places, charged: boolean): GridCell {
  const place = places.of(name);
  const mark = charged ? libraryMark(name) : '';
  const opens = name.kind !== 'native' || name.declared !== '';
  return [
    <bdi class={`code flame-${name.kind}`}>{shorten(nameText(name), 120)}</bdi>,
    ...(place === ''
      ? []
      : [
          <bdi
            class={`place${opens ? ' place-link' : ''}`}
            title={opens ? t('Open {0}', shorten(name.declared || name.file, 300)) : ''}
          >
            {place}
          </bdi>,
        ]),
    ...(mark === '' ? [] : [<span class="badge">{mark}</span>]),
  ];
}

export function sizeCell(size: number): VNode {
  return <span title={exactFigure(size)}>{figure(size)}</span>;
}

export function shareCell(part: number, whole: number): GridCell {
  return [<ShareBar part={part} whole={whole} />, share(part, whole)];
}

/** Whether something is charged to what has these figures of its own, on either side of a comparison. */
export function isCharged(self: number, sides: FlameSides | null): boolean {
  return self !== 0 || (sides !== null && (sides.before_bytes !== 0 || sides.after_bytes !== 0));
}

/** What has become more or less, and by how much. */
export function changeCell(sides: FlameSides | null, { whole, scale }: Sided): GridCell {
  const change = changeOf(sides);
  return [
    <span
      class={`compare-difference ${turnOf(change, whole, scale)}`}
      title={`${exactFigure(change.before)} → ${exactFigure(change.after)}`}
    >
      {changeText(change, whole, scale)}
    </span>,
  ];
}

/** A node of a comparison: its name, the difference, both sides, and the difference of its own. */
export function comparedCells(node: FlameNode, places: Places, sided: Sided): readonly GridCell[] {
  const { whole, scale } = sided;
  const side = (value: number, all: number): GridCell => [
    <span title={exactFigure(value)}>{sideText(value, all, scale)}</span>,
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
