// Two runs on one axis: both curves, what lies between them, and which lies where.

import type { Action } from '../../../../extension/shared/commands';
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Alignment, CurvesAnswer, MomentAnswer } from '../../../../extension/shared/protocol.gen';
import { RequestError } from '../../base/request';
import { said, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { messageOf, visible } from '../../base/text';
import type { Camera, Extent, PlotSize } from '../../canvas/camera';
import { parseColour, type Rgb } from '../../canvas/colour';
import { theme } from '../../canvas/theme';
import { Banner, bannerOf, type BannerText } from '../../compare/bar';
import type { Change } from '../../shell/context';
import type { TimelineSession } from '../session';
import { Chart } from '../../widgets/chart';
import { HoverCard } from '../../widgets/hover-card';
import { Island } from '../../widgets/island';
import { movements, type LookedAt } from '../../widgets/movements';
import { PointerInput, type Point } from '../../widgets/pointer';
import { Card, Controls, Problem, type ProblemProps } from './compare-controls';
import { drawCompare, GUTTERS, type CompareLook } from './compare-draw';
import { columnAt, curvesOf, within, type Curves } from './compare-scene';
import type { Picture, PictureOf } from './picture';
import { heightsText } from './compare-words';

const ZOOM = 1.5;
const MOST_COLUMNS = 4096;

interface Range {
  readonly x0: number;
  readonly x1: number;
}

export const comparePicture: PictureOf = {
  picture: 'compare',
  place: 30,
  palette: 'Show Both Timelines',
  make: (context) => new ComparePicture(context),
};

interface Words {
  /** Why there is nothing to compare. */
  readonly banner: BannerText | null;
  /** What both hold at the cursor. */
  readonly readout: string;
  /** How the steps are known that lie on each other. */
  readonly steps: { readonly text: string; readonly inferred: boolean } | null;
}

class ComparePicture implements Picture, LookedAt {
  readonly id = 'compare';
  readonly title = t('Compare');
  readonly pixelRatio = 1;
  readonly followsHeight = true; // that of both peaks
  private readonly problem = signal<ProblemProps | null>(null);
  private readonly chart = new Chart({
    class: 'compare-surface',
    role: 'application',
    roleDescription: t('two memory timelines'),
    Over: () => this.problem.value && <Problem {...this.problem.value} />,
    draw: () => this.draw(),
    resized: () => {
      if (this.isShown) this.request();
    },
  });
  private readonly card = new HoverCard(Card, this.chart.surface);
  private readonly words = signal<Words>({ banner: null, readout: '', steps: null });
  /** How many pictures were drawn. */
  private readonly drawn = signal(0);
  private isShown = false;
  private banner: BannerText | null = null;
  private curves: Curves | null = null;
  /** What is in view; null for all that both runs take up. */
  private range: Range | null = null;
  private readonly latest = { curves: new Latest(), heights: new Latest() };
  private asked = { curves: '', heights: '' };
  private readout = '';
  private steps: Words['steps'] = null;
  /** Where the pointer is, and what place of the axis that is. */
  private pointed: Point | null = null;
  private pointer: number | null = null;
  private box: { x0: number; x1: number } | null = null;
  private moving = false;

  constructor(private readonly context: TimelineSession) {
    new PointerInput(this.chart.surface, {
      ...movements(this, (from, to) => context.cursors.span(from, to)),
      hover: (at) => this.hover(at),
      click: (at, { extend }) => {
        const moment = this.isInside(at) ? this.momentAt(this.dataAt(at.x).x) : null;
        if (moment === null) return;
        if (extend) context.cursors.extendTo(moment);
        else context.cursors.place(moment);
      },
      doubleClick: () => this.lookAt(null),
    });
  }

  readonly View = ({ hidden }: { readonly hidden: boolean }): VNode => {
    const { banner, readout, steps } = this.words.value;
    return (
      <section class="compare-picture" hidden={hidden} data-drawn={this.drawn.value || undefined}>
        {banner ? (
          <Banner {...banner} />
        ) : (
          <div class="compare-content">
            <Controls
              context={this.context}
              readout={readout}
              chosen={() => {
                this.range = null;
              }}
            />
            <Island of={this.chart.surface} />
            <p
              class={steps?.inferred ? 'compare-heights muted inferred' : 'compare-heights muted'}
              role="status"
              hidden={!steps}
            >
              {visible(steps?.text ?? '')}
            </p>
          </div>
        )}
      </section>
    );
  };

  update(changes: ReadonlySet<Change>): void {
    this.isShown = true;
    const banner = bannerOf(this.context);
    if (banner) {
      this.latest.curves.cancel();
      this.curves = null;
      this.asked.curves = '';
      if (changes.has('compare') || !this.banner) {
        this.banner = banner;
        this.show();
      }
      return;
    }
    this.banner = null;
    if (changes.has('axis') || changes.has('device')) this.range = this.curves = null;
    else if (changes.has('camera') && !this.moving) this.follow();
    this.show();
    this.request();
  }

  hide(): void {
    this.isShown = false;
    this.latest.curves.cancel();
    this.latest.heights.cancel();
    this.asked = { curves: '', heights: '' };
    this.card.hide();
  }

  focus(): void {
    this.chart.focus();
  }

  dispose(): void {
    this.hide();
    this.chart.dispose();
  }

  run(action: Action): boolean {
    if (!this.curves) return false;
    const { x0, x1 } = this.shown;
    const span = x1 - x0;
    const moment = this.momentAt((x0 + x1) / 2) ?? 0;
    const { cursors } = this.context;
    switch (action) {
      case 'fit':
        this.lookAt(null);
        return true;
      case 'zoomIn':
      case 'zoomOut': {
        const by = ((action === 'zoomIn' ? 1 / ZOOM : ZOOM) * span - span) / 2;
        this.lookAt({ x0: x0 - by, x1: x1 + by });
        return true;
      }
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
        cursors.place(moment);
        return true;
      case 'secondCursorHere':
        cursors.extendTo(moment);
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

  private get shown(): Range {
    return this.range ?? this.curves?.extent ?? this.context.bounds;
  }

  get camera(): Camera {
    return { ...this.shown, y0: 0, y1: this.bounds.top };
  }

  get bounds(): Extent {
    const { curves, context } = this;
    const top = curves?.top ?? 1;
    return { ...context.bounds, ...curves?.extent, top, minHeight: top };
  }

  /** In CSS pixels. */
  get plotSize(): PlotSize {
    const { clientWidth, clientHeight } = this.chart.surface;
    return {
      width: Math.max(clientWidth - GUTTERS.left - GUTTERS.right, 1),
      height: Math.max(clientHeight - GUTTERS.top - GUTTERS.bottom, 1),
    };
  }

  dataAt(x: number): { x: number; y: number } {
    const { x0, x1 } = this.shown;
    return { x: x0 + ((x - GUTTERS.left) / this.plotSize.width) * (x1 - x0), y: 0 };
  }

  momentAt(x: number): number | null {
    const { curves } = this;
    if (!curves) return null;
    const column = columnAt(curves, x);
    if (column !== null) return curves.moments[column] ?? 0;
    return x < curves.x0 ? 0 : (curves.moments.at(-1) ?? 0);
  }

  moveTo(range: Range): void {
    this.lookAt(range);
  }

  setBox(box: { x0: number; x1: number } | null): void {
    this.box = box;
    this.chart.request();
  }

  private isInside({ x }: Point): boolean {
    return x >= GUTTERS.left && x <= GUTTERS.left + this.plotSize.width;
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
    const { x0, x1 } = this.range ?? context.bounds;
    this.moving = true;
    context.moveTo(x0, x1, false);
    this.moving = false;
    this.request();
  }

  // --- what it asks ------------------------------------------------------------------------------------------------

  private request(): void {
    const { context, range } = this;
    const { open } = context.compare;
    this.chart.request();
    const { width } = this.plotSize;
    if (!open || width < 8 || !this.isShown) return;
    const of = {
      device: context.device.device,
      other_device: open.device.device,
      alignment: context.compare.alignment(context.axis),
      filter: context.filter,
    };
    this.askHeights(of, context.cursors.first);
    const params = {
      ...of,
      x0: range?.x0 ?? null,
      x1: range?.x1 ?? null,
      columns: Math.min(Math.max(Math.round(width * devicePixelRatio), 16), MOST_COLUMNS),
    };
    const key = JSON.stringify([params, context.compare.other?.uri]);
    if (key === this.asked.curves) return;
    this.asked.curves = key;
    this.latest.curves.ask(
      context.api.request('memlens/compareCurves', params),
      (answer) => {
        this.curves = curvesOf(answer);
        this.hover(this.pointed);
        this.steps = this.stepsOf(answer);
        this.problem.value = null;
        this.drawn.value++;
        this.show();
      },
      (error) => this.failed(error),
    );
  }

  /** What both held at the cursor, to the byte: a column of the picture has many moments. */
  private askHeights(of: Compared, cursor: MomentAnswer | null): void {
    const { context } = this;
    const { other, settings } = context.compare;
    const key = JSON.stringify([of, cursor?.moment, other?.uri, settings.otherFirst]);
    if (key === this.asked.heights) return;
    this.asked.heights = key;
    const show = (readout: string): void => {
      this.readout = readout;
      this.show();
    };
    if (!cursor) {
      this.latest.heights.cancel();
      show('');
      return;
    }
    this.latest.heights.ask(
      context.api.request('memlens/compareMoments', { ...of, moments: [cursor.moment] }),
      ({ live_bytes: [mine = null], other_live_bytes: [theirs = null] }) =>
        show(settings.otherFirst ? heightsText(theirs, mine) : heightsText(mine, theirs)),
      () => {
        show(''); // where the two can't be laid beside each other, the picture says why
      },
    );
  }

  private failed(error: unknown): void {
    this.curves = null;
    this.steps = null;
    const { context } = this;
    const { compare, axis } = context;
    const byEvent = (): void => {
      context.setAxis('event');
      compare.set({ byStep: false, offset: 0 });
    };
    this.problem.value = {
      message: messageOf(error),
      advice: error instanceof RequestError ? error.problem.advice : '',
      retry: axis === 'time' || compare.settings.byStep ? byEvent : null,
    };
    this.show();
  }

  /** How the steps are known, and of which run, where one lies on the other; what the file does not say is inferred. */
  private stepsOf({ steps_known: mine, other_steps_known: other }: CurvesAnswer): typeof this.steps {
    const { compare } = this.context;
    if (!mine || !other) return null;
    const [own, theirs] = [said(mine.how), said(other.how)];
    const sentences =
      own === theirs ? [own] : [`${compare.ownName}: ${own}`, `${compare.open?.name ?? ''}: ${theirs}`];
    return { text: sentences.join(' '), inferred: mine.inferred || other.inferred };
  }

  // --- what it shows -----------------------------------------------------------------------------------------------

  private show(): void {
    const { context, banner, readout, steps } = this;
    this.words.value = { banner, readout, steps };
    const { before, after } = context.compare.names;
    this.chart.setLabel(
      [
        context.axis === 'time'
          ? t('Memory of {0} and {1} over time.', before, after)
          : t('Memory of {0} and {1} over events.', before, after),
        t(
          'M puts a cursor in the middle; comma and full stop move it. The figures at the cursors are shown above.',
        ),
      ].join(' '),
    );
    this.chart.request();
  }

  private draw(): void {
    const { curves, context } = this;
    const drawing = this.chart.begin();
    if (!drawing || !curves) return;
    const { clientWidth: width, clientHeight: height } = this.chart.surface;
    const { axis, bounds, cursors, compare } = context;
    const scene = {
      curves,
      range: this.shown,
      axis,
      pointer: this.pointer,
      box: this.box,
      marks: cursors.marks(axis, bounds.x0),
      otherFirst: compare.settings.otherFirst,
    };
    drawCompare(drawing, { width, height }, scene, this.look);
  }

  private get look(): CompareLook {
    const style = getComputedStyle(document.body);
    const colour = (name: string, otherwise: Rgb): Rgb =>
      parseColour(style.getPropertyValue(name), theme.value.background) ?? otherwise;
    return {
      theme: theme.value,
      more: colour('--vscode-charts-red', [200, 60, 60]),
      less: colour('--vscode-charts-green', [60, 150, 80]),
      other: theme.value.foreground,
    };
  }

  private hover(at: Point | null): void {
    const { curves, context } = this;
    this.pointed = at;
    this.pointer = at && this.isInside(at) ? this.dataAt(at.x).x : null;
    this.chart.request();
    if (!at || this.pointer === null || !curves) {
      this.card.hide();
      return;
    }
    this.card.show({ context, curves, x: this.pointer }, at, this.chart.surface);
  }
}

interface Compared {
  readonly device: number;
  readonly other_device: number;
  readonly alignment: Alignment;
  readonly filter: string;
}
