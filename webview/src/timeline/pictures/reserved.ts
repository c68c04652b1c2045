// Reserved memory over time, with what was active, allocated and requested under it and the gap in figures beside it.

import type { GapAnswer, ReservedAnswer } from '../../../../extension/shared/protocol.gen';
import type { Pending } from '../../api';
import { isCancelled } from '../../base/latest';
import type { TimelineContext } from '../../shell/context';
import { momentName, momentX } from '../cursors';
import { gapParts, gapSentence } from '../gap';
import type { Action } from '../../shell/keys';
import { PointerInput, type PointerActions } from '../input/pointer';
import { drawOverlay } from '../render/overlay';
import { overlayModel } from '../render/overlay-model';
import {
  fromPixelX,
  fromPixelY,
  panBy,
  zoomAt,
  type Camera,
  type Extent,
  type PlotSize,
} from '../../canvas/camera';
import { NO_BACKDROP } from '../scene/backdrop';
import { css } from '../../canvas/colour';
import { debounce, element, replace } from '../../widgets/dom';
import { bytes, exactBytes } from '../../base/format';
import type { MakePicture, Picture } from './picture';
import { columnAt, momentIn, shownKinds, unpackReserved, type ReservedColumns } from './reserved-data';
import { coloursOf, drawReserved, NAMES } from './reserved-draw';

const GUTTER = { left: 78, bottom: 22 };
const AIR = 1.08;
const STRETCH = 1.5;
const HOVER_REST_MS = 60;

export const reservedPicture: MakePicture = (context) =>
  context.info.devices.some(({ events }) => events > 0) ? new ReservedPicture(context) : null;

