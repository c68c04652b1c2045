/* oxlint-disable typescript/no-non-null-assertion -- indices are clamped to the image */
// A software renderer: rects to pixels, by the same rules as the shader. No DOM, so it is also the tests' witness.

import { MERGED_BIT } from '../../../../extension/shared/geometry';
import type { Camera, PlotSize } from '../../canvas/camera';
import { mix, pack, type Rgb } from '../../canvas/colour';
import { PLAIN } from '../scene/paint';
import { snap, type Placement } from '../scene/place';
import { BAND_MASK, STARTS_BIT } from './rects';
import { OUTLINED_SIZE, SEPARATED_HEIGHT, SEPARATED_WIDTH } from './renderer';
import type { PictureStyle } from '../../canvas/palette';

const OPAQUE = 0xff000000;

/** RGBA words, top row first. */
interface Image {
  readonly pixels: Uint32Array;
  readonly size: PlotSize;
}

/** Rects as `markStarts` makes them, and the colours of their bands. */
interface Rects {
  readonly words: Uint32Array;
  readonly colours: Uint32Array;
}

/** Draws over an image. */
export function rasterise(
  { pixels, size }: Image,
  { words, colours }: Rects,
  place: Placement,
  style: PictureStyle,
): void {
  const merged = (pack(style.merged) | OPAQUE) >>> 0;
  const mergedInk = (pack(style.mergedInk) | OPAQUE) >>> 0;
  const inks = new Map<number, number>();
  const edges = new Uint16Array(words.buffer, words.byteOffset, words.length * 2);
  for (let rect = 0, at = 0; 3 * rect < words.length; rect++, at += 6) {
    const left = snap(edges[at]!, place.scaleX, place.offsetX);
    const right = snap(edges[at + 1]!, place.scaleX, place.offsetX);
    const low = snap(edges[at + 2]!, place.scaleY, place.offsetY);
    const high = snap(edges[at + 3]!, place.scaleY, place.offsetY);
    const x0 = Math.max(left, 0);
    const x1 = Math.min(right, size.width);
    const y0 = Math.max(size.height - high, 0);
    const y1 = Math.min(size.height - low, size.height);
    if (x0 >= x1 || y0 >= y1) continue;
    const word = words[3 * rect + 2]!;
    const paint = colours[word & BAND_MASK] ?? 0;
    if (word >= MERGED_BIT && paint >>> 24 !== PLAIN) {
      const led = paint >>> 24 !== 0;
      const tone = led ? (paint | OPAQUE) >>> 0 : merged;
      const hatch = led ? merged : mergedInk;
      for (let y = y0; y < y1; y++) {
        const row = y * size.width;
        pixels.fill(tone, row + x0, row + x1);
        for (let x = x0 + hatchStart(x0, y, size.height); x < x1; x += 4) pixels[row + x] = hatch;
      }
      continue;
    }
    const colour = (paint | OPAQUE) >>> 0;
    let ink = inks.get(colour);
    if (ink === undefined) {
      ink = (pack(mix(unpack(colour), style.separator, style.separatorShare)) | OPAQUE) >>> 0;
      inks.set(colour, ink);
    }
    for (let y = y0; y < y1; y++) pixels.fill(colour, y * size.width + x0, y * size.width + x1);
    const pattern = word >= MERGED_BIT ? 0 : paint >>> 24;
    if (pattern > 0) drawPattern({ pixels, size }, { x0, x1, y0, y1 }, pattern, ink);
    const outlined = word >= MERGED_BIT || Math.max(right - left, high - low) >= OUTLINED_SIZE;
    if (outlined && high - low >= SEPARATED_HEIGHT && size.height - high >= 0) {
      const row = (size.height - high) * size.width;
      pixels.fill(ink, row + x0, row + x1);
    }
    const starts = word < MERGED_BIT && (word & STARTS_BIT) !== 0;
    if (outlined && starts && right - left >= SEPARATED_WIDTH && left >= 0) {
      for (let y = y0; y < y1; y++) pixels[y * size.width + left] = ink;
    }
  }
}

/** Hatches count rows from the bottom, as the shader does. Every fourth pixel of a diagonal. */
function hatchStart(x: number, y: number, height: number): number {
  return (4 - ((x + height - 1 - y) % 4)) % 4;
}

/** Marks a range of pixels. */
function drawPattern(
  { pixels, size }: Image,
  { x0, x1, y0, y1 }: Camera,
  pattern: number,
  ink: number,
): void {
  for (let y = y0; y < y1; y++) {
    const fromBottom = size.height - 1 - y;
    for (let x = x0; x < x1; x++) if (inPattern(pattern, x, fromBottom)) pixels[y * size.width + x] = ink;
  }
}

/** The same marks as `inPattern` of the shader. */
export function inPattern(pattern: number, x: number, y: number): boolean {
  switch (pattern) {
    case 1:
      return (x + y) % 8 === 0;
    case 2:
      return (x + 7 * y) % 8 === 0;
    case 3:
      return x % 6 === 0 && y % 6 === 0;
    case 4:
      return x % 8 === 0;
    case 5:
      return y % 6 === 0;
    default:
      return false;
  }
}

function unpack(word: number): Rgb {
  return [word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff];
}
