// The flame graph on the screen: canvases, camera, what is selected. What it shows it asks its owner for.

import { decodeFlame, MORE, type FlameGeometry } from '../../../extension/shared/flame-geometry';
import type { ViewResult } from '../../../extension/shared/messages';
import type { FlameName } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import { count, t } from '../base/l10n';
import { isCancelled } from '../base/latest';
import { finished, started } from '../base/under-way';
import { css, inkOn, type Rgb } from '../canvas/colour';
import { element, setText } from '../widgets/dom';
import type { Theme } from '../canvas/theme';
import { factsOf, findBox, type BoxFacts, type BoxKey } from './boxes';
import { bounded, covers, requestFor, WHOLE, type FlameCamera, type FlameRequest } from './camera';
import { inkOf, markBoxes, paintFlame, unpack, type ColourBy } from './colours';
import { arrowOf, changeMark } from './difference';
import {
  boxAt,
  depthsSeen,
  firstBeyond,
  pixelOf,
  rasteriseFlame,
  rowTop,
  type FlamePlot as Plot,
} from './raster';
import { Fitter } from './text';
import { nameText, type Places } from './words';

export interface FlamePlotEvents {
  ask(request: FlameRequest): Pending<ViewResult<'memlens/flame'>>;
  /** Another picture or camera is on the screen. */
  shown(): void;
  /** The camera was moved, by whatever the user does. */
  moved(): void;
  failed(error: unknown): void;
}

const ROW_CSS_PX = 18;
const FONT_CSS_PX = 12;
const PADDING_CSS_PX = 4;
const GLIDE_MS = 160;

export class FlamePlot {
  readonly root: HTMLElement;
  readonly surface: HTMLElement;
  readonly names = new Map<number, FlameName>();
  geometry: FlameGeometry | null = null;
  camera: FlameCamera = WHOLE;
  target: FlameCamera = WHOLE;
  selected: BoxKey | null = null;
  /** How long drawing took, in milliseconds: the latest frames. */
  readonly frameTimes: number[] = [];
  pictures = 0;
  private hovered = -1;
  private upwards = false;
  private colourBy: ColourBy = 'package';
  private searching = false;
  private colours: Uint32Array = new Uint32Array(0);
  private marks: Uint8Array | null = null;
  private theme: Theme | null = null;
  private fitter: Fitter | null = null;
  private image: ImageData | null = null;
  private asked: FlameRequest | null = null;
  private pending: Pending<ViewResult<'memlens/flame'>> | null = null;
  private frame = 0;
  private glide: { from: FlameCamera; since: number } | null = null;
  private readonly canvas = element('canvas', { attributes: { 'aria-hidden': true } });
  private readonly overlay = element('canvas', { attributes: { 'aria-hidden': true } });
  private readonly empty = element('p', { class: 'flame-empty muted', hidden: true });
  private readonly resized: ResizeObserver;

  constructor(
    private readonly events: FlamePlotEvents,
    private readonly places: Places,
    label = t(
      'Flame graph. Arrow keys move through the boxes, Enter zooms; the table has the same in words.',
    ),
  ) {
    this.surface = element(
      'div',
      {
        class: 'flame-surface',
        tabIndex: 0,
        role: 'application',
        attributes: {
          'aria-label': label,
        },
      },
      this.canvas,
      this.overlay,
    );
    this.root = element('div', { class: 'flame-plot' }, this.surface, this.empty);
    this.resized = new ResizeObserver(() => {
      this.resize();
    });
    this.resized.observe(this.surface);
  }

  dispose(): void {
    this.resized.disconnect();
    this.pending?.cancel();
    cancelAnimationFrame(this.frame);
    finished(this);
  }

  get plot(): Plot {
    const rowHeight = Math.round(ROW_CSS_PX * this.ratio);
    return { width: this.canvas.width, height: this.canvas.height, rowHeight, upwards: this.upwards };
  }

  /** Rows that the view has room for, perhaps not whole ones. */
  get rows(): number {
    return this.plot.height / this.plot.rowHeight;
  }

  get isUpwards(): boolean {
    return this.upwards;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.fitter = Fitter.on(this.canvas, this.font);
    this.paint();
  }

  setStyle(upwards: boolean, colourBy: ColourBy): void {
    this.upwards = upwards;
    this.colourBy = colourBy;
    this.paint();
  }

  /** Something else is asked for from now on. With `keep` the camera stays, as the boxes do; else it stands `at`. */
  renew(keep: boolean, searching: boolean, at = WHOLE): void {
    this.searching = searching;
    this.pending?.cancel();
    this.pending = null;
    this.asked = null;
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

  /** Zooms to a stretch of values; the row of `depth` stays in view with some of its callers. */
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
    this.drawOverlay();
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
    return unpack(this.colours[box] ?? 0);
  }

  learn(names: readonly FlameName[]): void {
    for (const name of names) this.names.set(name.name, name);
  }

