// The colours of the view: VS Code's theme, and what allocations are told apart by.

import type { ViewState } from '../../extension/shared/messages';
import type { AllocationSummary } from '../../extension/shared/protocol.gen';
import type { Rgb } from './scene/colour';
import { colourOf, type Palette } from './scene/paint';
import { paletteOf, readTheme, type Theme } from './ui/theme';

export class Colours {
  theme: Theme = readTheme();
  palette: Palette;

  constructor(
    /** Of the profiler, in the order of their numbers. */
    readonly categories: readonly string[],
    public by: ViewState['colour'],
  ) {
    this.palette = paletteOf(this.theme, by, categories);
  }

  /** The theme is another one. */
  refresh(): void {
    this.theme = readTheme();
    this.palette = paletteOf(this.theme, this.by, this.categories);
  }

  /** Colours by stack or by category; false where there are no categories. */
  toggle(): boolean {
    if (this.categories.length === 0) return false;
    this.by = this.by === 'stack' ? 'category' : 'stack';
    this.refresh();
    return true;
  }

  of(allocation: AllocationSummary): Rgb {
    const category = allocation.category === null ? -1 : this.categories.indexOf(allocation.category);
    return colourOf(allocation.stack, category, this.palette);
  }
}
