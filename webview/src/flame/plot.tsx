// The flame graph on the screen: camera, boxes, what is selected. What it shows it asks its owner for.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { decodeFlame, type FlameGeometry } from '../../../extension/shared/flame-geometry';
import type { ViewResult } from '../../../extension/shared/messages';
import type { FlameName } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import { Latest } from '../base/latest';
import { css, type Rgb } from '../canvas/colour';
import { theme, type Theme } from '../canvas/theme';
import { Chart } from '../widgets/chart';
import { Done } from '../widgets/done';
import { Island } from '../widgets/island';
import { factsOf, findBox, type BoxFacts, type BoxKey } from './boxes';
import { bounded, covers, requestFor, WHOLE, type FlameCamera, type FlameRequest } from './camera';
import { inkOf, markBoxes, paintFlame, unpack, type ColourBy } from './colours';
import { drawNames } from './names';
import { boxAt, pixelOf, rasteriseFlame, rowTop, type FlamePlot as Plot } from './raster';
import { Fitter } from './text';
import type { Places } from './words';

export interface FlamePlotEvents {
  ask(request: FlameRequest): Pending<ViewResult<'memlens/flame'>>;
  /** Another picture or camera is on the screen. */
  shown(): void;
  /** The user moved the camera. */
  moved(): void;
  failed(error: unknown): void;
}

const ROW_CSS_PX = 18;
const FONT_CSS_PX = 12;
const GLIDE_MS = 160;
const LONGEST_EMPTY = 2000;

export class FlamePlot {
  readonly names = new Map<number, FlameName>();
  geometry: FlameGeometry | null = null;
  camera: FlameCamera = WHOLE;
  target: FlameCamera = WHOLE;
  selected: BoxKey | null = null;
  pictures = 0;
  private hovered = -1;
  private upwards = false;
  private colourBy: ColourBy = 'package';
  private searching = false;
  private colours: Uint32Array = new Uint32Array(0);
  private marks: Uint8Array | null = null;
  /** What the boxes were painted with; null when they are to be painted again. */
  private painted: { readonly theme: Theme; readonly scale: number } | null = null;
  private fitter: Fitter | null = null;
  private image: ImageData | null = null;
  /** The boxes stand as they were drawn. */
  private drawn = false;
  private asked: FlameRequest | null = null;
  private readonly asking = new Latest();
  private glide: { from: FlameCamera; since: number } | null = null;
  private readonly chart: Chart;
  private readonly isEmpty = signal(false);
  /** The boxes are the answer to an earlier question, or there are none yet. */
  private readonly stale = signal(false);
  /** What is said when there is nothing to draw. */
  private readonly empty = signal('');

  constructor(
    private readonly events: FlamePlotEvents,
    private readonly places: Places,
    label = t(
      'Flame graph. Arrow keys move through the boxes, Enter zooms; the table shows the same as text.',
    ),
  ) {
    this.chart = new Chart({
      class: 'flame-surface',
      role: 'application',
      label,
      layers: 2,
      draw: (now) => {
        this.step(now);
        this.draw();
      },
      resized: () => {
        this.image = null;
        this.stand(this.target);
      },
    });
  }

  readonly View = ({ hidden = false }: { readonly hidden?: boolean }): VNode => (
    <div class="flame-plot" hidden={hidden} {...(this.stale.value && { 'aria-busy': true })}>
      <Island of={this.surface} />
      {this.stale.value && (
        <p class="flame-stale">
          <span role="status">{t('Updating…')}</span>{' '}
          {this.asking.done !== null && <Done text={t('Updating…')} done={this.asking.done} />}
        </p>
      )}
      <p class="flame-empty muted" hidden={!this.isEmpty.value}>
        {this.empty}
      </p>
    </div>
  );

  /** Has the focus and the pointer. */
  get surface(): HTMLElement {
    return this.chart.surface;
  }

  /** How long drawing took, in milliseconds: the latest frames. */
  get frameTimes(): readonly number[] {
    return this.chart.frames.times;
  }

  setLabel(label: string): void {
    this.chart.setLabel(label);
  }

  dispose(): void {
    this.asking.cancel();
    this.chart.dispose();
  }

  get plot(): Plot {
    const rowHeight = Math.round(ROW_CSS_PX * this.ratio);
    return { ...this.chart.size, rowHeight, upwards: this.upwards };
  }

