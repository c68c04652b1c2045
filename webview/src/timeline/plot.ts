// The picture on the screen: canvases, camera, frames. It knows nothing of panels, keys or the pointer.

import type { ViewResult } from '../../../extension/shared/messages';
import type { Geometry } from '../../../extension/shared/geometry';
import type { DeviceInfo, GroupedBy } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import type { Flag } from './flags';
import { PlotArea } from './plot-area';
import { NO_BACKDROP, type Backdrop } from './scene/backdrop';
import { RendererHost, type Preference } from './render/create';
import { FrameLoop } from '../canvas/frames';
import { labelSpots, type LabelSpot } from './render/labels';
import { rectsOf } from './render/outline';
import { drawOverlay, type OverlayModel, type PickedMoment } from './render/overlay';
import { overlayModel, type OverlayState } from './render/overlay-model';
import type { Painted } from './render/renderer';
import {
  between,
  clampCamera,
  fitAll,
  fromPixelX,
  fromPixelY,
  sameCamera,
  type Camera,
  type Extent,
  type PlotSize,
} from '../canvas/camera';
import { Feed } from './scene/feed';
import { covers, NOTHING_ASKED, requestFor, type Asked, type PictureRequest } from './scene/fetch';
import { fittedHeight } from './scene/height';
import { hitTest, visibleBox, type Hit } from './scene/hit';
import { paintBands, type Highlight, type Palette } from './scene/paint';
import { deviceExtent, type Axis } from '../shell/state';
import { debounce, element, setLabel } from '../widgets/dom';
import type { Theme } from '../canvas/theme';

export interface PlotEvents {
  ask(request: PictureRequest): Pending<ViewResult<'memlens/viewport'>>;
  /** The camera stands elsewhere; called once a frame at most. */
  moved(camera: Camera): void;
  /** A new picture is on the screen. */
  drawn(geometry: Geometry): void;
  failed(error: unknown): void;
  busy(busy: boolean): void;
  /** Another renderer took over. */
  rendererChanged(): void;
  /** What a band may be called, the best first. */
  textsOf(geometry: Geometry, band: number): readonly string[];
}

/** What is different in a picture that is not the stack of what is live. */
export interface PlotKind extends Pick<OverlayState, 'ticksY' | 'textY' | 'peakAtHeight'> {
  /** Its canvas' id. */
  readonly canvas: string;
  /** What it is to a screen reader. */
  readonly role: string;
  /** Whether its height is what is live, so that it can be fitted to a part of the run. */
  readonly fitsHeight: boolean;
  readonly extent: (device: DeviceInfo, axis: Axis) => Extent;
  /** More lines and words over the bands. */
  readonly decorate?: (context: CanvasRenderingContext2D, model: OverlayModel) => void;
}

const STACKED: PlotKind = {
  canvas: 'memlens-canvas',
  role: 'memory timeline',
  extent: deviceExtent,
  fitsHeight: true,
};

const REST_MS = 120;
const GLIDE_MS = 170;
/** A height that is off by no more needs no other. */
const ROUGHLY = 0.01;

export class Plot {
  readonly frames = new FrameLoop((now) => {
    this.frame(now);
  });
  /** Pictures drawn since the view was opened. */
  pictures = 0;

  private readonly area: PlotArea;
  private readonly renderer: RendererHost;
  private readonly feed: Feed;
  private readonly reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

  private device: DeviceInfo | null = null;
  private axis: Axis = 'event';
  private extent: Extent = { x0: 0, x1: 1, top: 1, minWidth: 1, minHeight: 1 };
  private view: Camera = { x0: 0, x1: 1, y0: 0, y1: 1 };
  private glide: { from: Camera; to: Camera; start: number | null } | null = null;
  private lastMove = 0;
  private readonly rested = debounce(REST_MS + 10, () => {
    this.redraw();
  });
  private stale = true;
  private reported = false;

  private theme: Theme | null = null;
  private palette: Palette | null = null;
  private highlight: Highlight = { kind: 'none' };
  /** What is pointed at in a legend or a table, instead of what is highlighted, for as long as it is. */
  private hint: Highlight | null = null;
  private asked: Asked = NOTHING_ASKED;
  private grouping: GroupedBy | null = null;
  /** Zooming in time leaves the height as it is: by the user's choice, or since a height was chosen by hand. */
  private holds = false;
  private byHand = false;
  private picture: Painted | null = null;
  private whole: Painted | null = null;
  private wholeAsked = false;
  private labels: LabelSpot[] = [];
  private selected: { allocation: number; life: { x0: number; x1: number } | null } | null = null;
  private selectedRects: number[] = [];
  private cursor: { x: number; y: number } | null = null;
  private marks: readonly PickedMoment[] = [];
  private flags: readonly Flag[] = [];
  private backdrop: Backdrop = NO_BACKDROP;
  /** Not on the screen: the camera still moves, for the pictures that follow it. */
  private hidden = false;
  private box: { x0: number; y0: number; x1: number; y1: number } | null = null;

