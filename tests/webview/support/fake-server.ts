// Answers a view's requests from a made-up run, by brute force.

import type { ViewMethod, ViewParams } from '../../../extension/shared/messages';
import type {
  AllocationSummary,
  DeviceInfo,
  Frame,
  HitAnswer,
  LiveAnswer,
  MomentAnswer,
  TimelineInfo,
  Totals,
} from '../../../extension/shared/protocol.gen';
import { writeGeometry, type PictureParts } from './geometry-writer';
import { plain } from './plain';
import type { Run } from './training-run';

/** Unix time of the first event. */
const ORIGIN_US = 1_700_000_000_000_000;

export class FakeServer {
  readonly info: TimelineInfo;
  private readonly order: number[][] = [];
  private readonly totals: number[] = [];

  constructor(
    private readonly run: Run,
    options: { categories?: boolean; times?: boolean } = {},
  ) {
    const moments = run.times.length;
    const starts: number[][] = Array.from({ length: moments }, () => []);
    const ends: number[][] = Array.from({ length: moments }, () => []);
    run.allocations.forEach((made, i) => {
      starts[made.start]?.push(i);
      if (made.end !== null) ends[made.end]?.push(i);
    });
    let live: number[] = [];
    for (let moment = 0; moment < moments; moment++) {
      const gone = new Set(ends[moment]);
      if (gone.size > 0) live = live.filter((i) => !gone.has(i));
      live = live.concat(starts[moment] ?? []);
      this.order.push(live);
      this.totals.push(live.reduce((sum, i) => sum + this.size(i), 0));
    }
    const peak = this.totals.reduce((best, total, m) => (total > (this.totals[best] ?? 0) ? m : best), 0);
    const last = this.order.at(-1) ?? [];
    const device: DeviceInfo = {
      device: 0,
      name: plain('Device 0'),
      events: moments - 1,
      allocations: run.allocations.length,
      peak_bytes: this.totals[peak] ?? 0,
      peak_moment: peak,
      peak_time_us: options.times === false ? null : (run.times[peak] ?? 0),
      live_at_start_bytes: 0,
      live_at_end_bytes: this.totals.at(-1) ?? 0,
      live_at_end_count: last.length,
      reserved_at_end_bytes: (this.totals[peak] ?? 0) * 1.07,
      ooms: 0,
      event_axis: { x0: 0, x1: moments },
      time_axis: options.times === false ? null : { x0: 0, x1: (run.times.at(-1) ?? 0) + 1 },
      time_origin_us: options.times === false ? null : ORIGIN_US,
    };
    this.info = {
      kind: 'torch',
      model: 'timeline',
      path: '/home/dev/train/snapshot.pickle',
      file_bytes: 1e7,
      devices: [device, { ...device, device: 1, peak_bytes: device.peak_bytes }],
      default_device: 0,
      mixed_stacks: false,
      categories: options.categories === false ? [] : run.categories,
      warnings: [
        {
          code: 'ring_buffer',
          message: {
            text: 'The recorder kept only the last 100,000 events: what was freed before them is not in the file.',
            ...{ template: '', values: {} },
          },
          device: 0,
        },
      ],
    };
  }

  /** What the host would post back; geometry is an ArrayBuffer. */
  answer(method: ViewMethod, params: unknown): unknown {
    // SAFETY: the view sends a method's own parameters; this stands in for the host.
    switch (method) {
      case 'memlens/viewport':
        return { geometry: this.viewport(params as ViewParams<'memlens/viewport'>) };
      case 'memlens/overview':
        return this.overview(params as ViewParams<'memlens/overview'>);
      case 'memlens/hit':
        return this.hit(params as ViewParams<'memlens/hit'>);
      case 'memlens/stack':
        return this.stack((params as ViewParams<'memlens/stack'>).allocation);
      case 'memlens/live':
        return this.live(params as ViewParams<'memlens/live'>);
      case 'memlens/locate':
        return this.locate(params as ViewParams<'memlens/locate'>);
      case 'memlens/step':
        return this.step(params as ViewParams<'memlens/step'>);
      case 'memlens/line':
        return this.line(params as ViewParams<'memlens/line'>);
      case 'memlens/moment':
        return this.moment((params as ViewParams<'memlens/moment'>).moment);
      default:
        throw new Error(`the made run can't answer ${method}`);
    }
  }

