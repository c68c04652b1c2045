// Two runs on one axis: both curves, what lies between them, and which lies where.

import { t } from '../../base/l10n';
import type {
  CompareMomentsResult,
  CurvesAnswer,
  MomentAnswer,
} from '../../../../extension/shared/protocol.gen';
import { RequestError, type Pending } from '../../api';
import { Latest } from '../../base/latest';
import { direction, signed } from '../../compare/comparison';
import type { Change, TimelineContext } from '../../shell/context';
import { momentName, momentX } from '../cursors';
import type { Action } from '../../shell/keys';
import { compareNotice } from '../../compare/bar';
import { parseColour, type Rgb } from '../../canvas/colour';
import { hasTimes } from '../../shell/state';
import { settingsButton } from '../../shell/settings';
import { Choice } from '../../widgets/choice';
import { element, replace, setText } from '../../widgets/dom';
import { bytes, count, time } from '../../base/format';
import { visible } from '../../base/text';
import { drawCompare, GUTTERS, type CompareLook } from './compare-draw';
import { columnAt, curvesOf, heightsAt, stepAt, within, type Curves, type Height } from './compare-scene';
import type { MakePicture, Picture } from './picture';

const ZOOM = 1.5;
const MOST_COLUMNS = 4096;
const CLICK_PX = 4;

interface Range {
  readonly x0: number;
  readonly x1: number;
}
type Align = 'time' | 'event' | 'step';

export const comparePicture: MakePicture = (context) => new ComparePicture(context);

