// The names on the boxes of a flame graph, as much of each as its box has room for.

import { MORE, type FlameGeometry } from '../../../extension/shared/flame-geometry';
import type { FlameName } from '../../../extension/shared/protocol.gen';
import { count, t } from '../base/l10n';
import { shorten } from '../base/text';
import { css, inkOn } from '../canvas/colour';
import { theme } from '../canvas/theme';
import { factsOf } from './boxes';
import type { FlameCamera } from './camera';
import { unpack, type ColourBy } from './colours';
import { arrowOf, changeMark } from './difference';
import { depthsSeen, firstBeyond, pixelOf, rowTop, type FlamePlot } from './raster';
import type { Fitter } from './text';
import { nameText, type Places } from './words';

const PADDING_CSS_PX = 4;
const LEAST_CSS_PX = 14;
/** More letters than any box has room for. */
const MOST_LETTERS = 240;

/** How boxes are shown that are to be named; all lengths are pixels of the screen, of which CSS' have `scale`. */
interface NamedBoxes {
  readonly plot: FlamePlot;
  readonly camera: FlameCamera;
  readonly scale: number;
  readonly fitter: Fitter;
  readonly colours: Uint32Array;
  readonly colourBy: ColourBy;
  readonly names: ReadonlyMap<number, FlameName>;
  readonly places: Places;
}

/** Writes in the context's font. */
export function drawNames(context: CanvasRenderingContext2D, g: FlameGeometry, boxes: NamedBoxes): void {
  const { plot, camera, scale, fitter, colours } = boxes;
  const padding = Math.round(PADDING_CSS_PX * scale);
  context.textBaseline = 'middle';
  const [first, last] = depthsSeen(camera, plot);
  for (let depth = Math.max(first, g.firstDepth); depth < Math.min(last, g.firstDepth + g.rows); depth++) {
    const row = depth - g.firstDepth;
    const y = rowTop(depth, camera, plot) + plot.rowHeight / 2;
    const end = g.rowStart[row + 1] ?? 0;
    for (let box = firstBeyond(g, row, camera.x0 * g.total); box < end; box++) {
      const left = g.left[box] ?? 0;
      const x0 = pixelOf(left, g.total, camera, plot.width);
      if (x0 >= plot.width) break;
      const x1 = pixelOf(left + (g.value[box] ?? 0), g.total, camera, plot.width);
      const room = x1 - x0 - 2 * padding;
      if (room < LEAST_CSS_PX * scale) continue;
      const { texts, mark, name } = textsOf(g, box, boxes);
      const whole = texts.find((each) => fitter.width(each) <= room);
      const text = whole ?? fitter.fit(name, room, mark);
      if (text === '') continue;
      const isMore = ((g.flags[box] ?? 0) & MORE) !== 0;
      const { merged } = theme.value.picture;
      if (isMore) {
        // their stripes would run through the letters
        context.fillStyle = css(merged);
        context.fillRect(
          x0 + padding / 2,
          y - 0.35 * plot.rowHeight,
          fitter.width(text) + padding,
          0.7 * plot.rowHeight,
        );
      }
      context.fillStyle = css(inkOn(isMore ? merged : unpack(colours[box] ?? 0)));
      context.fillText(text, x0 + padding, y);
    }
  }
}

/** What may stand on a box, the best first; else its name, shortened, after a mark. */
function textsOf(
  g: FlameGeometry,
  box: number,
  { names, places, colourBy }: NamedBoxes,
): { readonly texts: readonly string[]; readonly mark: string; readonly name: string } {
  const facts = factsOf(g, box);
  const known = facts.more ? undefined : names.get(facts.name);
  const name = facts.more
    ? t('{0} more', count(facts.name))
    : facts.node === 0
      ? t('all')
      : known
        ? nameText(known)
        : '';
  if (!facts.change || typeof colourBy !== 'object' || name === '')
    // only what is one line has one
    return {
      texts: known && known.line > 0 ? [`${shorten(name, MOST_LETTERS)}  ${places.of(known)}`] : [],
      mark: '',
      name,
    };
  const { whole, scale } = colourBy;
  return {
    texts: [`${changeMark(facts.change, whole, scale)}  ${shorten(name, MOST_LETTERS)}`],
    mark: `${arrowOf(facts.change, whole, scale)} `,
    name,
  };
}
