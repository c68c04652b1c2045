// Reserved memory over time, with what was active, allocated and requested under it and the gap in figures beside it.

import type { Action } from '../../../../extension/shared/commands';
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { GapAnswer } from '../../../../extension/shared/protocol.gen';
import type { TimelineSession } from '../session';
import { momentName, momentX } from '../cursors';
import { gapSentence } from '../gap';
import { movements, type LookedAt } from '../../widgets/movements';
import { PointerInput } from '../../widgets/pointer';
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
import { theme } from '../../canvas/theme';
import { NO_BACKDROP } from '../scene/backdrop';
import { HoverCard } from '../../widgets/hover-card';
import { debounce } from '../../widgets/dom';
import { Island } from '../../widgets/island';
import { bytes } from '../../base/format';
import { said, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { PlotArea } from '../plot-area';
import type { Picture, PictureOf } from './picture';
import { columnAt, momentIn, unpackReserved, type ReservedColumns } from './reserved-data';
import { drawReserved } from './reserved-draw';
import { Card, Facts, Legend, type FactsProps } from './reserved-facts';

const AIR = 1.08;
const HEIGHT_STEP = 1.5;
const HOVER_REST_MS = 60;
const MOST_COLUMNS = 8192;

export const reservedPicture: PictureOf = {
  picture: 'reserved',
  place: 20,
  palette: 'Show Reserved Memory over Time',
  make: (context) =>
    context.info.devices.some(({ events }) => events > 0) ? new ReservedPicture(context) : null,
};

/** What stands beside the picture. */
interface Words {
  readonly filter: string;
  readonly known: boolean;
  readonly ready: boolean;
  readonly facts: FactsProps | null;
}

class ReservedPicture implements Picture, LookedAt {
  readonly id = 'reserved';
  readonly exported = 'reserved';
  readonly title = t('Reserved');
  readonly followsHeight = true;
  private readonly area = new PlotArea({
    class: 'reserved-plot',
    roleDescription: t('reserved memory over time'),
    draw: () => this.draw(),
    resized: () => this.fetch(),
  });
  private readonly card = new HoverCard(Card, this.area.root);
  private readonly words = signal<Words>({ filter: '', known: true, ready: false, facts: null });
  private shown = false;
  private height: { y0: number; y1: number } = { y0: 0, y1: 1 };
  /** Where the most was reserved, and the moment that the panes answer for. */
  private most: GapAnswer | null = null;
  private at: GapAnswer | null = null;
  private data: ReservedColumns | null = null;
  private readonly asked = {
    columns: new Latest(),
    most: new Latest(),
    at: new Latest(),
    hover: new Latest(),
  };
  private drawnKey = '';
  private cursor: { x: number; y: number } | null = null;
  private box: { x0: number; y0: number; x1: number; y1: number } | null = null;
  private readonly askHover = debounce(HOVER_REST_MS, () => this.fetchHover());

  constructor(private readonly context: TimelineSession) {
    this.show();
    new PointerInput(this.area.surface, {
      ...movements(this, (from, to) => context.cursors.span(from, to)),
      hover: (at) => this.hover(at),
      click: ({ x }, { extend }) => {
        const moment = this.momentAt(this.dataAt(x, 0).x);
        if (moment === null) return;
        if (extend) context.cursors.extendTo(moment);
        else context.cursors.place(moment);
      },
      doubleClick: () => undefined,
    });
  }

  readonly View = ({ hidden }: { readonly hidden: boolean }): VNode => {
    const { filter, known, ready, facts } = this.words.value;
    return (
      <div class="reserved" hidden={hidden} {...(ready && { 'data-state': 'ready' })}>
        <div class="reserved-main">
          <Legend filter={filter} known={known} />
          <Island of={this.area.root} />
        </div>
        <aside aria-label={t('What is reserved')} tabIndex={0}>
          <div class="reserved-facts">{facts && <Facts {...facts} />}</div>
        </aside>
      </div>
    );
  };

  update(changes: ReadonlySet<string>): void {
    this.shown = true;
    if (changes.has('device') || changes.has('axis')) this.turnTo();
    else if (changes.has('filter')) this.fetchMost(() => undefined);
    if (changes.has('cursors') || changes.has('device') || changes.has('axis') || changes.has('filter'))
      this.fetchAt();
    this.fetch();
    this.area.request();
  }

  hide(): void {
    this.shown = false;
    this.asked.columns.cancel();
    this.hover(null);
  }

  focus(): void {
    this.area.focus();
  }

  dispose(): void {
    this.hide();
    this.area.dispose();
    for (const latest of Object.values(this.asked)) latest.cancel();
  }

  /** What concerns the height, and moments, which only this picture knows while it is shown. */
  run(action: Action): boolean {
    const { camera, bounds, context } = this;
    const middle = { x: (camera.x0 + camera.x1) / 2, y: camera.y0 };
    const moment = this.momentAt(middle.x);
    switch (action) {
      case 'zoomInHeight':
        this.setHeight(zoomAt(camera, bounds, middle, 1, 1 / HEIGHT_STEP));
        return true;
      case 'zoomOutHeight':
        this.setHeight(zoomAt(camera, bounds, middle, 1, HEIGHT_STEP));
        return true;
      case 'up':
        this.setHeight(panBy(camera, bounds, 0, 0.15));
        return true;
      case 'down':
        this.setHeight(panBy(camera, bounds, 0, -0.15));
        return true;
      case 'fit':
        this.setHeight({ y0: 0, y1: bounds.top });
        return false;
      case 'cursorHere':
        if (moment !== null) context.cursors.place(moment);
        return true;
      case 'secondCursorHere':
        if (moment !== null) context.cursors.extendTo(moment);
        return true;
      default:
        return false;
    }
  }

  // --- where it looks ----------------------------------------------------------------------------------------------

  get plotSize(): PlotSize {
    return this.area.size;
  }

  get pixelRatio(): number {
    return this.area.scale;
  }

  get camera(): Camera {
    const { x0, x1 } = this.context.camera;
    return { x0, x1, ...this.height };
  }

  get bounds(): Extent {
    const { bounds } = this.context;
    const top = Math.max(this.most?.gap.reserved_bytes ?? 1, 1) * AIR;
    return { ...bounds, top, minHeight: Math.min(bounds.minHeight, top) };
  }

  dataAt(x: number, y: number): { x: number; y: number } {
    const { camera, plotSize, pixelRatio } = this;
    return {
      x: fromPixelX(camera, plotSize, x * pixelRatio),
      y: fromPixelY(camera, plotSize, y * pixelRatio),
    };
  }

  momentAt(x: number): number | null {
    return this.data && momentIn(this.data, x);
  }

  moveTo({ x0, x1, y0, y1 }: Camera, glide: boolean): void {
    if (y0 !== this.height.y0 || y1 !== this.height.y1) this.setHeight({ y0, y1 });
    this.context.moveTo(x0, x1, glide);
  }

  setBox(box: { x0: number; y0: number; x1: number; y1: number } | null): void {
    this.box = box;
    this.area.request();
  }

  private setHeight({ y0, y1 }: { y0: number; y1: number }): void {
    this.height = { y0, y1 };
    this.area.request();
  }

  // --- what it asks ------------------------------------------------------------------------------------------------

  private turnTo(): void {
    this.asked.columns.cancel();
    this.data = null;
    this.drawnKey = '';
    this.most = null;
    this.fetchMost(() => {
      this.height = { y0: 0, y1: this.bounds.top };
      this.area.request();
    });
  }

  private ask(of: 'most' | 'at' | 'hover', moment: number | null, use: (answer: GapAnswer) => void): void {
    const { api, device, filter } = this.context;
    this.asked[of].ask(api.request('memlens/gap', { device: device.device, moment, filter }), use, (error) =>
      this.context.failed(error),
    );
  }

  private fetchMost(known: () => void): void {
    this.ask('most', null, (answer) => {
      this.most = answer;
      known();
      this.show();
    });
  }

  /** The gap at the moment that the panes answer for. */
  private fetchAt(): void {
    const { cursors, device, axis } = this.context;
    const { moment } = cursors;
    this.ask('at', moment ?? device.peak_moment, (answer) => {
      this.at = answer;
      this.show();
      if (moment !== null)
        this.context.say(`${t('At {0}.', momentName(answer, axis))} ${gapSentence(answer.gap, this.known)}`);
    });
  }

  /** The columns in view; one request at a time, and when it is answered the next if the view has moved on. */
  private fetch(): void {
    const { context, plotSize } = this;
    if (!this.shown || plotSize.width === 0 || context.device.events === 0) return;
    const { x0, x1 } = context.camera;
    const params = {
      device: context.device.device,
      axis: context.axis,
      x0,
      x1,
      columns: Math.min(plotSize.width, MOST_COLUMNS),
      filter: context.filter,
    };
    const key = JSON.stringify(params);
    if (this.asked.columns.asking || key === this.drawnKey) return;
    this.asked.columns.ask(
      context.api.request('memlens/reserved', params),
      (answer) => {
        this.drawnKey = key;
        this.data = unpackReserved(answer, params.filter);
        this.show();
        this.fetch();
      },
      (error) => {
        this.drawnKey = key;
        context.failed(error);
      },
    );
  }

  /** The file has segments, so what was reserved is known. */
  private get known(): boolean {
    return this.data?.known !== false;
  }

  // --- what it shows -----------------------------------------------------------------------------------------------

  private show(): void {
    const { at, most, known, context } = this;
    const isPeak = context.cursors.moment === null;
    this.words.value = {
      filter: context.filter,
      known,
      ready: this.data !== null,
      facts: at && {
        answer: at,
        known,
        most: most && this.mostText(most),
        when: isPeak ? t('At the peak') : t('At {0}', momentName(at, context.axis)),
      },
    };
    this.area.setLabel(
      [
        t('{0}: reserved memory over time.', said(context.device.name)),
        ...(most ? [t('At most: {0}', gapSentence(most.gap, known))] : []),
        t('Press m for a cursor, ? for the keys.'),
      ].join(' '),
    );
    this.area.request();
  }

  private mostText({ gap }: GapAnswer): string {
    return this.known
      ? t('Most reserved {0}', bytes(gap.reserved_bytes))
      : t('Most active {0}', bytes(gap.reserved_bytes));
  }

  private draw(): void {
    const { context, plotSize: plot, camera, most, cursor, box } = this;
    const lines = this.area.overlay.getContext('2d');
    const picture = this.shown ? this.area.begin(0, 'screen') : null;
    if (!picture || !lines) return;
    const { device, axis, bounds } = context;
    if (this.data) drawReserved(picture, { data: this.data, camera, plot, theme: theme.value });
    const model = overlayModel(
      {
        camera,
        plot,
        scale: this.pixelRatio,
        gutter: this.area.gutter,
        device,
        axis,
        theme: theme.value,
        cursor,
        box,
        palette: context.palette,
        highlight: context.highlight,
        picture: null,
        labels: [],
        stacked: false,
        selectedRects: [],
        selectedLife: null,
        flags: context.flags.of(device.device, axis),
        backdrop: NO_BACKDROP,
        marks: context.cursors.marks(axis, bounds.x0),
      },
      () => [],
    );
    const peak = most && {
      x: momentX(most, axis, bounds.x0),
      bytes: most.gap.reserved_bytes,
      text: this.mostText(most),
    };
    drawOverlay(lines, { ...model, peak });
  }

  // --- the pointer -------------------------------------------------------------------------------------------------

  private hover(at: { x: number; y: number } | null): void {
    this.cursor = at;
    this.area.request();
    if (at && this.data) {
      this.askHover();
      return;
    }
    this.askHover.cancel();
    this.asked.hover.cancel();
    this.card.hide();
  }

  private fetchHover(): void {
    const { cursor, data } = this;
    if (!cursor || !data || !this.shown) return;
    const column = columnAt(data, this.dataAt(cursor.x, 0).x);
    this.ask('hover', data.last[column] ?? 0, (answer) => {
      if (this.cursor !== cursor) return;
      const at = momentName(answer, this.context.axis);
      this.card.show({ answer, at, data, column }, cursor, this.area.surface);
    });
  }
}