class ComparePicture implements Picture {
  readonly id = 'compare';
  readonly title = t('Compare');
  readonly root = element('section', { class: 'compare-picture' });
  private readonly align: Choice<Align>;
  private readonly offset: HTMLInputElement;
  private readonly unit = element('span', { class: 'muted' });
  private readonly readout = element('div', { class: 'compare-readout', role: 'status' });
  private readonly legend = element('div', { class: 'compare-legend' });
  /** How the steps are known that lie on each other. */
  private readonly heightsText = element('p', {
    class: 'compare-heights muted',
    role: 'status',
    hidden: true,
  });
  private readonly problem = element('div', { class: 'compare-problem', role: 'alert', hidden: true });
  private readonly canvas = element('canvas', { attributes: { 'aria-hidden': 'true' } });
  private readonly tooltip = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });
  private readonly surface: HTMLElement;
  private readonly content: HTMLElement;
  private curves: Curves | null = null;
  /** What is in view; null for all that both runs take up. */
  private range: Range | null = null;
  private readonly latest = new Latest();
  private asked = '';
  /** The question about the cursor. */
  private heights: Pending<CompareMomentsResult> | null = null;
  private askedHeights = '';
  private pointer: number | null = null;
  private look: CompareLook | null = null;
  private moving = false;
  private frame = 0;

  constructor(private readonly context: TimelineContext) {
    const { compare } = context;
    this.align = new Choice(
      t('Align by'),
      [
        { value: 'time', text: t('By time'), title: t('Both from their first event on') },
        { value: 'event', text: t('By event'), title: t('The same number of events') },
        { value: 'step', text: t('By step'), title: t('Each step of the one on that of the other') },
      ],
      (value) => {
        this.range = null;
        if (value !== 'step') context.setAxis(value);
        compare.set({ byStep: value === 'step', offset: 0 });
      },
    );
    this.offset = element('input', {
      class: 'compare-offset',
      type: 'number',
      title: t('How far the other run is moved to the right'),
      attributes: { 'aria-label': t('Offset of the other run'), step: 'any' },
      on: {
        change: () => {
          const value = Number(this.offset.value);
          if (Number.isFinite(value)) compare.set({ offset: value * this.offsetUnit().size });
        },
        keydown: (event) => {
          event.stopPropagation();
        },
      },
    });
    this.surface = element(
      'div',
      {
        class: 'compare-surface',
        tabIndex: 0,
        role: 'application',
        attributes: { 'aria-roledescription': t('two memory timelines') },
      },
      this.canvas,
      this.problem,
      this.tooltip,
    );
    this.content = element(
      'div',
      { class: 'compare-content' },
      element(
        'div',
        { class: 'compare-controls', role: 'toolbar', attributes: { 'aria-label': t('Both timelines') } },
        this.align.root,
        this.legend,
        this.readout,
        settingsButton(t('Timeline settings'), [
          {
            text: t('Offset'),
            control: element('label', { class: 'compare-moved' }, this.offset, ' ', this.unit),
          },
        ]),
      ),
      this.surface,
      this.heightsText,
    );
    this.listen();
  }

  update(changes: ReadonlySet<Change>): void {
    const notice = compareNotice(this.context);
    if (notice) {
      this.latest.cancel();
      this.curves = null;
      this.asked = '';
      if (changes.has('compare') || !this.root.hasChildNodes() || this.content.isConnected)
        replace(this.root, notice);
      return;
    }
    if (this.content.parentElement !== this.root) replace(this.root, this.content);
    if (changes.has('theme') || !this.look) this.look = this.readLook();
    if (changes.has('axis') || changes.has('device')) this.range = null;
    else if (changes.has('camera') && !this.moving) this.follow();
    if (changes.has('compare') || changes.has('device') || changes.has('axis') || changes.has('theme'))
      this.updateControls();
    this.request();
  }

  hide(): void {
    this.latest.cancel();
    this.asked = '';
    this.heights?.cancel();
    this.heights = null;
    this.askedHeights = '';
    this.tooltip.hidden = true;
  }

  focus(): void {
    this.surface.focus({ preventScroll: true });
  }

  dispose(): void {
    this.hide();
  }

  run(action: Action): boolean {
    const { curves, context } = this;
    if (!curves) return false;
    const { x0, x1 } = this.shown(curves);
    const span = x1 - x0;
    const middle = (x0 + x1) / 2;
    switch (action) {
      case 'fit':
        this.lookAt(null);
        return true;
      case 'zoomIn':
      case 'zoomOut':
        this.zoom(action === 'zoomIn' ? 1 / ZOOM : ZOOM, middle);
        return true;
      case 'left':
      case 'right':
      case 'farLeft':
      case 'farRight': {
        const by =
          (action.startsWith('far') ? 1 : 0.15) * span * (action.toLowerCase().endsWith('left') ? -1 : 1);
        this.lookAt({ x0: x0 + by, x1: x1 + by });
        return true;
      }
      case 'cursorHere':
        context.cursors.place(this.momentAt(curves, middle));
        return true;
      case 'secondCursorHere':
        context.cursors.extendTo(this.momentAt(curves, middle));
        return true;
      case 'up':
      case 'down':
      case 'zoomInHeight':
      case 'zoomOutHeight':
        return true; // the height is always that of both peaks
      default:
        return false;
    }
  }

  // --- what is in view ---------------------------------------------------------------------------------------------

  private shown(curves: Curves): Range {
    return this.range ?? curves.extent;
  }

  /** The camera was moved elsewhere (by the minimap, or in another picture). */
  private follow(): void {
    const { camera, bounds } = this.context;
    const all = camera.x0 <= bounds.x0 && camera.x1 >= bounds.x1;
    this.range = all ? null : { x0: camera.x0, x1: camera.x1 };
  }

  private lookAt(range: Range | null): void {
    const { curves, context } = this;
    if (!curves) return;
    const next = range && within(range, curves.extent, context.bounds.minWidth);
    const all = !next || next.x1 - next.x0 >= (curves.extent.x1 - curves.extent.x0) * 0.9999;
    this.range = all ? null : next;
    // The other run may reach beyond this one's; the shared camera then shows as much as there is.
    this.moving = true;
    if (this.range) context.moveTo(this.range.x0, this.range.x1, false);
    else context.moveTo(context.bounds.x0, context.bounds.x1, false);
    this.moving = false;
    this.request();
  }

  private zoom(factor: number, at: number): void {
    if (!this.curves) return;
    const { x0, x1 } = this.shown(this.curves);
    this.lookAt({ x0: at + (x0 - at) * factor, x1: at + (x1 - at) * factor });
  }

  private momentAt(curves: Curves, x: number): number {
    const column = columnAt(curves, x);
    if (column !== null) return curves.moments[column] ?? 0;
    return x < curves.x0 ? 0 : (curves.moments.at(-1) ?? 0);
  }

  // --- asking and drawing ------------------------------------------------------------------------------------------

  private request(): void {
    const { context, range } = this;
    const { open } = context.compare;
    this.draw();
    const width = Math.round(this.surface.clientWidth - GUTTERS.left - GUTTERS.right);
    if (!open || width < 8 || this.root.hidden) return;
    const params = {
      device: context.device.device,
      other_device: open.device.device,
      alignment: context.compare.alignment(context.axis),
      x0: range?.x0 ?? null,
      x1: range?.x1 ?? null,
      columns: Math.min(Math.max(Math.round(width * devicePixelRatio), 16), MOST_COLUMNS),
      filter: context.filter,
    };
    const key = JSON.stringify([params, context.compare.other?.uri]);
    this.askHeights(context.cursors.first);
    if (key === this.asked) return;
    this.asked = key;
    this.latest.ask(
      context.api.request('memlens/compareCurves', params),
      (answer) => {
        this.curves = curvesOf(answer);
        this.showSteps(answer);
        this.problem.hidden = true;
        this.root.dataset['drawn'] = String(Number(this.root.dataset['drawn'] ?? 0) + 1);
        this.draw();
      },
      (error) => {
        this.failed(error);
      },
    );
  }

  private failed(error: unknown): void {
    this.curves = null;
    this.heightsText.hidden = true;
    const { axis, compare } = this.context;
    const retry =
      axis === 'time' || compare.settings.byStep
        ? element(
            'button',
            {
              class: 'button',
              type: 'button',
              on: {
                click: () => {
                  this.context.setAxis('event');
                  compare.set({ byStep: false, offset: 0 });
                },
              },
            },
            t('Compare by event'),
          )
        : null;
    const advice = error instanceof RequestError ? error.problem.advice : '';
    replace(
      this.problem,
      element('p', {}, error instanceof Error ? error.message : String(error)),
      advice !== '' && element('p', { class: 'muted' }, element('bdi', {}, visible(advice))),
      retry,
    );
    this.problem.hidden = false;
    this.draw();
  }

  private draw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.drawNow();
    });
  }

  private drawNow(): void {
    const { curves, context, look } = this;
    const { clientWidth: width, clientHeight: height } = this.surface;
    if (!look || width === 0 || height === 0) return;
    if (!curves) {
      this.canvas.getContext('2d')?.clearRect(0, 0, this.canvas.width, this.canvas.height);
      return;
    }
    const { first, second } = context.cursors;
    const marks = [first, second].flatMap((moment) =>
      moment
        ? [{ x: momentX(moment, context.axis, context.bounds.x0), text: momentName(moment, context.axis) }]
        : [],
    );
    const scene = {
      ...{ curves, marks, range: this.shown(curves), axis: context.axis, pointer: this.pointer },
      otherFirst: context.compare.settings.otherFirst,
    };
    drawCompare(this.canvas, { width, height }, scene, look);
    const { before, after } = context.compare.names(context.device);
    this.surface.setAttribute(
      'aria-label',
      [
        context.axis === 'time'
          ? t('Memory of {0} and {1} over time.', before, after)
          : t('Memory of {0} and {1} over events.', before, after),
        t(
          'M puts a cursor into the middle, comma and full stop move it; what both hold there is shown above.',
        ),
      ].join(' '),
    );
  }

  /** What both held at the cursor, to the byte: a column of the picture has many moments. */
  private askHeights(cursor: MomentAnswer | null): void {
    const { context } = this;
    const { open } = context.compare;
    const params = open && {
      device: context.device.device,
      other_device: open.device.device,
      alignment: context.compare.alignment(context.axis),
      moments: cursor ? [cursor.moment] : [],
      filter: context.filter,
    };
    const key = JSON.stringify([params, context.compare.other?.uri, context.compare.settings.otherFirst]);
    if (key === this.askedHeights) return;
    this.askedHeights = key;
    this.heights?.cancel();
    this.heights = null;
    if (!params || !cursor) {
      setText(this.readout, '');
      return;
    }
    const pending = context.api.request('memlens/compareMoments', params);
    this.heights = pending;
    pending.answer.then(
      ({ live_bytes: [mine], other_live_bytes: [other] }) => {
        if (this.heights !== pending) return;
        this.heights = null;
        setText(this.readout, t('At the cursor: {0}', this.sentence(mine ?? null, other ?? null)));
      },
      () => {
        // where the two can't be laid beside each other, the picture says why
        if (this.heights === pending) setText(this.readout, '');
      },
    );
  }

  /** "652 MiB before, 894 MiB after, ▲ +242 MiB". */
  private sentence(mine: number | null, other: number | null): string {
    const [before, after] = this.context.compare.settings.otherFirst ? [other, mine] : [mine, other];
    const figure = (value: number | null, when: string): string =>
      value === null ? `${when}: not running` : `${bytes(value)} ${when}`;
    const difference = before === null || after === null ? '' : `, ${signed(after - before)}`;
    return `${figure(before, 'before')}, ${figure(after, 'after')}${difference}`;
  }

  // --- controls ----------------------------------------------------------------------------------------------------

  private updateControls(): void {
    const { context } = this;
    const { compare, axis, device } = context;
    const { open, settings } = compare;
    if (!open) return;
    this.align.set(settings.byStep ? 'step' : axis);
    this.align.enable('time', hasTimes(device) && hasTimes(open.device));
    const { size, name } = this.offsetUnit();
    this.offset.value = String(settings.offset / size);
    setText(this.unit, name);
    const sample = (className: string, text: string): HTMLElement =>
      element(
        'span',
        { class: 'compare-sample' },
        element('span', { class: `compare-swatch ${className}`, attributes: { 'aria-hidden': 'true' } }),
        element('bdi', {}, text),
      );
    const { before, after } = compare.names(device);
    const [first, second] = settings.otherFirst ? (['other', 'mine'] as const) : (['mine', 'other'] as const);
    replace(
      this.legend,
      sample(first, `before: ${before}`),
      sample(second, `after: ${after}`),
      sample('more', '▲ more after'),
      sample('less', '▼ less after'),
    );
  }

  /** What the file does not say is marked as inferred, and of which run. */
  private showSteps({ steps_known: mine, other_steps_known: other }: CurvesAnswer): void {
    const { compare } = this.context;
    this.heightsText.hidden = !mine || !other;
    if (!mine || !other) return;
    const sentences =
      mine.how === other.how
        ? [mine.how]
        : [`${compare.ownName}: ${mine.how}`, `${compare.open?.name ?? ''}: ${other.how}`];
    setText(this.heightsText, visible(sentences.join(' ')));
    this.heightsText.classList.toggle('inferred', mine.inferred || other.inferred);
  }

  private offsetUnit(): { size: number; name: string } {
    const { axis, compare } = this.context;
    if (compare.settings.byStep) return { size: 1, name: 'steps' };
    return axis === 'time' ? { size: 1000, name: 'ms' } : { size: 1, name: 'events' };
  }

  private readLook(): CompareLook {
    const { theme } = this.context;
    const style = getComputedStyle(this.root.isConnected ? this.root : document.body);
    const colour = (name: string, otherwise: Rgb): Rgb =>
      parseColour(style.getPropertyValue(name), theme.background) ?? otherwise;
    return {
      theme,
      more: colour('--vscode-charts-red', [200, 60, 60]),
      less: colour('--vscode-charts-green', [60, 150, 80]),
      other: theme.foreground,
    };
  }

  // --- the pointer -------------------------------------------------------------------------------------------------

  private listen(): void {
    const { surface } = this;
    new ResizeObserver(() => {
      if (!this.root.hidden && this.content.isConnected) this.request();
    }).observe(surface);
    surface.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        const x = this.xAt(event);
        if (x === null || !this.curves) return;
        const { x0, x1 } = this.shown(this.curves);
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
          const by = ((event.deltaX || event.deltaY) / Math.max(surface.clientWidth, 1)) * (x1 - x0);
          this.lookAt({ x0: x0 + by, x1: x1 + by });
        } else this.zoom(Math.exp(Math.min(Math.max(event.deltaY, -240), 240) / 300), x);
      },
      { passive: false },
    );
    surface.addEventListener('pointermove', (event) => {
      this.hover(event);
    });
    surface.addEventListener('pointerleave', () => {
      this.pointer = null;
      this.tooltip.hidden = true;
      this.draw();
    });
    surface.addEventListener('dblclick', () => {
      this.lookAt(null);
    });
    surface.addEventListener('pointerdown', (event) => {
      this.press(event);
    });
  }

  private press(event: PointerEvent): void {
    const { curves, surface } = this;
    if (event.button !== 0 || !curves || event.target instanceof HTMLButtonElement) return;
    const start = this.shown(curves);
    const perPixel = (start.x1 - start.x0) / Math.max(surface.clientWidth - GUTTERS.left - GUTTERS.right, 1);
    let dragged = false;
    surface.setPointerCapture(event.pointerId);
    const moved = (next: PointerEvent): void => {
      const by = event.clientX - next.clientX;
      dragged ||= Math.abs(by) > CLICK_PX;
      if (dragged && this.range) this.lookAt({ x0: start.x0 + by * perPixel, x1: start.x1 + by * perPixel });
    };
    const done = (next: PointerEvent): void => {
      surface.removeEventListener('pointermove', moved);
      surface.removeEventListener('pointerup', done);
      surface.removeEventListener('pointercancel', done);
      const x = this.xAt(next);
      if (dragged || next.type === 'pointercancel' || x === null || !this.curves) return;
      const moment = this.momentAt(this.curves, x);
      if (next.shiftKey) this.context.cursors.extendTo(moment);
      else this.context.cursors.place(moment);
    };
    surface.addEventListener('pointermove', moved);
    surface.addEventListener('pointerup', done);
    surface.addEventListener('pointercancel', done);
  }

  private hover(event: PointerEvent): void {
    const { curves, context } = this;
    const x = this.xAt(event);
    this.pointer = x;
    this.draw();
    if (x === null || !curves) {
      this.tooltip.hidden = true;
      return;
    }
    const { mine, other } = heightsAt(curves, x);
    const { settings } = context.compare;
    const { before: first, after: second } = context.compare.names(context.device);
    const [before, after] = settings.otherFirst ? [other, mine] : [mine, other];
    const figure = (height: Height | null): string => {
      if (height === null) return 'not running';
      return height.varies ? `up to ${bytes(height.most)}` : bytes(height.most);
    };
    const row = (when: string, name: string, value: Height | null): HTMLElement =>
      element(
        'div',
        {},
        element('strong', {}, figure(value)),
        ` ${when} `,
        element('bdi', { class: 'muted' }, name),
      );
    const step = stepAt(curves, x);
    const difference = before === null || after === null ? null : after.most - before.most;
    replace(
      this.tooltip,
      row('before', first, before),
      row('after', second, after),
      difference !== null &&
        element('div', { class: `compare-difference ${direction(difference)}` }, signed(difference)),
      element(
        'div',
        { class: 'muted' },
        `at ${context.axis === 'time' ? time(x) : `event ${count(Math.floor(x))}`}${step === null ? '' : `, ${step}`}`,
      ),
    );
    this.tooltip.hidden = false;
    const box = this.surface.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.tooltip;
    const at = { x: event.clientX - box.left, y: event.clientY - box.top };
    const left = at.x + 16 + width > box.width ? at.x - 14 - width : at.x + 16;
    const top = Math.min(at.y + 14, box.height - height - 4);
    this.tooltip.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }

  /** The place on the axis under the pointer, null beside it. */
  private xAt(event: { readonly clientX: number }): number | null {
    const { curves, surface } = this;
    if (!curves) return null;
    const box = surface.getBoundingClientRect();
    const share = (event.clientX - box.left - GUTTERS.left) / (box.width - GUTTERS.left - GUTTERS.right);
    if (share < 0 || share > 1) return null;
    const { x0, x1 } = this.shown(curves);
    return x0 + share * (x1 - x0);
  }
}