  /** Rows that the view has room for, perhaps not whole ones. */
  get rows(): number {
    return this.plot.height / this.plot.rowHeight;
  }

  get isUpwards(): boolean {
    return this.upwards;
  }

  setStyle(upwards: boolean, colourBy: ColourBy): void {
    this.upwards = upwards;
    this.colourBy = colourBy;
    this.paint();
  }

  /** Something else is asked for from now on. With `keep` the camera stays, as the boxes do; else it stands `at`. */
  renew(keep: boolean, searching: boolean, at = WHOLE): void {
    this.searching = searching;
    this.asking.cancel();
    this.asked = null;
    this.stale.value = true;
    if (!keep) {
      this.camera = at;
      this.target = at;
      this.glide = null;
      this.selected = null;
      this.hovered = -1;
    }
    this.fetch();
  }

  moveTo(camera: FlameCamera, glide = false): void {
    this.stand(camera, glide);
    this.events.moved();
  }

  /** Moves without reporting it, as it wasn't asked for. */
  stand(camera: FlameCamera, glide = false): void {
    this.target = bounded(camera, this.rows, this.geometry?.deepest ?? Infinity);
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.glide = glide && !still ? { from: this.camera, since: performance.now() } : null;
    if (!this.glide) this.camera = this.target;
    this.fetch();
    this.redraw();
  }

  /** Zooms to a range of values; the row of `depth` stays in view with some of its callers. */
  zoomTo(left: number, value: number, depth: number): void {
    const total = this.geometry?.total ?? 0;
    if (total <= 0) return;
    const callers = Math.floor(this.rows / 3);
    const seen = depth >= this.target.top && depth < this.target.top + this.rows - 1;
    const top =
      seen && depth - this.target.top <= callers * 2 ? this.target.top : Math.max(depth - callers, 0);
    this.moveTo({ x0: left / total, x1: (left + value) / total, top }, true);
  }

  /** Moves as little as it takes to show a box. */
  reveal(facts: BoxFacts): void {
    const { x0, x1, top } = this.target;
    const total = this.geometry?.total ?? 1;
    const width = x1 - x0;
    const [left, right] = [facts.left / total, (facts.left + facts.value) / total];
    let from = x0;
    if (right - left > width || right <= x0 || left >= x1) from = Math.max((left + right - width) / 2, 0);
    let row = top;
    if (facts.depth < top) row = facts.depth;
    else if (facts.depth + 1 > top + this.rows) row = facts.depth + 1 - this.rows;
    if (from !== x0 || row !== top) this.moveTo({ x0: from, x1: from + width, top: row }, true);
  }

  select(key: BoxKey | null): void {
    this.selected = key;
    this.redraw();
  }

  /** The box at a point of the surface in CSS pixels, or -1. */
  boxAt(x: number, y: number): number {
    return this.geometry ? boxAt(this.geometry, this.camera, this.plot, x * this.ratio, y * this.ratio) : -1;
  }

  hover(box: number): void {
    if (box === this.hovered) return;
    this.hovered = box;
    this.chart.request();
  }

  facts(box: number): BoxFacts | null {
    return this.geometry && box >= 0 && box < this.geometry.boxes ? factsOf(this.geometry, box) : null;
  }

  selectedBox(): number {
    return this.geometry && this.selected ? findBox(this.geometry, this.selected) : -1;
  }

  /** Where a box lies on the surface, in CSS pixels. */
  rectOf(box: number): { x: number; y: number; width: number; height: number } | null {
    const g = this.geometry;
    const facts = this.facts(box);
    if (!g || !facts) return null;
    const { plot, ratio } = this;
    const x0 = pixelOf(facts.left, g.total, this.camera, plot.width);
    const x1 = pixelOf(facts.left + facts.value, g.total, this.camera, plot.width);
    return {
      x: x0 / ratio,
      y: rowTop(facts.depth, this.camera, plot) / ratio,
      width: (x1 - x0) / ratio,
      height: (plot.rowHeight - 1) / ratio,
    };
  }

  colourOf(box: number): string {
    return css(this.rgbOf(box));
  }

  rgbOf(box: number): Rgb {
    this.dress();
    return unpack(this.colours[box] ?? 0);
  }

  learn(names: readonly FlameName[]): void {
    for (const name of names) this.names.set(name.name, name);
  }

