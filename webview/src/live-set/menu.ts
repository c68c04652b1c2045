// What the menu of a row of the live set offers, and rows as they are copied.

import { countsTitle, figure, figureHead } from '../base/figure';
import { count, hasSource, nameOf, share } from '../base/format';
import { said, t } from '../base/l10n';
import type { ViewContext } from '../shell/context';
import { addTerm, allBut } from '../shell/filter-terms';
import { MODELS } from '../shell/model';
import { copyItems, type CopiedCell, type CopiedTable } from '../widgets/copy';
import type { MenuEntry } from '../widgets/menu';
import type { LiveNodeRow, LiveRow, LiveTree } from './tree';

/** `pick` is what a press on the row does, with its line opened or without. */
export function rowMenu(
  context: ViewContext,
  tree: LiveTree,
  row: LiveNodeRow,
  pick: (opened: boolean) => void,
): readonly MenuEntry[] {
  const { node } = row;
  const place = node.kind === 'group' ? node.group.place : node.allocation.label;
  const items: MenuEntry[] = [];
  const item = (text: string, key: string, run: () => void): void => {
    items.push({ text, key, run });
  };
  if (MODELS[context.info.model].hasAllocations)
    item(node.kind === 'group' ? t('Highlight') : t('Select'), 'Space', () => pick(false));
  const declared = node.kind === 'group' && node.group.declared !== '';
  if (hasSource(place) || declared) item(t('Open Line'), 'Enter', () => pick(true));
  if (node.kind === 'group' && node.group.filter !== '') {
    const { filter, name } = node.group;
    item(t('Filter to This'), 'F', () => addTerm(context, filter));
    const others = allBut(filter);
    if (others !== null) item(t('Hide This'), '', () => addTerm(context, others));
    const { timeline } = context;
    const leaveOut = timeline?.leaveOut;
    if (leaveOut) item(t('What If Without This'), '', () => leaveOut(filter, said(name)));
  }
  if (row.open !== null)
    item(row.open ? t('Collapse') : t('Expand'), row.open ? '←' : '→', () => tree.toggle(row, !row.open));
  const whole = tree.totals?.bytes ?? 0;
  const table = { one: () => copied([row], whole), all: () => copied(tree.rows, whole) };
  const name = node.kind === 'group' ? said(node.group.name) : nameOf(node.allocation).title;
  return [...items, ...copyItems(context.api, { name, place }, table)];
}

/** Rows as they are copied: those that were fetched, in their order. */
function copied(rows: readonly LiveRow[], whole: number): CopiedTable {
  const number = (value: number): CopiedCell => ({ shown: count(value), exact: value });
  return {
    heads: [t('Name'), t('Detail'), figureHead(), t('Share'), countsTitle()],
    rows: rows.flatMap((row): CopiedCell[][] => {
      if (row.kind === 'rest') return [];
      const { node } = row;
      const { title, place } =
        node.kind === 'group'
          ? { title: said(node.group.name), place: said(node.group.detail) }
          : nameOf(node.allocation);
      const size = node.kind === 'group' ? node.group.bytes : node.allocation.size_bytes;
      const many = node.kind === 'group' ? node.group.count : 1;
      const amount = { shown: figure(size), exact: size };
      return [[title, place ?? '', amount, share(size, whole), many === null ? '' : number(many)]];
    }),
  };
}
