// The colours of the view: VS Code's theme, and what distinguishes allocations.

import { computed, signal } from '@preact/signals';
import type { TimelineState } from '../../../../extension/shared/messages';
import type { Grouped } from '../../../../extension/shared/geometry';
import type { AllocationSummary, Branch, Group } from '../../../../extension/shared/protocol.gen';
import { areaColours, areaOf, colourOfGroup } from './areas';
import type { Rgb } from '../../canvas/colour';
import { colourOf } from './paint';
import type { Palette } from '../../canvas/palette';
import { paletteOf, theme } from '../../canvas/theme';

export class Colours {
  private readonly areas = signal<Pick<Grouped, 'by' | 'areas'> | null>(null);
  private readonly distinguished = signal<TimelineState['colour']>('stack');
  private readonly made = computed(() => paletteOf(theme.value, this.by, this.categories));

  constructor(
    /** Of the profiler, in the order of their numbers. */
    readonly categories: readonly string[],
    by: TimelineState['colour'],
  ) {
    this.distinguished.value = by;
  }

  /** What the picture is grouped by, and its areas; null in the order of time. */
  get grouped(): Pick<Grouped, 'by' | 'areas'> | null {
    return this.areas.value;
  }

  /** Another picture is there, whose areas may be others. */
  take(grouped: Grouped | null): void {
    const next = grouped && { by: grouped.by, areas: grouped.areas };
    if (JSON.stringify(next) !== JSON.stringify(this.areas.peek())) this.areas.value = next;
  }

  get by(): TimelineState['colour'] {
    return this.distinguished.value;
  }

  get palette(): Palette {
    return this.made.value;
  }

  /** Colours by stack or by category; false where there are no categories. */
  toggle(): boolean {
    if (this.categories.length === 0) return false;
    this.distinguished.value = this.by === 'stack' ? 'category' : 'stack';
    return true;
  }

  /**
   * The colour that a row of a tree table has in the picture: of a group by `by`, whose stacks are charged by
   * `attribution`. Null where the picture isn't grouped by that.
   */
  ofGroup(
    group: Pick<Group, 'key'>,
    by: Branch['by'][number],
    attribution: Branch['attribution'],
  ): Rgb | null {
    const { grouped } = this;
    if (grouped?.by.by !== by || grouped.by.attribution !== attribution) return null;
    return colourOfGroup(group, grouped, this.palette);
  }

  of(allocation: AllocationSummary): Rgb {
    if (this.grouped) {
      const area = areaOf(allocation, this.grouped);
      const colours = areaColours(this.grouped, this.palette);
      return (area && colours[this.grouped.areas.indexOf(area)]) ?? this.palette.none;
    }
    const category = allocation.category === null ? -1 : this.categories.indexOf(allocation.category);
    return colourOf(allocation.stack, category, this.palette);
  }
}