  constructor(
    private readonly events: PlotEvents,
    prefer: Preference,
    private readonly kind: PlotKind = STACKED,
  ) {
    this.area = new PlotArea(kind.role, () => {
      this.renderer.resize(this.plotSize);
      this.area.cover(this.renderer.canvas);
      this.moved();
    });
    this.renderer = new RendererHost(
      this.surface,
      () => element('canvas', { id: kind.canvas, attributes: { 'aria-hidden': 'true' } }),
      () => {
        this.redraw();
        events.rendererChanged();
      },
      prefer,
    );
    this.feed = new Feed({
      ask: (request) => events.ask(request),
      deliver: (geometry, asked) => {
        this.deliver(geometry, asked);
      },
      failed: (error) => {
        events.failed(error);
      },
      busy: (busy) => {
        events.busy(busy);
      },
    });
  }

  get root(): HTMLElement {
    return this.area.root;
  }

  /** Takes the focus and the pointer. */
  get surface(): HTMLElement {
    return this.area.surface;
  }

  get rendererKind(): 'webgl2' | 'canvas2d' {
    return this.renderer.kind;
  }

  get highlighted(): Highlight {
    return this.highlight;
  }

  get camera(): Camera {
    return this.view;
  }

  /** Where the camera will be when it stands still. */
  get target(): Camera {
    return this.glide?.to ?? this.view;
  }

  get bounds(): Extent {
    return this.extent;
  }

  get plotSize(): PlotSize {
    return this.area.size;
  }

  get pixelRatio(): number {
    return this.area.scale;
  }

  get geometry(): Geometry | null {
    return this.picture?.geometry ?? null;
  }

  /** Another device or axis: a new world, of which nothing is known yet. */
  show(device: DeviceInfo, axis: Axis, camera: Camera | null): void {
    this.device = device;
    this.axis = axis;
    this.extent = this.kind.extent(device, axis);
    this.view = camera ? clampCamera(camera, this.extent) : fitAll(this.extent);
    this.byHand = this.view.y0 > 0;
    this.glide = null;
    this.selected = null;
    this.askAnew();
    this.dropPictures();
  }

  get grouped(): GroupedBy | null {
    return this.grouping;
  }

  /** By what the picture is grouped; null for the order of time. The old picture stays until the new one is there. */
  setGrouping(grouping: GroupedBy | null): void {
    this.grouping = grouping;
    this.whole = null;
    this.wholeAsked = false;
    this.askAnew();
    this.redraw();
  }

  get holdsHeight(): boolean {
    return this.holds;
  }

  /** Whether the height follows from the part of the run in view. */
  get followsHeight(): boolean {
    return this.kind.fitsHeight && !this.holds && !this.byHand;
  }

  /** Whether zooming in time leaves the height as it is. */
  setHold(holds: boolean): void {
    this.holds = holds;
    this.byHand = false;
    if (!holds) this.moveTo(this.target, true);
  }

  private dropPictures(): void {
    this.picture = null;
    this.whole = null;
    this.wholeAsked = false;
    this.labels = [];
    this.selectedRects = [];
    this.feed.reset();
    this.renderer.setPictures(null, null);
    this.moved();
  }

  /** What the next picture has to show. */
  private askAnew(): void {
    const { shownHighlight: shown, device } = this;
    const of = {
      device: device?.device ?? 0,
      kind: 'live',
      from_moment: 0,
      to_moment: device?.events ?? 0,
    } as const;
    const whole = { of: { ...of, filter: '', value: null }, narrow: '', attribution: 'mine' } as const;
    const areas = this.grouping;
    this.asked = {
      areas,
      lit:
        shown.kind === 'group'
          ? shown.branch
          : shown.kind === 'category' && areas
            ? { ...whole, by: ['category'], path: [shown.category] }
            : null,
      lit_stacks: shown.kind === 'stacks' && areas ? [...shown.stacks] : null,
    };
  }

  private get shownHighlight(): Highlight {
    return this.hint ?? this.highlight;
  }

  setTheme(theme: Theme, palette: Palette): void {
    this.theme = theme;
    this.palette = palette;
    this.renderer.setStyle(theme.picture);
    this.repaint();
  }

  setHighlight(highlight: Highlight): void {
    this.highlight = highlight;
    this.hint = null;
    this.askAnew();
    this.repaint();
  }

