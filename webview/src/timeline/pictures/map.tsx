// The memory map: addresses upwards, time to the right, one lane a segment. Its x range is that of all pictures.

import type { Action } from '../../../../extension/shared/commands';
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { t } from '../../base/l10n';
import type { AllocationSummary, MapLanesAnswer } from '../../../../extension/shared/protocol.gen';
import type { Pending } from '../../base/request';
import { follow } from '../../base/follow';
import { Latest, Questions } from '../../base/latest';
import { moveCamera } from '../../shell/moves';
import type { TimelineSession } from '../session';
import { gestures } from '../gestures';
import { Hover } from '../hover';
import { PointerInput } from '../../widgets/pointer';
import { Plot } from '../plot';
import { extentOf, fitBox, type Camera } from '../../canvas/camera';
import { laneAt, laneTicks, laneWords, shownLanes } from '../scene/lanes';
import { exposeMap } from '../test-hook';
import { Island } from '../../widgets/island';
import { bytes, hasSource } from '../../base/format';
import { visible } from '../../base/text';
import { HoverCard } from '../../widgets/hover-card';
import { TooltipCard } from '../tooltip';
import { AreaLegend } from '../area-legend';
import { legendMoment } from '../legend-moment';
import { drawLanes } from './map-lanes';
import type { Picture, PictureOf } from './picture';

/** A click on merged allocations takes the nearest one at most this many pixels away. */
const NEAR_PX = 3;

export const mapPicture: PictureOf = {
  picture: 'map',
  place: 10,
  palette: 'Show Memory Map over Time',
  make: makePicture,
};

/** Made of nothing until it is shown for the first time. */
function makePicture(context: TimelineSession): Picture {
  const made = signal<MemoryMap | null>(null);
  return {
    id: 'map',
    exported: 'map',
    title: t('Memory map'),
    View: ({ hidden }) => {
      const map = made.value;
      return (
        <div class="map" id="memlens-map" hidden={hidden} data-pictures={map?.pictures}>
          {map && <map.Parts />}
        </div>
      );
    },
    update: (changes) => {
      const map = made.peek() ?? new MemoryMap(context);
      made.value = map;
      map.update(changes);
    },
    hide: () => {
      made.peek()?.hide();
    },
    focus: () => {
      made.peek()?.focus();
    },
    run: (action) => made.peek()?.run(action) ?? false,
    dispose: () => {
      made.peek()?.dispose();
    },
  };
}

class MemoryMap {
  private readonly plot: Plot;
  private readonly hover: Hover;
  private readonly tooltip = new HoverCard(TooltipCard);
  readonly pictures = signal(0);
  private readonly words = signal('');
  private readonly legend: AreaLegend;
  private lanes: MapLanesAnswer | null = null;
  private readonly asked = new Latest();
  private readonly questions: Questions;
  /** The x range that this picture reported to the others last. */
  private reported: { x0: number; x1: number } | null = null;
  private shownFor = '';
  private readonly stop: () => void;

