// What the pointer is over: at once from the picture that is here, then with what the server knows of it.

import type { AllocationSummary } from '../../../extension/shared/protocol.gen';
import type { Geometry } from '../../../extension/shared/geometry';
import type { Pending } from '../base/request';
import type { Point } from '../widgets/pointer';
import type { PointedAt } from './legend-moment';
import type { Plot } from './plot';
import type { Hit } from './scene/hit';
import { areaColours, areaName } from './scene/areas';
import { bandColour } from './scene/paint';
import type { TimelineSession } from './session';
import { debounce } from '../widgets/dom';
import { time } from '../base/format';
import { count, said, t } from '../base/l10n';
import { Latest } from '../base/latest';
import type { HoverCard } from '../widgets/hover-card';
import type { TooltipModel } from './tooltip';

/** A picture over which the pointer is. */
interface Hovered {
  readonly view: Pick<
    TimelineSession,
    'api' | 'names' | 'device' | 'axis' | 'palette' | 'info' | 'filterAsIf'
  >;
  readonly plot: Plot;
  readonly tooltip: HoverCard<TooltipModel>;
  /** What lies where the picture merges allocations. */
  askThere(moment: number, y: number): Pending<{ allocation: AllocationSummary | null }>;
  /** Another column of the picture is under the pointer, or none. */
  columnShown(): void;
  /** What else is said of a height of the picture; `taken` when an allocation lies there. */
  placeOf?(y: number, taken: boolean): readonly string[];
}

/** Rest this long before the server is asked. */
const ASK_AFTER_MS = 60;
const REST_MS = 90;
const CACHED = 256;

export class Hover {
  private at: Point | null = null;
  private readonly latest = new Latest();
  private readonly there = new Map<string, AllocationSummary | null>();
  private readonly refreshSoon = debounce(REST_MS, () => {
    this.refresh();
    if (this.at) this.ask();
  });
  private readonly askSoon = debounce(ASK_AFTER_MS, () => this.ask());

  constructor(private readonly over: Hovered) {}

  move(at: Point | null): void {
    this.at = at;
    this.over.plot.setCursor(at);
    this.latest.cancel();
    this.refresh();
    if (at) this.askSoon();
    else {
      this.askSoon.cancel();
      this.refreshSoon.cancel();
    }
  }

  /** What of the picture is under the pointer; null for nothing. */
  get pointedAt(): PointedAt | null {
    const column = this.find()?.hit.column;
    return column === undefined || !this.at ? null : { column, x: this.over.plot.dataAt(this.at.x, 0).x };
  }

  /** Another picture came, or more is known. */
  refresh(): void {
    const { plot, tooltip } = this.over;
    const found = this.find();
    this.over.columnShown();
    if (!found || !this.at) {
      tooltip.hide();
      return;
    }
    tooltip.show(this.model(found.g, found.hit), this.at, plot.surface);
  }

  /** The picture moves: what is under the pointer changes too fast to be read, and is shown when it rests. */
  moving(): void {
    this.over.tooltip.hide();
    this.refreshSoon();
  }

  /** Another device, axis or filter. */
  reset(): void {
    this.there.clear();
    this.move(null);
  }

  private find(): { g: Geometry; hit: Hit } | null {
    const g = this.over.plot.geometry;
    const hit = this.at && this.over.plot.hit(this.at.x, this.at.y);
    return g && hit ? { g, hit } : null;
  }

  private model(g: Geometry, hit: Hit): TooltipModel {
    const { names, info } = this.over.view;
    const { band, merged, column } = hit;
    const moment = g.moment[column] ?? 0;
    return {
      band:
        band === null
          ? null
          : {
              sizeBytes: g.size[band] ?? 0,
              category: info.categories[g.category[band] ?? 255] ?? null,
              colour: bandColour(g, band, this.over.view.palette),
              details: names.allocation(g.allocation[band] ?? -1) ?? null,
            },
      merged:
        merged === 0 || hit.rect === null
          ? null
          : {
              count: merged,
              bytes: ((g.edges[6 * hit.rect + 3] ?? 0) - (g.edges[6 * hit.rect + 2] ?? 0)) * g.yQuantum,
              there: this.there.get(this.key(g, hit)) ?? null,
            },
      area: this.area(g, hit),
      place: this.over.placeOf?.(hit.yBytes, band !== null || merged > 0) ?? [],
      column: {
        at: this.momentText(moment),
        traced: this.over.view.device.events > 0,
        totalBytes: g.total[column] ?? 0,
        live: g.live[column] ?? 0,
        passed: g.passed[column] ?? 0,
      },
    };
  }

  /** What the area comes to at the moment that the column shows. */
  private area(g: Geometry, { area, column }: Hit): TooltipModel['area'] {
    const { grouped } = g;
    const known = area === null ? undefined : grouped?.areas[area];
    if (!grouped || area === null || !known) return null;
    const at = column * grouped.areas.length + area;
    return {
      name: areaName(known, grouped.by.by),
      detail: said(known.detail),
      colour: areaColours(grouped, this.over.view.palette)[area] ?? this.over.view.palette.none,
      bytes: grouped.bytes[at] ?? 0,
      count: grouped.counts[at] ?? 0,
    };
  }

  /** The column shows one real moment; its time is known to about a pixel from the axis. */
  private momentText(moment: number): string {
    if (this.over.view.device.events === 0) return t('when the snapshot was taken');
    const event = t('event {0}', count(moment));
    if (this.over.view.axis === 'event' || !this.at) return event;
    return `${time(this.over.plot.dataAt(this.at.x, 0).x)} · ${event}`;
  }

  private ask(): void {
    const found = this.find();
    if (!found) return;
    const { g, hit } = found;
    const { api, names, filterAsIf: filter } = this.over.view;
    if (hit.band !== null) {
      // The picture knows which allocation it is, so the answer is exact, and a click has its stack already.
      const allocation = g.allocation[hit.band] ?? 0;
      if (names.allocation(allocation)) {
        this.refresh();
        return;
      }
      this.await(api.request('memlens/stack', { allocation, filter }), (answer) =>
        names.learn([answer.allocation]),
      );
    } else if (hit.merged > 0) {
      const key = this.key(g, hit);
      if (this.there.has(key)) return;
      this.await(this.over.askThere(g.moment[hit.column] ?? 0, hit.yBytes), (answer) => {
        if (this.there.size > CACHED) this.there.clear();
        this.there.set(key, answer.allocation);
        if (answer.allocation) names.learn([answer.allocation]);
      });
    }
  }

  private await<T>(pending: Pending<T>, use: (answer: T) => void): void {
    this.latest.ask(
      pending,
      (answer) => {
        use(answer);
        this.refresh();
      },
      // a hover without details still shows its size; the click will say what is wrong
      () => undefined,
    );
  }

  private key(g: Geometry, hit: Hit): string {
    return `${g.moment[hit.column] ?? 0}:${Math.floor(hit.yBytes / g.yQuantum) * g.yQuantum}`;
  }
}
