// What the menu of an object, a type or a group offers.

import type { HeapSelection } from '../../../extension/shared/messages';
import type { ObjectsLink } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { exactly } from '../base/text';
import type { MenuEntry, MenuItem } from '../widgets/menu';
import type { GraphSession } from './session';
import { located } from './groups';

/** Whether something can keep it alive: the group of everything is none of the program's objects. */
export function canExplain(selection: HeapSelection): boolean {
  return selection.is !== 'group' || located(selection.group).node !== 0;
}

/** Whether instances of a type are images. */
export function hasImages({ info }: GraphSession, type: number): boolean {
  return info.image_types.includes(type);
}

/** The filter for the instances of a type. */
export function ofType(name: string): string {
  return `type:${exactly(name)}`;
}

/** What refers to the instances of a type, by type and field. */
function referrersOf(name: string): ObjectsLink {
  const text = `'${name.replaceAll("'", "''")}'`;
  return { kind: 'query', number: 0, sql: `SELECT *\nFROM referrers_by_type(${text})\nLIMIT 100;` };
}

/** Types of which no file has the declaration: what a dump or a runtime made up, and arrays of numbers. */
const UNDECLARED = /^(?:[[(]|(?:boolean|byte|char|double|float|int|long|short)(?:\[\])+)/;

/** Whether an object may have source: where objects come with lines those that have one, else by their types. */
export function mayHaveSource(
  { format }: Pick<GraphSession, 'format'>,
  { file, type }: { readonly file: string | null; readonly type: string },
): boolean {
  return file !== null || (format.source_kinds.length === 0 && !UNDECLARED.test(type));
}

/** The same of a type; a dump says the line of one by its objects. */
export function mayBeDefined(
  { format: { source_kinds: kinds } }: Pick<GraphSession, 'format'>,
  { kind, type }: { readonly kind: string; readonly type: string },
): boolean {
  return kinds.length > 0 ? kinds.includes(kind) : !UNDECLARED.test(type);
}

/** `name` is what a type is called. Nothing keeps alive what isn't reachable. */
export function selectionMenu(
  context: GraphSession,
  selection: HeapSelection,
  name = '',
  hasSource = true,
  isReachable = true,
): readonly MenuEntry[] {
  const item = (text: string, run: () => void): MenuItem => ({ text, run });
  return [
    ...(isReachable && canExplain(selection) ? [item(t('Why Alive'), () => context.explain(selection))] : []),
    item(t('Show Details'), () => context.select(selection)),
    item(t('Find Waste'), () => {
      context.wasteOf.value = selection;
      context.select(selection);
    }),
    { text: t('Add Bookmark…'), key: 'K', run: () => context.bookmark(selection) },
    ...(hasSource ? [item(t('Open Source'), () => context.openSource(selection, false))] : []),
    ...(selection.is === 'type'
      ? [
          item(t('Filter by Type'), () => context.setFilter(ofType(name))),
          item(t('Show Retained Set'), () => context.listTypes(`retained-by:${exactly(name)}`)),
          item(t('Show Referrers'), () => context.showObjects(referrersOf(name))),
        ]
      : []),
    ...(selection.is === 'type' && hasImages(context, selection.kind)
      ? [item(t('Show Images'), () => context.showImages(ofType(name)))]
      : []),
  ];
}