  redraw(): void {
    if (this.frame !== 0) return;
    started(this, 'frame');
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      finished(this);
      this.step(now);
      this.draw();
    });
  }

  private get ratio(): number {
    return window.devicePixelRatio || 1;
  }

  private get font(): string {
    return `${FONT_CSS_PX * this.ratio}px ${this.theme?.font ?? 'sans-serif'}`;
  }

  private resize(): void {
    const width = Math.round(this.surface.clientWidth * this.ratio);
    const height = Math.round(this.surface.clientHeight * this.ratio);
    if (width === 0 || height === 0) return;
    if (width !== this.canvas.width || height !== this.canvas.height) {
      for (const canvas of [this.canvas, this.overlay]) Object.assign(canvas, { width, height });
      this.image = null;
    }
    this.stand(this.target);
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
    const { width, height } = this.canvas;
    if (this.surface.clientWidth === 0 || this.pending) return;
    const rows = Math.ceil(height / this.plot.rowHeight) + 1;
    if (this.asked && covers(this.asked, this.target, width, rows)) return;
    const request = requestFor(this.target, width, rows);
    const pending = this.events.ask(request);
    this.pending = pending;
    pending.answer.then(
      (result) => {
        if (this.pending !== pending) return;
        this.pending = null;
        this.asked = request;
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
        if (this.pending !== pending) return;
        this.pending = null;
        // the same question would fail again
        this.asked = request;
        if (isCancelled(error)) return;
        this.events.failed(error);
      },
    );
  }

  private paint(): void {
    if (!this.theme) return;
    const { geometry: g, colourBy } = this;
    if (g) this.colours = paintFlame(g, colourBy, this.searching, this.theme);
    this.marks = g && typeof colourBy === 'object' ? markBoxes(g, colourBy) : null;
    this.redraw();
  }

  private draw(): void {
    const { geometry: g, theme, plot } = this;
    const context = this.canvas.getContext('2d', { alpha: false });
    if (!context || !theme || plot.width === 0 || plot.height === 0) return;
    const start = performance.now();
    this.image ??= context.createImageData(plot.width, plot.height);
    const pixels = new Uint32Array(this.image.data.buffer);
    if (g) rasteriseFlame(pixels, plot, g, this.colours, this.camera, inkOf(theme), this.marks);
    else pixels.fill(inkOf(theme).background);
    context.putImageData(this.image, 0, 0);
    if (g) this.drawTexts(context, g);
    this.empty.hidden = !g || g.total > 0;
    this.drawOverlay();
    this.frameTimes.push(performance.now() - start);
    if (this.frameTimes.length > 240) this.frameTimes.shift();
    this.events.shown();
  }

  /** What is said when there is nothing to draw. */
  setEmpty(text: string): void {
    setText(this.empty, text);
  }

  private drawTexts(context: CanvasRenderingContext2D, g: FlameGeometry): void {
    const { plot, fitter, ratio } = this;
    if (!fitter) return;
    const padding = Math.round(PADDING_CSS_PX * ratio);
    context.font = this.font;
    context.textBaseline = 'middle';
    const [first, last] = depthsSeen(this.camera, plot);
    for (let depth = Math.max(first, g.firstDepth); depth < Math.min(last, g.firstDepth + g.rows); depth++) {
      const row = depth - g.firstDepth;
      const y = rowTop(depth, this.camera, plot) + plot.rowHeight / 2;
      const end = g.rowStart[row + 1] ?? 0;
      for (let box = firstBeyond(g, row, this.camera.x0 * g.total); box < end; box++) {
        const left = g.left[box] ?? 0;
        const x0 = pixelOf(left, g.total, this.camera, plot.width);
        if (x0 >= plot.width) break;
        const x1 = pixelOf(left + (g.value[box] ?? 0), g.total, this.camera, plot.width);
        const room = x1 - x0 - 2 * padding;
        if (room < 14 * ratio) continue;
        const { texts, mark, name } = this.textsOf(box);
        const whole = texts.find((each) => fitter.width(each) <= room);
        const text = whole ?? fitter.fit(name, room, mark);
        if (text === '') continue;
        const ink =
          (g.flags[box] ?? 0) & MORE ? this.theme?.foreground : inkOn(unpack(this.colours[box] ?? 0));
        context.fillStyle = css(ink ?? [0, 0, 0]);
        context.fillText(text, x0 + padding, y);
      }
    }
  }

  /** What may stand on a box, the best first; else its name, shortened, after a mark. */
  private textsOf(box: number): {
    readonly texts: readonly string[];
    readonly mark: string;
    readonly name: string;
  } {
    const facts = this.facts(box);
    if (!facts) return { texts: [], mark: '', name: '' };
    const known = facts.more ? undefined : this.names.get(facts.name);
    const name = facts.more
      ? t('{0} more', count(facts.name))
      : facts.node === 0
        ? t('all')
        : known
          ? nameText(known)
          : '';
    const { colourBy } = this;
    if (!facts.change || typeof colourBy !== 'object' || name === '')
      // only what is one line has one
      return {
        texts: known && known.line > 0 ? [`${name}  ${this.places.of(known)}`] : [],
        ...{ mark: '', name },
      };
    const { whole, scale } = colourBy;
    return {
      texts: [`${changeMark(facts.change, whole, scale)}  ${name}`],
      mark: `${arrowOf(facts.change, whole, scale)} `,
      name,
    };
  }

  private drawOverlay(): void {
    const { overlay, theme, ratio } = this;
    const context = overlay.getContext('2d');
    if (!context || !theme) return;
    context.clearRect(0, 0, overlay.width, overlay.height);
    const outline = (box: number, width: number, colour: string): void => {
      const rect = this.rectOf(box);
      if (!rect) return;
      context.strokeStyle = colour;
      context.lineWidth = width * ratio;
      const inset = (width * ratio) / 2;
      context.strokeRect(
        rect.x * ratio + inset,
        rect.y * ratio + inset,
        Math.max(rect.width * ratio - 2 * inset, 1),
        rect.height * ratio - 2 * inset,
      );
    };
    outline(this.hovered, 1, css(theme.foreground));
    outline(this.selectedBox(), 2, css(theme.foreground));
  }
}
