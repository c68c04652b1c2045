// A tree of objects as rings, beside the boxes: the same part of it, the same colours, the same selection.

import { MORE } from '../../../extension/shared/flame-geometry';
import type { FlameHover } from '../flame/hover';
import type { BoxPresses } from '../flame/input';
import type { FlamePlot } from '../flame/plot';
import { Fitter } from '../flame/text';
import { nameText } from '../flame/words';
import { css, inkOn } from '../canvas/colour';
import { theme } from '../canvas/theme';
import { Chart, pointIn } from '../widgets/chart';
import { bytes } from '../base/format';
import { t } from '../base/l10n';
import { arcOf, arcsOf, ringBoxAt, ringsOf, type Arc, type Rings } from './rings';

const FONT_CSS_PX = 11;
/** Arcs at least this long, in CSS pixels, get a line at their edges. */
const SEPARATED_CSS_PX = 3;
const QUARTER = Math.PI / 2;

/** Where the middle of an arc is, in CSS pixels, and how far it goes around. */
interface SunburstArc {
  readonly x: number;
  readonly y: number;
  readonly angle: number;
  readonly depth: number;
  readonly name: string;
}

declare global {
  interface Window {
    memlensSunburst?: () => SunburstArc[];
  }
}

export class Sunburst {
  private readonly chart = new Chart({
    class: 'sunburst-surface',
    role: 'application',
    label: '',
    draw: () => this.paint(),
  });
  private hovered = -1;
  private fitter: Fitter | null = null;

  constructor(private readonly plot: FlamePlot) {
    window.memlensSunburst = () => this.arcs();
  }

  /** `zoomOut` is what a press of the middle does: to what holds it. */
  listenToPointer(hover: FlameHover, presses: BoxPresses, zoomOut: () => void): void {
    const { surface, plot } = this;
    const at = (event: MouseEvent): [box: number, x: number, y: number] => {
      const { x, y } = pointIn(surface, event);
      return [this.boxAt(x, y), x, y];
    };
    surface.addEventListener('pointermove', (event) => {
      hover.show(...at(event));
    });
    surface.addEventListener('pointerleave', () => {
      hover.hide();
    });
    surface.addEventListener('click', (event) => {
      this.chart.focus();
      const [box] = at(event);
      const open = event.ctrlKey || event.metaKey;
      if (box >= 0 && box === this.rings?.centre && !open) {
        zoomOut();
        return;
      }
      hover.hide();
      presses.click(box, open);
    });
    surface.addEventListener('dblclick', (event) => {
      presses.zoom(plot.facts(at(event)[0]));
    });
    surface.addEventListener('contextmenu', (event) => {
      event.preventDefault();
      hover.hide();
      presses.menu(event.button === 2 ? at(event)[0] : -1, event.clientX, event.clientY);
    });
  }

  /** Has the focus and the pointer. */
  get surface(): HTMLElement {
    return this.chart.surface;
  }

  setLabel(label: string): void {
    this.chart.setLabel(label);
  }

  dispose(): void {
    this.chart.dispose();
  }

  hover(box: number): void {
    if (box === this.hovered) return;
    this.hovered = box;
    this.draw();
  }

  /** The box at a point of the surface in CSS pixels, or -1. */
  boxAt(x: number, y: number): number {
    const { rings } = this;
    const g = this.plot.geometry;
    return rings && g ? ringBoxAt(g, rings, this.plot.camera, x * this.ratio, y * this.ratio) : -1;
  }

  private middleOf(box: number): { x: number; y: number; angle: number } | null {
    const { rings, ratio } = this;
    const g = this.plot.geometry;
    const arc = rings && g ? arcOf(g, box, rings, this.plot.camera) : null;
    if (!rings || !arc) return null;
    const radius = (arc.inner + arc.outer) / 2;
    const turned = (arc.from + arc.to) / 2;
    return {
      x: (rings.centreX + radius * Math.sin(turned)) / ratio,
      y: (rings.centreY - radius * Math.cos(turned)) / ratio,
      angle: arc.to - arc.from,
    };
  }

  /** The arcs on the screen, for end-to-end tests. */
  arcs(): SunburstArc[] {
    const { geometry: g } = this.plot;
    return Array.from({ length: g?.boxes ?? 0 }, (_, box) => {
      const facts = this.plot.facts(box);
      const middle = this.middleOf(box);
      // of merged boxes it is how many there are
      const known = facts && !facts.more ? this.plot.names.get(facts.name) : undefined;
      return facts && middle ? [{ ...middle, depth: facts.depth, name: known ? nameText(known) : '' }] : [];
    }).flat();
  }

  draw(): void {
    this.chart.request();
  }

