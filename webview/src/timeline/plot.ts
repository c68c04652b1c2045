// The picture on the screen: what it asks for, paints and marks. It knows nothing of panels, keys or the pointer.

import { batch, signal, type ReadonlySignal } from '@preact/signals';
import type { Geometry } from '../../../extension/shared/geometry';
import type { ViewResult } from '../../../extension/shared/messages';
import type { DeviceInfo, GroupedBy } from '../../../extension/shared/protocol.gen';
import type { Flag, PickedMoment } from '../canvas/marks';
import { using } from '../base/follow';
import { bandTexts } from '../base/format';
import type { Pending } from '../base/request';
import { PlotArea } from './plot-area';
import { PlotCamera } from './plot-camera';
import { NO_BACKDROP, type Backdrop } from './scene/backdrop';
import { RendererHost, type Preference } from './render/create';
import { labelSpots, type LabelSpot } from './render/labels';
import { rectsOf } from './render/outline';
import { drawOverlay } from './render/overlay';
import { overlayModel, type OverlayState } from './render/overlay-model';
import type { Painted } from './render/renderer';
import { fitAll, type Camera, type Extent, type PlotSize } from '../canvas/camera';
import { Feed } from './scene/feed';
import { askedFor, covers, NOTHING_ASKED, requestFor, type Asked, type PictureRequest } from './scene/fetch';
import { hitTest, visibleBox, type Hit } from './scene/hit';
import { paintBands, type Highlight } from './scene/paint';
import type { Palette } from '../canvas/palette';
import type { Axis } from '../base/devices';
import { debounce, element } from '../widgets/dom';
import { theme } from '../canvas/theme';
import { STACKED, type PlotKind } from './plot-kind';
import type { ShownTrace } from './shown-trace';

const REST_MS = 120;

/** What of its view a picture asks about. */
type PlotContext = ShownTrace & { readonly renderer: Preference };

export class Plot {
  /** Pictures drawn since the view was opened. */
  pictures = 0;
  /** The latest picture, and whether it is of what is asked for now. */
  readonly drawn = signal<Geometry | null>(null);
  readonly isDrawn = signal(false);
  /** The part of the run that is on the screen: another object in each frame that moves. */
  readonly seen = signal<Camera>({ x0: 0, x1: 1, y0: 0, y1: 1 });

  private readonly area: PlotArea;
  private readonly renderer: RendererHost;
  private readonly feed: Feed;
  private readonly looking: PlotCamera;

  private device: DeviceInfo | null = null;
  private axis: Axis = 'event';
  private lastMove = 0;
  private readonly rested = debounce(REST_MS + 10, () => this.redraw());
  private stale = true;
  private reported = false;

  private palette: Palette | null = null;
  private highlight: Highlight = { kind: 'none' };
  /** What is pointed at in a legend or a table, instead of what is highlighted, for as long as it is. */
  private hint: Highlight | null = null;
  private asked: Asked = NOTHING_ASKED;
  private grouping: GroupedBy | null = null;
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
  private readonly endings: readonly (() => void)[];

  constructor(
    private readonly context: PlotContext,
    private readonly kind: PlotKind = STACKED,
  ) {
    this.area = new PlotArea({
      class: '',
      roleDescription: kind.role,
      layers: 0,
      draw: (now) => this.frame(now),
      resized: () => {
        this.renderer.resize(this.plotSize);
        this.moved();
      },
    });
    this.looking = new PlotCamera(
      () => [this.picture, this.whole].flatMap((each) => each?.geometry ?? []),
      kind.fitsHeight,
    );
    this.renderer = new RendererHost(
      this.surface,
      () => element('canvas', { id: kind.canvas, attributes: { 'aria-hidden': 'true' } }),
      () => this.redraw(),
      context.renderer,
    );
    this.feed = new Feed(
      this.ask,
      (geometry, asked) => this.deliver(geometry, asked),
      (error) => context.failed(error),
    );
    const { seen, glide } = this.looking;
    this.endings = [
      using(
        () => seen.value,
        () => this.moved(),
      ),
      using(() => glide.value, this.area.request),
    ];
  }