  viewport(params: ViewParams<'memlens/viewport'>): ArrayBuffer {
    const { columns, rows, x0, x1, y0, y1 } = params;
    const quantum = (y1 - y0) / rows;
    const parts: PictureParts = { x0, x1, y0, y1, yQuantum: quantum, columns: [], bands: [], rects: [] };
    const bandOf = new Map<number, number>();
    const open = new Map<string, PictureParts['rects'][number]>();
    for (let column = 0; column < columns; column++) {
      const from = x0 + ((x1 - x0) * column) / columns;
      const { moment, seen } = this.highest(params.axis, from, from + (x1 - x0) / columns);
      const live = this.order[moment] ?? [];
      parts.columns.push({
        total: this.totals[moment] ?? 0,
        moment,
        live: live.length,
        passed: Math.max(0, Math.floor(seen / 2) - 1),
      });
      let sum = 0;
      let merged = 0;
      let mergedFrom = 0;
      const flush = (to: number): void => {
        if (merged > 0 && to > mergedFrom) put(parts, open, column, mergedFrom, to, undefined, merged);
        if (to > mergedFrom) merged = 0;
      };
      for (const i of live) {
        const low = clamp(Math.round((sum - y0) / quantum), rows);
        sum += this.size(i);
        const high = clamp(Math.round((sum - y0) / quantum), rows);
        if (this.size(i) < quantum) {
          if (merged === 0) mergedFrom = low;
          merged++;
          continue;
        }
        flush(low);
        mergedFrom = high; // what had no room of its own goes to the next merged band
        if (high <= low) continue;
        let band = bandOf.get(i);
        if (band === undefined) {
          band = parts.bands.length;
          bandOf.set(i, band);
          const made = this.run.allocations[i];
          parts.bands.push({
            size: this.size(i),
            allocation: i,
            stack: made?.stack ?? 0,
            category: this.info.categories.length > 0 ? (made?.category ?? 255) : 255,
          });
        }
        put(parts, open, column, low, high, band, undefined);
      }
      flush(clamp(Math.round((sum - y0) / quantum), rows));
    }
    return writeGeometry(parts);
  }

  private highest(axis: 'time' | 'event', from: number, to: number): { moment: number; seen: number } {
    const { times } = this.run;
    const a = axis === 'time' ? momentAt(times, from) : Math.floor(from);
    const b = axis === 'time' ? momentAt(times, to) : Math.ceil(to) - 1;
    let best = Math.min(Math.max(a, 0), times.length - 1);
    for (let m = best; m <= Math.min(b, times.length - 1); m++) {
      if ((this.totals[m] ?? 0) > (this.totals[best] ?? 0)) best = m;
    }
    return { moment: best, seen: Math.max(0, b - a) };
  }

  private overview(params: ViewParams<'memlens/overview'>): unknown {
    const device = this.info.devices[0];
    const range = (params.axis === 'time' ? device?.time_axis : device?.event_axis) ?? { x0: 0, x1: 1 };
    const highest = new Float64Array(params.columns);
    const lowest = new Float64Array(params.columns);
    for (let i = 0; i < params.columns; i++) {
      const from = range.x0 + ((range.x1 - range.x0) * i) / params.columns;
      const { moment } = this.highest(params.axis, from, from + (range.x1 - range.x0) / params.columns);
      highest[i] = this.totals[moment] ?? 0;
      lowest[i] = (this.totals[moment] ?? 0) * 0.8;
    }
    return {
      ...range,
      columns: params.columns,
      peak_bytes: device?.peak_bytes ?? 0,
      highest: base64(highest),
      lowest: base64(lowest),
    };
  }

  private moment(moment: number | null): MomentAnswer {
    const { events = 0, peak_moment = 0 } = this.info.devices[0] ?? {};
    const at = Math.min(Math.max(moment ?? peak_moment, 0), events);
    return {
      moment: at,
      time_us: this.run.times[at] ?? null,
      live_bytes: this.totals[at] ?? 0,
      live_count: this.order[at]?.length ?? 0,
      is_peak: at === peak_moment,
    };
  }