  private paint(): void {
    const { rings, ratio } = this;
    const g = this.plot.geometry;
    const context = this.chart.begin(0, 'screen');
    if (!context || !g || !rings || g.total <= 0) return;
    const look = theme.value;
    this.fitter = Fitter.on(context.canvas, this.font);
    context.lineWidth = ratio;
    context.strokeStyle = css(look.background);
    const labelled: [number, Arc][] = [];
    for (const [box, arc] of arcsOf(g, rings, this.plot.camera)) {
      trace(context, rings, arc);
      const isMore = ((g.flags[box] ?? 0) & MORE) !== 0;
      context.fillStyle = isMore ? css(look.picture.merged) : this.plot.colourOf(box);
      context.fill();
      const long = (arc.to - arc.from) * arc.outer;
      if (long >= SEPARATED_CSS_PX * ratio) context.stroke();
      if (!isMore && long >= 14 * ratio) labelled.push([box, arc]);
    }
    context.font = this.font;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    for (const [box, arc] of labelled) this.label(context, rings, box, arc);
    this.drawCentre(context, rings);
    context.strokeStyle = css(look.foreground);
    const outline = (box: number, line: number): void => {
      const arc = box >= 0 && box < g.boxes ? arcOf(g, box, rings, this.plot.camera) : null;
      if (!arc) return;
      context.lineWidth = line * ratio;
      trace(context, rings, arc);
      context.stroke();
    };
    outline(this.hovered, 1);
    outline(this.plot.selectedBox(), 2);
  }

  private get ratio(): number {
    return this.chart.scale;
  }

  private get font(): string {
    return `${FONT_CSS_PX * this.ratio}px ${theme.value.font}`;
  }

  private get rings(): Rings | null {
    const { geometry: g, camera } = this.plot;
    const { width, height } = this.chart.size;
    return g && ringsOf(g, camera, width, height);
  }

  private drawCentre(context: CanvasRenderingContext2D, rings: Rings): void {
    const { plot, fitter } = this;
    const facts = plot.facts(rings.centre);
    if (!facts || !fitter) return;
    const { centreX: x, centreY: y, inner } = rings;
    context.beginPath();
    context.arc(x, y, Math.max(inner - this.ratio, 0), 0, 4 * QUARTER);
    context.fillStyle = facts.node === 0 ? css(theme.value.picture.merged) : plot.colourOf(rings.centre);
    context.fill();
    const ink = facts.node === 0 ? css(theme.value.foreground) : this.inkOf(rings.centre);
    context.fillStyle = ink;
    const line = FONT_CSS_PX * this.ratio;
    const known = plot.names.get(facts.name);
    const name = facts.node === 0 ? t('all') : known ? nameText(known) : '';
    context.fillText(fitter.fit(name, inner * 1.7), x, y - line * 0.6);
    const size = bytes(facts.value);
    // a size is whole or not there
    if (fitter.width(size) <= inner * 1.9) context.fillText(size, x, y + line * 0.7);
  }

  /** Along the arc where that has room, else along the radius. */
  private label(context: CanvasRenderingContext2D, rings: Rings, box: number, arc: Arc): void {
    const { plot, fitter, ratio } = this;
    const facts = plot.facts(box);
    const known = facts && plot.names.get(facts.name);
    if (!known || !fitter) return;
    const radius = (arc.inner + arc.outer) / 2;
    const length = (arc.to - arc.from) * radius;
    const thick = arc.outer - arc.inner;
    const along = length > thick;
    if ((along ? thick : length) < (FONT_CSS_PX + 0.5) * ratio) return;
    const text = fitter.fit(nameText(known), (along ? length : thick) - 6 * ratio);
    if (text === '') return;
    context.fillStyle = this.inkOf(box);
    const middle = (arc.from + arc.to) / 2;
    const place = { rings, angle: middle, radius };
    if (along) this.writeAlong(context, text, place);
    else write(context, text, place, Math.sin(middle) < 0 ? QUARTER : -QUARTER);
  }

  /** A text bent along a circle with its middle at an angle; on the lower half the other way round, to be read. */
  private writeAlong(context: CanvasRenderingContext2D, text: string, place: OnCircle): void {
    const { angle: middle, radius } = place;
    const below = Math.cos(middle) < 0;
    const letters = Array.from(text);
    const widths = letters.map((letter) => this.fitter?.width(letter) ?? 0);
    const whole = widths.reduce((sum, width) => sum + width, 0);
    const way = below ? -1 : 1;
    let angle = middle - (way * whole) / 2 / radius;
    for (const [at, letter] of letters.entries()) {
      const half = (way * (widths[at] ?? 0)) / 2 / radius;
      write(context, letter, { ...place, angle: angle + half }, below ? 2 * QUARTER : 0);
      angle += 2 * half;
    }
  }

  private inkOf(box: number): string {
    return css(inkOn(this.plot.rgbOf(box)));
  }
}

interface OnCircle {
  readonly rings: Rings;
  readonly angle: number;
  readonly radius: number;
}

/** A text with its middle at a place of a circle, upright at the top but for a `turn`. */
function write(
  context: CanvasRenderingContext2D,
  text: string,
  { rings: { centreX, centreY }, angle, radius }: OnCircle,
  turn: number,
): void {
  context.save();
  context.translate(centreX + radius * Math.sin(angle), centreY - radius * Math.cos(angle));
  context.rotate(angle + turn);
  context.fillText(text, 0, 0);
  context.restore();
}

function trace(context: CanvasRenderingContext2D, rings: Rings, { from, to, inner, outer }: Arc): void {
  const { centreX: x, centreY: y } = rings;
  context.beginPath();
  context.arc(x, y, outer, from - QUARTER, to - QUARTER);
  context.arc(x, y, inner, to - QUARTER, from - QUARTER, true);
  context.closePath();
}