  constructor(private readonly context: TimelineSession) {
    this.questions = new Questions((error) => context.failed(error));
    this.plot = new Plot(context, {
      method: 'memlens/memoryMap',
      filter: 'filter',
      canvas: 'memlens-map-canvas',
      role: 'memory map',
      // Until the lanes are known there is nothing to look at.
      extent: (_device, axis) => {
        const all = extentOf(context.bounds, this.lanes?.top ?? 1, axis);
        return { ...all, x0: context.bounds.x0, x1: context.bounds.x1, minWidth: context.bounds.minWidth };
      },
      ticksY: (camera, plot, scale) => laneTicks(this.lanes?.lanes ?? [], camera, plot.height / scale),
      textY: (y) => {
        const lane = this.lanes && laneAt(this.lanes.lanes, y);
        return lane ? `+${bytes(y - lane.y)}` : '';
      },
      decorate: (canvas, model) => {
        if (this.lanes) drawLanes(canvas, model, this.lanes);
      },
      peakAtHeight: false,
      fitsHeight: false,
    });
    this.hover = new Hover({
      view: context,
      plot: this.plot,
      tooltip: this.tooltip,
      askThere: (moment, y) => this.askThere(moment, y),
      placeOf: (y, taken) => (this.lanes ? laneWords(this.lanes, y, taken) : []),
      columnShown: () => this.showFigures(),
    });
    this.legend = new AreaLegend(this.plot, (key) => context.highlightArea(key), true);
    new PointerInput(
      this.plot.surface,
      gestures({
        plot: this.plot,
        selection: {
          select: (allocation, moment, _reveal, then) => this.select(allocation, moment, then ?? null),
          selectAt: (moment, y, then) => this.selectAt(moment, y, then ?? null),
          clear: () => {
            context.highlightStacks(new Set());
            return true;
          },
          zoomTo: () => this.zoomToSelection(),
        },
        cursors: context.cursors,
        hover: this.hover,
        openLabel: (allocation) => this.openLabel(allocation),
      }),
    );
    exposeMap(this.plot);
    const { seen, drawn } = this.plot;
    this.stop = follow({ seen: () => seen.value, drawn: () => drawn.value }, (changes) => {
      if (changes.has('seen')) this.moved(seen.value);
      if (changes.has('drawn')) this.drawn();
    });
  }

  readonly Parts = (): VNode => (
    <>
      <div class="map-picture">
        <Island of={this.plot.root} />
        <div class="busy" hidden={!this.plot.busy.value} />
        <div class="map-words">{this.words}</div>
        <Island of={this.tooltip.root} />
      </div>
      <this.legend.View />
    </>
  );

  update(changes: ReadonlySet<string>): void {
    const { context, plot } = this;
    plot.setHidden(false);
    const { grouping } = context;
    if (JSON.stringify(grouping) !== JSON.stringify(plot.grouped)) plot.setGrouping(grouping);
    if (changes.has('theme')) {
      plot.setPalette(context.palette);
      this.showLegend();
    }
    const shown = `${context.device.device} ${context.axis}`;
    if (changes.has('device') || changes.has('axis') || shown !== this.shownFor) {
      this.shownFor = shown;
      this.fetchLanes();
    } else if (changes.has('filter')) this.show();
    if (changes.has('camera')) this.follow();
    if (changes.has('selection')) this.showSelection();
    if (changes.has('cursors') || changes.has('flags')) {
      this.showMarks();
      this.showFigures();
    }
  }

  hide(): void {
    this.plot.setHidden(true);
    this.hover.reset();
  }

  focus(): void {
    this.plot.focus();
  }

  run(action: Action): boolean {
    if (action === 'zoomToSelection') {
      this.zoomToSelection();
      return true;
    }
    if (action === 'older' || action === 'younger') {
      this.context.step(action === 'older' ? 'lower' : 'higher');
      return true;
    }
    return moveCamera(action, this.plot);
  }

  dispose(): void {
    this.stop();
    this.asked.cancel();
    this.questions.cancel();
    this.plot.dispose();
  }

  private fetchLanes(): void {
    const { context } = this;
    const { device } = context.device;
    if (this.lanes?.device === device) {
      this.show();
      return;
    }
    this.lanes = null;
    this.asked.ask(
      context.api.request('memlens/mapLanes', { device }),
      (lanes) => {
        this.lanes = lanes;
        this.show();
      },
      (error) => context.failed(error),
    );
  }

  /** From here on it is another picture: of this device, axis and filter. */
  private show(): void {
    const { context, plot, lanes } = this;
    if (!lanes) return;
    this.reported = null;
    const { x0, x1 } = context.camera;
    const kept = plot.geometry ? plot.camera : null;
    plot.show(context.device, context.axis, { x0, x1, y0: kept?.y0 ?? 0, y1: kept?.y1 ?? Infinity });
    if (!kept) plot.moveTo({ x0, x1, y0: 0, y1: plot.bounds.top }, false);
    this.hover.reset();
    this.showSelection();
    this.showMarks();
    const words = shownLanes(lanes, context.device);
    plot.setLabel(`${words} Press ? for the keys.`);
    this.words.value = visible(words);
  }

