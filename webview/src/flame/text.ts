// Names on boxes: as much as fits.

import { shorterNames } from '../base/symbols';
import { shorten } from '../base/text';

/** Enough characters for the widest box of the widest screen. */
const MOST = 400;
const MOST_KEPT = 5000;

/** Measures text in one font, and remembers. */
export class Fitter {
  private readonly widths = new Map<string, number>();
  private readonly names = new Map<string, readonly string[]>();
  private readonly perCharacter: number;

  constructor(private readonly measure: (text: string) => number) {
    const sample = 'abcdefghijklmnopqrstuvwxyz_.:0123456789';
    this.perCharacter = Math.max(measure(sample) / sample.length, 1);
  }

  /** One for what is drawn on a canvas in a font; null where it can't be drawn on. */
  static on(canvas: HTMLCanvasElement, font: string): Fitter | null {
    const context = canvas.getContext('2d');
    if (!context) return null;
    context.font = font;
    return new Fitter((text) => context.measureText(text).width);
  }

  width(text: string): number {
    let found = this.widths.get(text);
    if (found === undefined) {
      if (this.widths.size >= MOST_KEPT) this.widths.clear();
      found = this.measure(text);
      this.widths.set(text, found);
    }
    return found;
  }

  /**
   * A name in a width, after a mark: as many of its parts as fit, or the last one shortened in its middle; empty when
   * not even a few letters fit.
   */
  fit(name: string, width: number, mark = ''): string {
    const names = this.shorter(name).map((each) => mark + each);
    const found = names.find((each) => this.width(each) <= width);
    if (found !== undefined) return found;
    const last = names.at(-1) ?? '';
    let letters = Math.min(Math.floor(width / this.perCharacter), last.length - 1);
    while (letters >= 3) {
      const short = shorten(last, letters);
      const over = this.width(short) - width;
      if (over <= 0) return short;
      letters -= Math.max(1, Math.floor(over / this.perCharacter));
    }
    return '';
  }

  private shorter(name: string): readonly string[] {
    let found = this.names.get(name);
    if (found === undefined) {
      if (this.names.size >= MOST_KEPT) this.names.clear();
      found = shorterNames(name).map((each) => shorten(each, MOST));
      this.names.set(name, found);
    }
    return found;
  }
}