  private hit(params: ViewParams<'memlens/hit'>): HitAnswer {
    const live = this.order[params.moment] ?? [];
    let sum = 0;
    const found = live.find((i) => (sum += this.size(i)) > params.y_bytes);
    return {
      moment: params.moment,
      time_us: this.run.times[params.moment] ?? null,
      live_bytes: this.totals[params.moment] ?? 0,
      live_count: live.length,
      allocation: found === undefined ? null : this.summary(found),
    };
  }

  private stack(allocation: number): unknown {
    const summary = this.summary(allocation);
    return {
      allocation: summary,
      frames: framesOf(summary.label, summary.operator ?? ''),
      fx_traces: [],
      forward_frames: [],
      freed_frames: summary.state === 'freed' ? framesOf(summary.label, 'aten::free') : [],
      same_stack: this.sum((i) => this.run.allocations[i]?.stack === summary.stack),
      inferred_module: null,
      stack_of_free: false,
      inferred_block_bytes: null,
    };
  }

  private live(params: ViewParams<'memlens/live'>): LiveAnswer {
    const moment = params.moment ?? this.info.devices[0]?.peak_moment ?? 0;
    const live = [...(this.order[moment] ?? [])].sort((a, b) => this.size(b) - this.size(a));
    return {
      moment,
      time_us: this.run.times[moment] ?? null,
      live_bytes: this.totals[moment] ?? 0,
      live_count: live.length,
      offset: params.offset,
      rows: live.slice(params.offset, params.offset + params.limit).map((i) => this.summary(i)),
    };
  }

  private locate(params: ViewParams<'memlens/locate'>): unknown {
    const made = this.run.allocations[params.allocation];
    if (!made) throw new Error('There is no such allocation.');
    const end = made.end ?? this.run.times.length;
    let moment = params.moment ?? made.start;
    if (params.moment === null) {
      for (let m = made.start; m < end; m++)
        if ((this.totals[m] ?? 0) > (this.totals[moment] ?? 0)) moment = m;
    }
    let y0 = 0;
    for (const i of this.order[moment] ?? []) {
      if (i === params.allocation) break;
      y0 += this.size(i);
    }
    const x = (m: number): number =>
      params.axis === 'event' ? m : (this.run.times[m] ?? this.run.times.at(-1) ?? 0);
    return {
      device: 0,
      allocation: params.allocation,
      moment,
      x0: x(made.start),
      x1: x(end),
      y0,
      y1: y0 + made.size,
    };
  }

  private step(params: ViewParams<'memlens/step'>): { allocation: AllocationSummary | null } {
    const { allocation, direction } = params;
    const { stack } = this.run.allocations[allocation] ?? { stack: -1 };
    const among =
      direction === 'older' || direction === 'younger'
        ? (this.order[params.moment] ?? [])
        : [...this.run.allocations.keys()].filter((i) => this.run.allocations[i]?.stack === stack);
    const by = direction === 'older' || direction === 'previous_same_stack' ? -1 : 1;
    const next = among[among.indexOf(allocation) + by];
    return { allocation: next === undefined || !among.includes(allocation) ? null : this.summary(next) };
  }

  private line(params: ViewParams<'memlens/line'>): unknown {
    const stacks = [...this.run.stacks.keys()].filter(
      (s) => this.run.stacks[s]?.file === params.file && this.run.stacks[s].line === params.line,
    );
    return {
      ...params,
      stacks,
      totals: this.sum((i) => stacks.includes(this.run.allocations[i]?.stack ?? -1)),
    };
  }

  private sum(include: (allocation: number) => boolean): Totals {
    const all = [...this.run.allocations.keys()].filter(include);
    const peak = new Set(this.order[this.info.devices[0]?.peak_moment ?? 0]);
    const bytesOf = (ids: number[]): number => ids.reduce((total, i) => total + this.size(i), 0);
    const atPeak = all.filter((i) => peak.has(i));
    const largest = all.reduce((best, i) => (this.size(i) > this.size(best) ? i : best), all[0] ?? 0);
    return {
      total_bytes: bytesOf(all),
      count: all.length,
      live_at_peak_bytes: bytesOf(atPeak),
      live_at_peak_count: atPeak.length,
      live_at_end_bytes: bytesOf(all.filter((i) => this.run.allocations[i]?.end === null)),
      largest_bytes: this.size(largest),
      largest_allocation: all.length > 0 ? largest : null,
    };
  }