  private follow(): void {
    const { x0, x1 } = this.context.camera;
    const { reported, plot } = this;
    const slack = (x1 - x0) * 1e-6;
    if (reported && Math.abs(reported.x0 - x0) < slack && Math.abs(reported.x1 - x1) < slack) return;
    this.reported = null;
    plot.moveTo({ ...plot.target, x0, x1 }, false);
  }

  /** A new picture is on the screen. */
  private drawn(): void {
    this.pictures.value = this.plot.pictures;
    this.showLegend();
    this.hover.refresh();
  }

  private moved(camera: Camera): void {
    this.hover.moving();
    const { x0, x1 } = this.context.camera;
    if (!this.lanes || (x0 === camera.x0 && x1 === camera.x1)) return;
    this.reported = { x0: camera.x0, x1: camera.x1 };
    this.context.moveTo(camera.x0, camera.x1, false);
  }

  private showSelection(): void {
    const { context, plot } = this;
    const { selected } = context;
    const known = selected === null ? undefined : context.names.allocation(selected);
    plot.setSelection(
      selected === null ? null : { allocation: selected, life: known ? this.life(known) : null },
    );
    plot.setHighlight(context.highlight);
    this.showLegend();
  }

  private showLegend(): void {
    const { context, plot } = this;
    const { highlight } = context;
    this.legend.show(plot.geometry, context.palette, highlight.kind === 'area' ? highlight.key : null);
    this.showFigures();
  }

  private showFigures(): void {
    const { context, plot } = this;
    const g = plot.geometry;
    if (!g?.grouped) return;
    const looked = { hovered: this.hover.pointedAt, picked: context.cursors.first };
    const shown = legendMoment(plot, g, context.device, context.axis, looked);
    if (shown) this.legend.showFigures(g, shown);
  }

  private life(a: AllocationSummary): { x0: number; x1: number } {
    const { bounds, axis } = this.context;
    if (axis === 'event') return { x0: a.start_moment, x1: a.end_moment ?? bounds.x1 };
    return { x0: a.start_time_us ?? bounds.x0, x1: a.end_time_us ?? bounds.x1 };
  }

  private showMarks(): void {
    const { cursors, axis, bounds, flags, device } = this.context;
    this.plot.setFlags(flags.of(device.device, axis));
    this.plot.setMarks(cursors.marks(axis, bounds.x0));
  }

  private select(allocation: number, moment: number | null, then: Then): void {
    this.context.select(allocation, moment);
    if (!then) return;
    const known = this.context.names.allocation(allocation);
    if (known) then(known);
    else
      this.questions.ask(this.context.api.request('memlens/stack', { allocation }), (answer) =>
        then(answer.allocation),
      );
  }

  private selectAt(moment: number, y: number, then: Then): void {
    this.questions.ask(this.askThere(moment, y), (answer) => {
      if (!answer.allocation) return;
      this.context.names.learn([answer.allocation]);
      this.select(answer.allocation.allocation, moment, then);
    });
  }

  private askThere(moment: number, y: number): Pending<{ allocation: AllocationSummary | null }> {
    const { camera, plotSize } = this.plot;
    return this.context.api.request('memlens/mapHit', {
      device: this.context.device.device,
      moment,
      y,
      within: ((camera.y1 - camera.y0) / plotSize.height) * NEAR_PX,
      filter: this.context.filter,
    });
  }

  private zoomToSelection(): void {
    const { selected, axis, api } = this.context;
    if (selected === null) return;
    this.questions.ask(api.request('memlens/mapLocate', { allocation: selected, axis }), (box) =>
      this.plot.moveTo(fitBox(box, this.plot.bounds), true),
    );
  }

  private openLabel(allocation: AllocationSummary): void {
    if (hasSource(allocation.label)) this.context.openFrame(allocation.label, false);
    else this.context.say(t('The file has no Python frame for this allocation.'));
  }
}

type Then = ((allocation: AllocationSummary) => void) | null;