  /** Highlights what is pointed at elsewhere; null when nothing is any more. */
  setHint(hint: Highlight | null): void {
    if (hint === this.hint) return;
    this.hint = hint;
    this.askAnew();
    this.repaint();
  }

  setSelection(selected: { allocation: number; life: { x0: number; x1: number } | null } | null): void {
    this.selected = selected;
    this.findSelection();
    this.frames.request();
  }

  setCursor(cursor: { x: number; y: number } | null): void {
    this.cursor = cursor;
    this.frames.request();
  }

  /** The moments that the user picked. */
  setMarks(marks: readonly PickedMoment[]): void {
    this.marks = marks;
    this.frames.request();
  }

  /** The events that are marked. */
  setFlags(flags: readonly Flag[]): void {
    this.flags = flags;
    this.frames.request();
  }

  /** What the picture is measured against. */
  setBackdrop(backdrop: Backdrop): void {
    this.backdrop = backdrop;
    this.frames.request();
  }

  setHidden(hidden: boolean): void {
    if (hidden === this.hidden) return;
    this.hidden = hidden;
    this.root.hidden = hidden;
    this.redraw();
  }

  setBox(box: { x0: number; y0: number; x1: number; y1: number } | null): void {
    this.box = box;
    this.frames.request();
  }

  setLabel(label: string): void {
    setLabel(this.surface, label);
  }

  /** Names were learnt: bands may be called something now. */
  renamed(): void {
    this.frames.request();
  }

  moveTo(camera: Camera, glide: boolean): void {
    const to = this.fitted(clampCamera(camera, this.extent));
    if (glide && !this.reducedMotion.matches) {
      this.glide = { from: this.view, to, start: null };
      this.frames.request();
      return;
    }
    this.glide = null;
    if (sameCamera(to, this.view)) return;
    this.view = to;
    this.moved();
  }

  /** A camera as high as what it shows, unless its height was chosen. */
  private fitted(to: Camera): Camera {
    const { target, extent } = this;
    if (!this.kind.fitsHeight) return to;
    const everything = to.y0 <= 0 && to.y1 >= extent.top;
    if (everything) this.byHand = false;
    else if (!sameHeight(to, target) && !sameHeight(to, this.view)) this.byHand = true;
    if (this.holds || this.byHand) return to;
    const pictures = [this.picture, this.whole].flatMap((each) => each?.geometry ?? []);
    const y1 = fittedHeight(pictures, to, extent);
    return y1 === null ? to : { ...to, y0: 0, y1 };
  }

  /** What lies at a point of the surface, in CSS pixels. */
  hit(x: number, y: number): Hit | null {
    const g = this.geometry;
    return g ? hitTest(g, this.view, this.plotSize, x * this.pixelRatio, y * this.pixelRatio) : null;
  }

  /** Data coordinates of a point of the surface, in CSS pixels. */
  dataAt(x: number, y: number): { x: number; y: number } {
    return {
      x: fromPixelX(this.view, this.plotSize, x * this.pixelRatio),
      y: fromPixelY(this.view, this.plotSize, y * this.pixelRatio),
    };
  }

  /** The moment that the picture shows at a place of the x axis: a column's highest. */
  momentAt(x: number): number {
    const g = this.geometry;
    if (!g || g.columns === 0) return this.axis === 'event' ? Math.max(0, Math.floor(x)) : 0;
    const column = Math.floor(((x - g.x0) / (g.x1 - g.x0)) * g.columns);
    return g.moment[Math.min(Math.max(column, 0), g.columns - 1)] ?? 0;
  }

  /** The largest visible part of an allocation's band, in CSS pixels of the canvas. */
  rectOf(allocation: number): { x: number; y: number; width: number; height: number } | null {
    const g = this.geometry;
    const box = g ? visibleBox(g, this.view, this.plotSize, allocation) : null;
    if (!box) return null;
    const k = 1 / this.pixelRatio;
    return { x: box.x * k, y: box.y * k, width: box.width * k, height: box.height * k };
  }

  /** The pixel at a point of the surface, in CSS pixels, as drawn now. */
  pixel(x: number, y: number): [number, number, number, number] {
    return this.renderer.readPixel(this.view, x * this.pixelRatio, y * this.pixelRatio);
  }

  redraw(): void {
    this.stale = true;
    this.frames.request();
  }

  dispose(): void {
    this.frames.stop();
    this.rested.cancel();
    this.feed.reset();
    this.area.dispose();
    this.renderer.dispose();
  }

  private deliver(geometry: Geometry, asked: PictureRequest): void {
    const painted = this.paint(geometry);
    const everything = covers(asked, fitAll(this.extent), this.plotSize);
    if (everything) this.whole = painted;
    this.picture = painted;
    this.labels = labelSpots(geometry);
    this.findSelection();
    this.renderer.setPictures(this.picture, this.whole);
    this.pictures++;
    this.redraw();
    this.fitHeight();
    this.events.drawn(geometry);
  }

