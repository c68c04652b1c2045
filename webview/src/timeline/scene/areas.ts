// The areas of a picture by group: their colours, and which of them an allocation is in.

import type { Grouped } from '../../../../extension/shared/geometry';
import type {
  AllocationSummary,
  Area,
  Frame,
  Group,
  GroupedBy,
} from '../../../../extension/shared/protocol.gen';
import { categoryName, count } from '../../base/format';
import { said, t } from '../../base/l10n';
import type { Rgb } from '../../canvas/colour';
import type { Palette } from '../../canvas/palette';

/** The key of the area of all that has none of its own. */
export const OTHER = -1;
/** Keys below it are of what has no stack, where groups are of stacks. */
const FIRST_OF_STACKS = 2;

/** An area's name as it is shown; "Other (37)" says how many groups that are. */
export function areaName(area: Pick<Area, 'key' | 'name' | 'groups'>, by: GroupedBy['by']): string {
  if (area.key === OTHER) return t('Other ({0})', count(area.groups));
  if (by === 'size') return t('Blocks of {0}', said(area.name));
  return by === 'category' ? categoryName(area.name.text) : said(area.name);
}

type Named = Pick<Area, 'key' | 'name' | 'colour'>;

const OF_STACKS: ReadonlySet<GroupedBy['by']> = new Set(['line', 'function', 'file', 'module']);

function areaColour(area: Named, by: GroupedBy['by'], palette: Palette): Rgb {
  if (area.key === OTHER) return palette.none;
  if (by === 'category')
    return palette.categories[palette.categoryNames.indexOf(area.name.text)] ?? palette.none;
  if (OF_STACKS.has(by) && area.key < FIRST_OF_STACKS) return palette.noStack;
  return palette.stacks[area.colour % palette.stacks.length] ?? palette.none;
}

/** The colours of all areas of a picture, in their order. */
export function areaColours({ by, areas }: Pick<Grouped, 'by' | 'areas'>, palette: Palette): readonly Rgb[] {
  return areas.map((area) => areaColour(area, by.by, palette));
}

/** The colour that the picture has for a group of a tree table that is grouped by the same. */
export function colourOfGroup(
  group: Pick<Group, 'key'>,
  { by, areas }: Pick<Grouped, 'by' | 'areas'>,
  palette: Palette,
): Rgb {
  const area = areas.find(({ key }) => key === group.key);
  return area ? areaColour(area, by.by, palette) : palette.none;
}

/**
 * The area that an allocation is in; null where that isn't known: then it may be in any.
 * Modules and a rule for frames that isn't the labels' are known to the server alone.
 */
export function areaOf(
  allocation: Pick<
    AllocationSummary,
    'label' | 'operator' | 'stack' | 'before_trace' | 'category' | 'size_bytes'
  >,
  { by, areas }: Pick<Grouped, 'by' | 'areas'>,
): Area | null {
  const other = areas.find(({ key }) => key === OTHER) ?? null;
  const keyed = (key: number): Area | null => areas.find((area) => area.key === key) ?? other;
  const found = (fits: (area: Area) => boolean): Area | null => areas.find(fits) ?? other;
  switch (by.by) {
    case 'size':
      return keyed(sizeClass(allocation.size_bytes));
    case 'category':
      return found(({ name }) => name.text === (allocation.category ?? 'No category'));
    case 'module':
      return null;
    default:
  }
  const { label, operator } = allocation;
  if (by.attribution !== 'mine') return null;
  if (!label) return keyed(allocation.before_trace ? 1 : 0);
  if (label.kind === 'native')
    return found(({ place, name }) => !place && name.text === (operator ?? label.function));
  return found(({ place }) => place !== null && samePlace(place, label, by.by));
}

function samePlace(a: Frame, b: Frame, by: GroupedBy['by']): boolean {
  if (a.file !== b.file || (a.source === 'recorded') !== (b.source === 'recorded')) return false;
  if (by === 'line') return a.line === b.line;
  return by === 'file' || a.function === b.function;
}

/** As the server numbers classes of sizes: by the highest bit. */
function sizeClass(bytes: number): number {
  return bytes <= 0 ? 0 : Math.floor(Math.log2(bytes)) + 1;
}