class ReservedPicture implements Picture {
  readonly id = 'reserved';
  readonly title = 'Reserved';
  readonly root: HTMLElement;
  private readonly surface: HTMLElement;
  private readonly canvas = element('canvas', { attributes: { 'aria-hidden': 'true' } });
  private readonly overlay = element('canvas', {
    class: 'plot-overlay',
    attributes: { 'aria-hidden': 'true' },
  });
  private readonly area: HTMLElement;
  private readonly legend = element('div', { class: 'reserved-legend' });
  private readonly facts = element('div', { class: 'reserved-facts' });
  private readonly tooltip = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });
  private shown = false;
  private size: PlotSize = { width: 0, height: 0 };
  private scale = 1;
  private height: { y0: number; y1: number } = { y0: 0, y1: 1 };
  private peak: GapAnswer | null = null;
  private at: GapAnswer | null = null;
  private data: ReservedColumns | null = null;
  private asked: { key: string; pending: Pending<ReservedAnswer> } | null = null;
  private pendingPeak: Pending<GapAnswer> | null = null;
  private pendingAt: Pending<GapAnswer> | null = null;
  private pendingHover: Pending<GapAnswer> | null = null;
  private drawnKey = '';
  private cursor: { x: number; y: number } | null = null;
  private box: { x0: number; y0: number; x1: number; y1: number } | null = null;
  private frame = 0;
  private readonly askHover = debounce(HOVER_REST_MS, () => {
    this.fetchHover();
  });

  constructor(private readonly context: TimelineContext) {
    this.surface = element(
      'div',
      {
        class: 'plot-surface',
        tabIndex: 0,
        role: 'application',
        attributes: { 'aria-roledescription': 'reserved memory over time' },
      },
      this.canvas,
    );
    this.area = element('div', { class: 'plot reserved-plot' }, this.surface, this.overlay, this.tooltip);
    this.root = element(
      'div',
      { class: 'reserved' },
      element('div', { class: 'reserved-main' }, this.legend, this.area),
      element('aside', { attributes: { 'aria-label': 'What is reserved' } }, this.facts),
    );
    new PointerInput(this.surface, this.pointer());
    new ResizeObserver(() => {
      this.measure();
    }).observe(this.area, { box: 'device-pixel-content-box' });
  }

  update(changes: ReadonlySet<string>): void {
    this.shown = true;
    if (changes.has('device')) this.turnTo();
    else if (changes.has('filter')) this.fetchPeak(this.context.device.device);
    if (changes.has('theme') || changes.has('filter')) this.drawLegend();
    if (changes.has('cursors') || changes.has('device') || changes.has('filter')) this.fetchAt();
    this.fetch();
    this.draw();
  }

  hide(): void {
    this.shown = false;
    this.asked?.pending.cancel();
    this.asked = null;
    this.hover(null);
  }

  focus(): void {
    this.surface.focus({ preventScroll: true });
  }

  dispose(): void {
    this.hide();
    cancelAnimationFrame(this.frame);
    for (const pending of [this.pendingPeak, this.pendingAt, this.pendingHover]) pending?.cancel();
  }

  /** What concerns the height, and moments, which only this picture knows while it is shown. */
  run(action: Action): boolean {
    const { camera, extent, context } = this;
    const middle = { x: (camera.x0 + camera.x1) / 2, y: camera.y0 };
    switch (action) {
      case 'zoomInHeight':
        this.setHeight(zoomAt(camera, extent, middle, 1, 1 / STRETCH));
        return true;
      case 'zoomOutHeight':
        this.setHeight(zoomAt(camera, extent, middle, 1, STRETCH));
        return true;
      case 'up':
        this.setHeight(panBy(camera, extent, 0, 0.15));
        return true;
      case 'down':
        this.setHeight(panBy(camera, extent, 0, -0.15));
        return true;
      case 'fit':
        this.setHeight({ y0: 0, y1: extent.top });
        return false;
      case 'peak':
        if (!this.peak) return false;
        this.goTo(momentX({ ...EMPTY, ...this.peak }, context.axis, extent.x0));
        return true;
      case 'cursorHere':
        if (this.data) context.cursors.place(momentIn(this.data, middle.x));
        return true;
      case 'secondCursorHere':
        if (this.data) context.cursors.extendTo(momentIn(this.data, middle.x));
        return true;
      default:
        return false;
    }
  }

  private get camera(): Camera {
    const { x0, x1 } = this.context.camera;
    return { x0, x1, ...this.height };
  }

  private get extent(): Extent {
    const { bounds } = this.context;
    const top = Math.max(this.peak?.gap.reserved_bytes ?? 1, 1) * AIR;
    return { ...bounds, top, minHeight: Math.min(bounds.minHeight, top) };
  }

  private goTo(x: number): void {
    const { camera, bounds } = this.context;
    const span = Math.min(camera.x1 - camera.x0, (bounds.x1 - bounds.x0) / 10);
    this.context.moveTo(x - span / 2, x + span / 2, true);
  }

  private setHeight({ y0, y1 }: { y0: number; y1: number }): void {
    this.height = { y0, y1 };
    this.draw();
  }

  private turnTo(): void {
    const { device } = this.context.device;
    this.asked?.pending.cancel();
    this.asked = null;
    this.data = null;
    this.drawnKey = '';
    this.peak = null;
    this.fetchPeak(device, () => {
      this.height = { y0: 0, y1: this.extent.top };
      this.updateLabel();
      this.draw();
    });
  }

  private fetchPeak(device: number, known: () => void = () => undefined): void {
    this.pendingPeak?.cancel();
    this.pendingPeak = this.ask(device, null, (answer) => {
      this.peak = answer;
      known();
      this.drawFacts();
    });
  }

  private ask(device: number, moment: number | null, use: (answer: GapAnswer) => void): Pending<GapAnswer> {
    const pending = this.context.api.request('memlens/gap', { device, moment, filter: this.context.filter });
    pending.answer.then(use, (error: unknown) => {
      this.failed(error);
    });
    return pending;
  }

  /** The file has segments, so what was reserved is known. */
  private get known(): boolean {
    return this.data?.known !== false;
  }

  private failed(error: unknown): void {
    if (!isCancelled(error)) this.context.failed(error);
  }

  private fetchAt(): void {
    this.pendingAt?.cancel();
    const { first } = this.context.cursors;
    if (!first) {
      this.at = null;
      this.drawFacts();
      return;
    }
    this.pendingAt = this.ask(this.context.device.device, first.moment, (answer) => {
      this.at = answer;
      this.drawFacts();
      this.context.say(`At ${momentNameOf(answer, this.context)}. ${gapSentence(answer.gap, this.known)}`);
    });
  }

  /** The columns in view; one request at a time, and when it is answered the next if the view has moved on. */
  private fetch(): void {
    const { context, size } = this;
    if (!this.shown || size.width === 0 || context.device.events === 0) return;
    const { x0, x1 } = context.camera;
    const params = {
      device: context.device.device,
      axis: context.axis,
      ...{ x0, x1, columns: Math.min(size.width, 8192), filter: context.filter },
    };
    const key = JSON.stringify(params);
    if (this.asked || key === this.drawnKey) return;
    const pending = context.api.request('memlens/reserved', params);
    this.asked = { key, pending };
    pending.answer.then(
      (answer) => {
        if (this.asked?.pending !== pending) return;
        this.asked = null;
        this.drawnKey = key;
        this.data = unpackReserved(answer, params.filter);
        this.root.dataset['state'] = 'ready';
        this.drawLegend();
        this.drawFacts();
        this.updateLabel();
        this.draw();
        this.fetch();
      },
      (error: unknown) => {
        if (this.asked?.pending !== pending) return;
        this.asked = null;
        this.drawnKey = key;
        this.failed(error);
      },
    );
  }

  private measure(): void {
    const scale = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.area;
    const width = Math.floor((clientWidth - GUTTER.left) * scale);
    const height = Math.floor((clientHeight - GUTTER.bottom) * scale);
    if (width < 1 || height < 1) return;
    this.scale = scale;
    this.size = { width, height };
    for (const [canvas, w, h] of [
      [this.canvas, width, height],
      [this.overlay, width + Math.round(GUTTER.left * scale), height + Math.round(GUTTER.bottom * scale)],
    ] as const) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = `${w / scale}px`;
      canvas.style.height = `${h / scale}px`;
    }
    this.surface.style.left = `${GUTTER.left}px`;
    this.surface.style.width = `${width / scale}px`;
    this.surface.style.height = `${height / scale}px`;
    this.fetch();
    this.draw();
  }

  private draw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.drawNow();
    });
  }

  private drawNow(): void {
    const { context, size, camera, scale } = this;
    const picture = this.canvas.getContext('2d');
    const lines = this.overlay.getContext('2d');
    if (!this.shown || !picture || !lines || size.width === 0) return;
    const { theme, device, axis } = context;
    if (this.data) drawReserved(picture, { data: this.data, camera, plot: size, theme });
    else picture.clearRect(0, 0, size.width, size.height);
    const { first, second } = context.cursors;
    const model = overlayModel(
      {
        ...{ camera, plot: size, scale, gutter: GUTTER, device, axis, theme },
        ...{ palette: context.palette, highlight: context.highlight, picture: null, labels: [] },
        ...{ stacked: false, figures: null },
        ...{ selectedRects: [], selectedLife: null, cursor: this.cursor, box: this.box },
        flags: context.flags.of(device.device, axis),
        backdrop: NO_BACKDROP,
        marks: [first, second].flatMap((moment) =>
          moment ? [{ x: momentX(moment, axis, context.bounds.x0), text: momentName(moment, axis) }] : [],
        ),
      },
      () => [],
    );
    const peak = this.peak && {
      x: momentX({ ...EMPTY, ...this.peak }, axis, context.bounds.x0),
      bytes: this.peak.gap.reserved_bytes,
      text: `${this.known ? 'Most reserved' : 'Most active'} ${bytes(this.peak.gap.reserved_bytes)}`,
    };
    drawOverlay(lines, { ...model, peak });
  }

  private drawLegend(): void {
    const colours = coloursOf(this.context.theme);
    replace(
      this.legend,
      ...shownKinds(this.context.filter, this.known).map((kind) => {
        const swatch = element('span', { class: 'swatch' });
        swatch.style.background = css(colours[kind]);
        return element('span', {}, swatch, NAMES[kind]);
      }),
      !this.known &&
        element(
          'span',
          { class: 'muted' },
          'The file has no segments, so what was reserved isn’t known: only blocks are.',
        ),
    );
  }

  /** The gap in figures: at the cursor, else where the most was reserved. */
  private drawFacts(): void {
    const answer = this.at ?? this.peak;
    if (!answer) return;
    const { gap, fitting_bytes } = answer;
    const most = this.known ? 'Where the most was reserved' : 'Where the most was active';
    const when = this.at ? `At ${momentNameOf(answer, this.context)}` : most;
    replace(
      this.facts,
      element(
        'table',
        {},
        element('caption', {}, when),
        element(
          'tbody',
          {},
          this.known
            ? factRow('Reserved', gap.reserved_bytes, 'what the allocator held', 'total')
            : factRow('Reserved', null, 'not in the file, which has no segments', 'total'),
          ...gapParts(gap).map((part) => factRow(part.name, part.bytes, part.why, 'part')),
          fitting_bytes !== null &&
            factRow('Fits the filter', fitting_bytes, 'a part of what was requested', 'total'),
          factRow('Allocated', gap.allocated_bytes, 'requested and rounding', 'total'),
          factRow('Active', gap.active_bytes, 'allocated and pending frees', 'total'),
          this.known &&
            gap.outside_bytes > 0 &&
            factRow('In no known segment', gap.outside_bytes, 'the file doesn’t say which segments', 'part'),
        ),
      ),
    );
  }

  private updateLabel(): void {
    const { device } = this.context;
    const most = this.peak ? ` At most ${gapSentence(this.peak.gap, this.known)}` : '';
    this.surface.setAttribute(
      'aria-label',
      `Reserved memory of ${device.name.toLowerCase()} over time.${most} Press m for a cursor, ? for the keys.`,
    );
  }

  // --- the pointer -------------------------------------------------------------------------------------------------

  private pointer(): PointerActions {
    const { context } = this;
    const momentAt = (x: number): number | null =>
      this.data && momentIn(this.data, fromPixelX(this.camera, this.size, x * this.scale));
    const perPixel = (): number => ((context.camera.x1 - context.camera.x0) * this.scale) / this.size.width;
    const show = (camera: Camera): void => {
      if (camera.y0 !== this.height.y0 || camera.y1 !== this.height.y1) this.setHeight(camera);
      context.moveTo(camera.x0, camera.x1, false);
    };
    const dataAt = (at: { x: number; y: number }): { x: number; y: number } => ({
      x: fromPixelX(this.camera, this.size, at.x * this.scale),
      y: fromPixelY(this.camera, this.size, at.y * this.scale),
    });
    return {
      hover: (at) => {
        this.hover(at);
      },
      click: (at, { extend }) => {
        const moment = momentAt(at.x);
        if (moment === null) return;
        if (extend) context.cursors.extendTo(moment);
        else context.cursors.place(moment);
      },
      doubleClick: () => undefined,
      drag: (dx) => {
        const { x0, x1 } = context.camera;
        context.moveTo(x0 - dx * perPixel(), x1 - dx * perPixel(), false);
      },
      wheel: (at, turn) => {
        const c = zoomAt(this.camera, this.extent, dataAt(at), turn.zoomX, turn.zoomY);
        const x = turn.panX * perPixel();
        show({ ...c, x0: c.x0 + x, x1: c.x1 + x });
      },
      pinch: (at, factor) => {
        show(zoomAt(this.camera, this.extent, dataAt(at), factor, 1));
      },
      box: (from, to) => {
        this.setBox(to && { x0: from.x, y0: from.y, x1: to.x, y1: to.y });
      },
      boxDone: (from, to) => {
        this.setBox(null);
        const [a, b] = [dataAt(from).x, dataAt(to).x];
        if (a !== b) context.moveTo(Math.min(a, b), Math.max(a, b), true);
      },
      span: (from, to, done) => {
        const height = this.size.height / this.scale;
        this.setBox(done ? null : { x0: from.x, y0: -1, x1: to.x, y1: height + 1 });
        const [a, b] = [momentAt(from.x), momentAt(to.x)];
        if (done && a !== null && b !== null) context.cursors.span(Math.min(a, b), Math.max(a, b));
      },
    };
  }

  private setBox(box: { x0: number; y0: number; x1: number; y1: number } | null): void {
    this.box = box;
    this.draw();
  }

  private hover(at: { x: number; y: number } | null): void {
    this.cursor = at;
    this.draw();
    if (at && this.data) {
      this.askHover();
      return;
    }
    this.askHover.cancel();
    this.pendingHover?.cancel();
    this.tooltip.hidden = true;
  }

  private fetchHover(): void {
    const { cursor, data } = this;
    if (!cursor || !data || !this.shown) return;
    const x = fromPixelX(this.camera, this.size, cursor.x * this.scale);
    const column = columnAt(data, x);
    this.pendingHover?.cancel();
    this.pendingHover = this.ask(this.context.device.device, data.last[column] ?? 0, (answer) => {
      if (this.cursor === cursor) this.showTooltip(answer, data, column, cursor);
    });
  }

  private showTooltip(
    answer: GapAnswer,
    data: ReservedColumns,
    column: number,
    { x, y }: { x: number; y: number },
  ): void {
    const [reserved] = data.kinds;
    const word = data.known ? 'reserved' : 'active';
    const [low, high] = [reserved?.lowest[column] ?? 0, reserved?.highest[column] ?? 0];
    replace(
      this.tooltip,
      element(
        'div',
        { class: 'tooltip-head' },
        element('strong', {}, bytes(answer.gap.reserved_bytes)),
        word,
      ),
      ...gapParts(answer.gap).map((part) =>
        element(
          'div',
          { class: 'reserved-part' },
          element('span', {}, bytes(part.bytes)),
          element('span', {}, `${part.name}: `, element('span', { class: 'muted' }, part.why)),
        ),
      ),
      answer.fitting_bytes !== null &&
        element(
          'div',
          { class: 'reserved-part' },
          element('span', {}, bytes(answer.fitting_bytes)),
          element('span', {}, 'of it fits the filter'),
        ),
      element('div', { class: 'muted' }, `at ${momentNameOf(answer, this.context)}`),
      low !== high &&
        element('div', { class: 'muted' }, `within this pixel ${bytes(low)} to ${bytes(high)} ${word}`),
    );
    this.tooltip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.tooltip;
    const at = x + GUTTER.left;
    const left = at + 16 + width > this.area.clientWidth ? at - 14 - width : at + 16;
    const top = Math.min(y + 14, this.area.clientHeight - height - 4);
    this.tooltip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }
}

const EMPTY = { live_bytes: 0, live_count: 0, is_peak: false };

function momentNameOf(answer: GapAnswer, context: TimelineContext): string {
  return momentName({ ...EMPTY, ...answer }, context.axis);
}

/** `size` is null where it isn't known. */
function factRow(name: string, size: number | null, why: string, kind: 'total' | 'part'): HTMLElement {
  return element(
    'tr',
    { class: kind },
    element(
      'th',
      { title: why, attributes: { scope: 'row' } },
      name,
      element('span', { class: 'muted reserved-why' }, why),
    ),
    size === null
      ? element('td', { class: 'number', title: 'Not known' }, '–')
      : element('td', { class: 'number', title: exactBytes(size) }, bytes(size)),
  );
}