  private readonly ask = (request: PictureRequest): Pending<ViewResult<'memlens/viewport'>> => {
    const { context, kind } = this;
    const of = { device: context.device.device, axis: context.axis, filter: context[kind.filter] };
    return context.api.request(kind.method, { ...of, ...request });
  };

  get busy(): ReadonlySignal<boolean> {
    return this.feed.busy;
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

  /** Milliseconds of scripting of the latest frames. */
  get frameTimes(): readonly number[] {
    return this.area.frames.times;
  }

  get highlighted(): Highlight {
    return this.highlight;
  }

  get camera(): Camera {
    return this.looking.view;
  }

  /** Where the camera will be when it stands still. */
  get target(): Camera {
    return this.looking.target;
  }

  get bounds(): Extent {
    return this.looking.extent;
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
    this.isDrawn.value = false;
    this.looking.stand(this.kind.extent(device, axis), camera);
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
    this.isDrawn.value = false;
    this.whole = null;
    this.wholeAsked = false;
    this.askAnew();
    this.redraw();
  }

  get holdsHeight(): boolean {
    return this.looking.holdsHeight;
  }

  /** Whether the height follows from the part of the run in view. */
  get followsHeight(): boolean {
    return this.looking.followsHeight;
  }

  /** Whether zooming in time leaves the height as it is. */
  setHold(holds: boolean): void {
    this.looking.setHold(holds);
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
    this.asked = askedFor(this.shownHighlight, this.grouping, this.device);
  }

  private get shownHighlight(): Highlight {
    return this.hint ?? this.highlight;
  }

  /** The colours of what is drawn, or the theme, are others. */
  setPalette(palette: Palette): void {
    this.palette = palette;
    this.renderer.setStyle(theme.value.picture);
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
    this.area.request();
  }

  setCursor(cursor: { x: number; y: number } | null): void {
    this.cursor = cursor;
    this.area.request();
  }

  /** The moments that the user picked. */
  setMarks(marks: readonly PickedMoment[]): void {
    this.marks = marks;
    this.area.request();
  }

  /** The events that are marked. */
  setFlags(flags: readonly Flag[]): void {
    this.flags = flags;
    this.area.request();
  }

  /** What the picture is measured against. */
  setBackdrop(backdrop: Backdrop): void {
    this.backdrop = backdrop;
    this.area.request();
  }

  setHidden(hidden: boolean): void {
    if (hidden === this.hidden) return;
    this.hidden = hidden;
    this.root.hidden = hidden;
    this.redraw();
  }

  setBox(box: { x0: number; y0: number; x1: number; y1: number } | null): void {
    this.box = box;
    this.area.request();
  }

  setLabel(label: string): void {
    this.area.setLabel(label);
  }

  /** Names were learnt: bands may be called something now. */
  renamed(): void {
    this.area.request();
  }

  focus(): void {
    this.area.focus();
  }

  moveTo(camera: Camera, glide: boolean): void {
    this.looking.moveTo(camera, glide);
  }

  /** What lies at a point of the surface, in CSS pixels. */
  hit(x: number, y: number): Hit | null {
    const g = this.geometry;
    return g ? hitTest(g, this.camera, this.plotSize, x * this.pixelRatio, y * this.pixelRatio) : null;
  }

  /** Data coordinates of a point of the surface, in CSS pixels. */
  dataAt(x: number, y: number): { x: number; y: number } {
    return this.looking.dataAt(this.plotSize, x * this.pixelRatio, y * this.pixelRatio);
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
    const box = g ? visibleBox(g, this.camera, this.plotSize, allocation) : null;
    if (!box) return null;
    const k = 1 / this.pixelRatio;
    return { x: box.x * k, y: box.y * k, width: box.width * k, height: box.height * k };
  }

  /** The pixel at a point of the surface, in CSS pixels, as drawn now. */
  pixel(x: number, y: number): [number, number, number, number] {
    return this.renderer.readPixel(this.camera, x * this.pixelRatio, y * this.pixelRatio);
  }

  redraw(): void {
    this.stale = true;
    this.area.request();
  }

  dispose(): void {
    for (const end of this.endings) end();
    this.rested.cancel();
    this.feed.reset();
    this.area.dispose();
    this.renderer.dispose();
  }

  private deliver(geometry: Geometry, asked: PictureRequest): void {
    const painted = this.paint(geometry);
    const everything = covers(asked, fitAll(this.bounds), this.plotSize);
    if (everything) this.whole = painted;
    this.picture = painted;
    this.labels = labelSpots(geometry);
    this.findSelection();
    this.renderer.setPictures(this.picture, this.whole);
    this.pictures++;
    this.redraw();
    this.looking.fitHeight();
    batch(() => {
      this.drawn.value = geometry;
      this.isDrawn.value = true;
    });
  }

  /** A picture of the whole run to show where the present one ends, when the view was not opened on all of it. */
  private fetchWhole(): void {
    if (this.whole || this.wholeAsked || !this.picture) return;
    this.wholeAsked = true;
    const feed = new Feed(
      this.ask,
      (geometry) => {
        if (this.bounds !== extent) return;
        this.whole = this.paint(geometry);
        this.renderer.setPictures(this.picture, this.whole);
        this.redraw();
      },
      () => undefined, // it is only a backdrop
    );
    const { bounds: extent } = this;
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
    this.area.request();
  }

  private frame(now: number): void {
    this.looking.advance(now);
    if (this.hidden) {
      this.report();
      return;
    }
    const { camera, bounds, plotSize } = this;
    if (plotSize.width === 0 || !this.palette || !this.device) return;
    const resting = !this.looking.glides && performance.now() - this.lastMove >= REST_MS;
    if (this.stale) this.renderer.draw(camera, resting);
    this.stale = false;
    this.drawOverlay(this.device, this.palette);
    this.report();
    this.feed.update(camera, bounds, plotSize, requestFor(camera, bounds, plotSize, this.asked), resting);
    // The host answers the latest of both alone, so this one waits for that of the view.
    if (resting && !this.feed.asking) this.fetchWhole();
  }

  private report(): void {
    if (this.reported) return;
    this.reported = true;
    this.seen.value = { ...this.camera };
  }

  /** What a band may be called, the best first. */
  private textsOf({ allocation, size, stack }: Geometry, band: number): readonly string[] {
    const { names } = this.context;
    const known = names.allocation(allocation[band] ?? -1);
    return bandTexts(size[band] ?? 0, known ?? names.stack(stack[band] ?? -1));
  }

  private drawOverlay(device: DeviceInfo, palette: Palette): void {
    const context = this.area.overlay.getContext('2d');
    if (!context) return;
    const { camera, plotSize: plot, pixelRatio: scale, axis, geometry: picture, kind } = this;
    const { labels, selectedRects, cursor, marks, flags, backdrop, box } = this;
    const state: OverlayState = {
      camera,
      plot,
      scale,
      gutter: this.area.gutter,
      device,
      axis,
      theme: theme.value,
      palette,
      ticksY: kind.ticksY,
      textY: kind.textY,
      peakAtHeight: kind.peakAtHeight,
      highlight: this.shownHighlight,
      picture,
      stacked: kind.fitsHeight,
      labels,
      selectedRects,
      selectedLife: this.selected?.life ?? null,
      cursor,
      marks,
      flags,
      backdrop,
      box,
    };
    drawOverlay(
      context,
      overlayModel(state, (geometry, band) => this.textsOf(geometry, band)),
      this.kind.decorate,
    );
  }
}
