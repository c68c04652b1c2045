// By what the timeline is grouped, and what its colours mean.

import { signal, type Signal } from '@preact/signals';
import type { AreaKind } from '../../../extension/shared/commands';
import type { TimelineState } from '../../../extension/shared/messages';
import type { Colours } from './scene/colours';

export class Grouping {
  private readonly current: Signal<AreaKind | null>;
  private last: AreaKind = 'line';

  constructor(
    private readonly colours: Colours,
    /** Null in the order of PyTorch's viewer. */
    kind: AreaKind | null,
  ) {
    this.current = signal(kind);
  }

  get kind(): AreaKind | null {
    return this.current.value;
  }

  /** The kind that is shown, or was last. */
  get lastKind(): AreaKind {
    return this.kind ?? this.last;
  }

  /** Whether colours stand for categories, in a picture without areas. */
  get isByCategory(): boolean {
    return this.kind === null && this.colours.by === 'category';
  }

  groupBy(kind: AreaKind | null): void {
    this.last = this.lastKind;
    this.current.value = kind;
  }

  /** Between the last grouping and none. */
  toggleOrder(): void {
    this.groupBy(this.kind === null ? this.last : null);
  }

  toggleColour(): void {
    const { kind, colours } = this;
    if (kind === null) colours.toggle();
    else if (colours.categories.length > 0) this.groupBy(kind === 'category' ? 'line' : 'category');
  }

  goTo({ colour, areas }: Pick<TimelineState, 'colour' | 'areas'>): void {
    if (colour !== this.colours.by) this.colours.toggle();
    this.current.value = areas;
  }
}
