// By what the timeline is grouped, and what its colours mean.

import type { AreaKind, TimelineState } from '../../../extension/shared/messages';
import type { Colours } from './scene/colours';

interface GroupingEvents {
  /** Called when the picture is to be grouped otherwise. */
  regroup(): void;
  /** Called when the user chose another grouping. */
  regrouped(): void;
  recoloured(): void;
}

export class Grouping {
  private last: AreaKind = 'line';

  constructor(
    private readonly colours: Colours,
    /** Null in the order of PyTorch's viewer. */
    private current: AreaKind | null,
    private readonly events: GroupingEvents,
  ) {}

  get kind(): AreaKind | null {
    return this.current;
  }

  /** The kind that is shown, or was last. */
  get lastKind(): AreaKind {
    return this.current ?? this.last;
  }

  /** Whether colours stand for categories, in a picture without areas. */
  get isByCategory(): boolean {
    return this.current === null && this.colours.by === 'category';
  }

  groupBy(kind: AreaKind | null): void {
    if (kind === this.current) return;
    this.last = this.lastKind;
    this.current = kind;
    this.events.regroup();
    this.events.regrouped();
  }

  /** Between the last grouping and none. */
  toggleOrder(): void {
    this.groupBy(this.current === null ? this.last : null);
  }

  toggleColour(): void {
    const { current, colours } = this;
    if (current !== null) {
      if (colours.categories.length > 0) this.groupBy(current === 'category' ? 'line' : 'category');
    } else if (colours.toggle()) this.events.recoloured();
  }

  goTo({ colour, areas }: Pick<TimelineState, 'colour' | 'areas'>): void {
    if (colour !== this.colours.by && this.colours.toggle()) this.events.recoloured();
    if (areas === this.current) return;
    this.current = areas;
    this.events.regroup();
  }
}