  /** The picture that came knows better how high the memory is that is in view. */
  private fitHeight(): void {
    if (this.glide) return;
    const { y1 } = this.fitted(this.view);
    if (Math.abs(y1 - this.view.y1) > ROUGHLY * this.view.y1) this.moveTo(this.view, true);
  }

  /** A picture of the whole run to show where the present one ends, when the view was not opened on all of it. */
  private fetchWhole(): void {
    if (this.whole || this.wholeAsked || !this.picture) return;
    this.wholeAsked = true;
    const feed = new Feed({
      ask: (request) => this.events.ask(request),
      deliver: (geometry) => {
        if (this.extent !== extent) return;
        this.whole = this.paint(geometry);
        this.renderer.setPictures(this.picture, this.whole);
        this.redraw();
      },
      failed: () => undefined, // it is only a backdrop
      busy: () => undefined,
    });
    const { extent } = this;
    const all = fitAll(extent);
    feed.update(all, extent, this.plotSize, requestFor(all, extent, this.plotSize, this.asked), true);
  }

  private paint(geometry: Geometry): Painted {
    const colours = this.palette
      ? paintBands(geometry, this.palette, this.shownHighlight, this.kind.fitsHeight)
      : new Uint32Array(geometry.bands);
    return { geometry, colours };
  }

  private repaint(): void {
    if (this.picture) {
      const whole = this.whole === this.picture;
      this.picture = this.paint(this.picture.geometry);
      this.whole = whole ? this.picture : this.whole && this.paint(this.whole.geometry);
      this.renderer.setPictures(this.picture, this.whole);
    }
    this.redraw();
  }

  private findSelection(): void {
    const g = this.geometry;
    this.selectedRects = g && this.selected ? rectsOf(g, this.selected.allocation) : [];
  }

  private moved(): void {
    this.stale = true;
    this.reported = false;
    this.lastMove = performance.now();
    this.rested();
    this.frames.request();
  }

  private frame(now: number): void {
    this.advance(now);
    if (this.hidden) {
      this.report();
      return;
    }
    if (this.plotSize.width === 0 || !this.theme || !this.palette || !this.device) return;
    const resting = !this.glide && performance.now() - this.lastMove >= REST_MS;
    if (this.stale) this.renderer.draw(this.view, resting);
    this.stale = false;
    this.drawOverlay(this.device, this.theme, this.palette);
    this.report();
    this.feed.update(
      this.view,
      this.extent,
      this.plotSize,
      requestFor(this.view, this.extent, this.plotSize, this.asked),
      resting,
    );
    // The host answers the latest of both alone, so this one waits for that of the view.
    if (resting && !this.feed.asking) this.fetchWhole();
  }

  private report(): void {
    if (this.reported) return;
    this.reported = true;
    this.events.moved(this.view);
  }

  private advance(now: number): void {
    const { glide } = this;
    if (!glide) return;
    glide.start ??= now;
    const share = Math.min((now - glide.start) / GLIDE_MS, 1);
    this.view = between(glide.from, glide.to, 1 - (1 - share) ** 3);
    if (share >= 1) this.glide = null;
    this.moved();
  }

  private drawOverlay(device: DeviceInfo, theme: Theme, palette: Palette): void {
    const context = this.area.overlay.getContext('2d');
    if (!context) return;
    const state: OverlayState = {
      camera: this.view,
      plot: this.plotSize,
      scale: this.pixelRatio,
      gutter: this.area.gutter,
      device,
      axis: this.axis,
      ticksY: this.kind.ticksY,
      textY: this.kind.textY,
      peakAtHeight: this.kind.peakAtHeight,
      theme,
      palette,
      highlight: this.shownHighlight,
      picture: this.geometry,
      stacked: this.kind.fitsHeight,
      labels: this.labels,
      selectedRects: this.selectedRects,
      selectedLife: this.selected?.life ?? null,
      cursor: this.cursor,
      marks: this.marks,
      flags: this.flags,
      backdrop: this.backdrop,
      box: this.box,
    };
    drawOverlay(
      context,
      overlayModel(state, (geometry, band) => this.events.textsOf(geometry, band)),
      this.kind.decorate,
    );
  }
}

/** Zooming about a point leaves heights as they are up to rounding. */
function sameHeight(a: Camera, b: Camera): boolean {
  const slack = (b.y1 - b.y0) * 1e-6;
  return Math.abs(a.y0 - b.y0) <= slack && Math.abs(a.y1 - b.y1) <= slack;
}
