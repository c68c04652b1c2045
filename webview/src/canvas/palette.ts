// The colours that a picture is painted in.

import type { Rgb } from './colour';

export interface Palette {
  readonly by: 'stack' | 'category';
  readonly stacks: readonly Rgb[];
  readonly categories: readonly Rgb[];
  /** The categories' names, in the order of their colours. */
  readonly categoryNames: readonly string[];
  /** What has no stack, and what is in no area of its own. */
  readonly noStack: Rgb;
  readonly none: Rgb;
  readonly background: Rgb;
  /** Hatch bands by category as well, so that they differ by more than colour. */
  readonly patterns: boolean;
}

/** Colours of what is not a band. */
export interface PictureStyle {
  readonly background: Rgb;
  /** Merged bands: two tones of a hatch. */
  readonly merged: Rgb;
  readonly mergedInk: Rgb;
  /** The line between bands, and how much of it is mixed over the band's colour. */
  readonly separator: Rgb;
  readonly separatorShare: number;
}