  redraw(): void {
    this.drawn = false;
    this.chart.request();
  }

  private get ratio(): number {
    return this.chart.scale;
  }

  private get font(): string {
    return `${FONT_CSS_PX * this.ratio}px ${theme.value.font}`;
  }

  private step(now: number): void {
    const { glide, target } = this;
    if (!glide) return;
    const share = Math.min((now - glide.since) / GLIDE_MS, 1);
    const eased = 1 - (1 - share) ** 3;
    const between = (from: number, to: number): number => from + (to - from) * eased;
    if (share >= 1) {
      this.camera = target;
      this.glide = null;
      return;
    }
    this.camera = {
      x0: between(glide.from.x0, target.x0),
      x1: between(glide.from.x1, target.x1),
      top: between(glide.from.top, target.top),
    };
    this.redraw();
  }

  private fetch(): void {
    const { width, height, rowHeight } = this.plot;
    if (width === 0 || this.asking.asking) return;
    const rows = Math.ceil(height / rowHeight) + 1;
    if (this.asked && covers(this.asked, this.target, width, rows)) return;
    const request = requestFor(this.target, width, rows);
    this.asking.ask(
      this.events.ask(request),
      (result) => {
        this.asked = request;
        this.stale.value = false;
        try {
          this.geometry = decodeFlame(result.geometry);
        } catch (error) {
          this.events.failed(error);
          return;
        }
        this.learn(result.names);
        this.pictures++;
        this.hovered = -1;
        this.paint();
        // the camera may have moved on
        this.fetch();
      },
      (error: unknown) => {
        // the same question would fail again
        this.asked = request;
        this.stale.value = false;
        this.events.failed(error);
      },
    );
  }

  private paint(): void {
    this.painted = null;
    this.redraw();
  }

  /** The colours of the boxes, and a measure for their names, as the theme and the screen are now. */
  private dress(): void {
    const { geometry: g, colourBy } = this;
    const { scale } = this.chart;
    if (this.painted?.theme === theme.value && this.painted.scale === scale) return;
    this.painted = { theme: theme.value, scale };
    this.drawn = false;
    if (g) this.colours = paintFlame(g, colourBy, this.searching, theme.value);
    this.marks = g && typeof colourBy === 'object' ? markBoxes(g, colourBy) : null;
    const canvas = this.chart.layer(0);
    this.fitter = canvas && Fitter.on(canvas, this.font);
  }

  private draw(): void {
    this.dress();
    const anew = !this.drawn;
    if (anew) this.drawBoxes();
    this.drawOverlay();
    if (anew && this.drawn) this.events.shown();
  }

  private drawBoxes(): void {
    const { geometry: g, plot, camera, colours, fitter } = this;
    const ink = inkOf(theme.value);
    const context = this.chart.layer(0)?.getContext('2d');
    if (!context) return;
    this.image ??= context.createImageData(plot.width, plot.height);
    const pixels = new Uint32Array(this.image.data.buffer);
    if (g) rasteriseFlame(pixels, g, { plot, camera, colours, ink, marks: this.marks });
    else pixels.fill(ink.background);
    context.putImageData(this.image, 0, 0);
    if (g && fitter) {
      context.font = this.font;
      const { ratio: scale, colourBy, names, places } = this;
      drawNames(context, g, { plot, camera, scale, fitter, colours, colourBy, names, places });
    }
    this.isEmpty.value = g !== null && g.total <= 0;
    this.drawn = true;
  }

  /** What is said when there is nothing to draw. */
  setEmpty(text: string): void {
    this.empty.value = shorten(text, LONGEST_EMPTY);
  }

  private drawOverlay(): void {
    const context = this.chart.layer(1)?.getContext('2d');
    if (!context) return;
    // in every frame of a pan: cleared, not reset, as all that it is drawn with is set here
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.plot.width, this.plot.height);
    context.strokeStyle = css(theme.value.foreground);
    const outline = (box: number, width: number): void => {
      const rect = this.rectOf(box);
      if (!rect) return;
      context.lineWidth = width;
      const inside = Math.max(rect.width - width, 1 / this.ratio);
      context.strokeRect(rect.x + width / 2, rect.y + width / 2, inside, rect.height - width);
    };
    outline(this.hovered, 1);
    outline(this.selectedBox(), 2);
  }
}