  private summary(allocation: number): AllocationSummary {
    const made = this.run.allocations[allocation];
    if (!made) throw new Error('There is no such allocation.');
    const stack = this.run.stacks[made.stack];
    const start = this.run.times[made.start] ?? null;
    const end = made.end === null ? null : (this.run.times[made.end] ?? null);
    return {
      allocation,
      device: 0,
      address: `0x${(0x7f3a00000000 + allocation * 0x200000).toString(16)}`,
      size_bytes: made.size,
      rounded_bytes: Math.ceil(made.size / 2 ** 21) * 2 ** 21,
      start_moment: made.start,
      end_moment: made.end,
      start_time_us: start,
      end_time_us: end,
      lifetime_us: start === null || end === null ? null : end - start,
      state: made.end === null ? 'live' : 'freed',
      before_trace: false,
      stream: '0',
      stack: made.stack,
      category: this.info.categories[made.category] ?? null,
      label: stack
        ? { file: stack.file, line: stack.line, function: stack.function, kind: 'user', source: 'recorded' }
        : null,
      operator: stack?.operator ?? null,
    };
  }

  private size(allocation: number): number {
    return this.run.allocations[allocation]?.size ?? 0;
  }
}

function framesOf(label: Frame | null, operator: string): Frame[] {
  const native = [
    'c10::cuda::CUDACachingAllocator::malloc(unsigned long)',
    `at::_ops::${operator}::call(at::Tensor const&)`,
  ];
  const library = ['linear', '_call_impl', '_wrapped_call_impl', 'forward'];
  return [
    ...native.map((name): Frame => ({
      file: '??',
      line: 0,
      function: name,
      kind: 'native',
      source: 'recorded',
    })),
    ...library.map((name, i): Frame => ({
      file: `/usr/lib/python3.11/site-packages/torch/nn/modules/${i === 0 ? 'linear' : 'module'}.py`,
      line: 1518 + i,
      function: name,
      kind: 'library',
      source: 'recorded',
    })),
    ...(label ? [label] : []),
    {
      file: '/usr/lib/python3.11/site-packages/torch/nn/modules/module.py',
      line: 1518,
      function: '_call_impl',
      kind: 'library',
      source: 'recorded',
    },
    {
      file: '/home/dev/train/model.py',
      line: 140,
      function: 'Transformer.forward',
      kind: 'user',
      source: 'recorded',
    },
    {
      file: '/usr/lib/python3.11/site-packages/torch/nn/modules/module.py',
      line: 1518,
      function: '_call_impl',
      kind: 'library',
      source: 'recorded',
    },
    {
      file: '/usr/lib/python3.11/site-packages/torch/nn/modules/module.py',
      line: 1527,
      function: '_wrapped_call_impl',
      kind: 'library',
      source: 'recorded',
    },
    { file: '/home/dev/train/train.py', line: 44, function: 'train_step', kind: 'user', source: 'recorded' },
    { file: '/home/dev/train/train.py', line: 71, function: '<module>', kind: 'user', source: 'recorded' },
  ];
}

function put(
  parts: PictureParts,
  open: Map<string, PictureParts['rects'][number]>,
  column: number,
  y0: number,
  y1: number,
  band: number | undefined,
  merged: number | undefined,
): void {
  const key = `${band ?? `m${merged ?? 0}`}:${y0}:${y1}`;
  const before = open.get(key);
  if (before?.x1 === column) {
    before.x1 = column + 1;
    return;
  }
  const rect = {
    x0: column,
    x1: column + 1,
    y0,
    y1,
    ...(band === undefined ? { merged: merged ?? 1 } : { band }),
  };
  open.set(key, rect);
  parts.rects.push(rect);
}

function momentAt(times: readonly number[], time: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((times[middle] ?? 0) <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

function clamp(value: number, most: number): number {
  return Math.min(Math.max(value, 0), most);
}

function base64(values: Float64Array): string {
  return btoa(Array.from(new Uint8Array(values.buffer), (byte) => String.fromCharCode(byte)).join(''));
}
