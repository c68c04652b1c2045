// A stand-in for the host: answers every viewport with as many bands as asked for, at any zoom, so that each frame
// of the bench bears the full load.

import type { FromWebviewMessage, ToWebviewMessage } from '../../../extension/shared/messages';
import type { DeviceInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import { writeGeometry, type PictureParts } from '../../webview/support/geometry-writer';
import type { PictureRequest } from '../../../webview/src/timeline/scene/fetch';

const PEAK = 64 * 2 ** 30;
const LENGTH = 1e9;

declare global {
  interface Window {
    benchBands: number;
    benchPicture?: { bands: number; rects: number; answers: number };
  }
}

/** Bands side by side in slots of time and on each other in levels; half of them step once. */
function picture(request: PictureRequest, wanted: number): ArrayBuffer {
  const { x0, x1, y0, y1, columns, rows } = request;
  const levels = Math.max(1, Math.min(Math.floor(rows / 2), 200));
  const slots = Math.ceil(wanted / levels);
  const yQuantum = (y1 - y0) / rows;
  const parts: PictureParts = { x0, x1, y0, y1, yQuantum, columns: [], bands: [], rects: [] };
  for (let column = 0; column < columns; column++) {
    parts.columns.push({ total: PEAK * 0.9, moment: column, live: levels, passed: 3 });
  }
  const edge = (slot: number): number => Math.round((slot * columns) / slots);
  const height = (level: number): number => Math.round((level * rows * 0.9) / levels);
  for (let i = 0; i < wanted; i++) {
    const slot = Math.floor(i / levels);
    const level = i % levels;
    parts.bands.push({
      size: (PEAK * 0.9) / levels,
      allocation: i,
      stack: (i * 7919) % 3000,
      category: i % 7,
    });
    const [left, right] = [edge(slot), edge(slot + 1)];
    const [low, high] = [height(level), height(level + 1)];
    if (right <= left) continue;
    const middle = (left + right) >> 1;
    const steps = level % 2 === 1 && middle > left && high - low > 1;
    if (!steps) {
      parts.rects.push({ x0: left, x1: right, y0: low, y1: high, band: i });
      continue;
    }
    parts.rects.push({ x0: left, x1: middle, y0: low, y1: high, band: i });
    parts.rects.push({ x0: middle, x1: right, y0: low, y1: high - 1, band: i });
  }
  window.benchPicture = {
    bands: wanted,
    rects: parts.rects.length,
    answers: (window.benchPicture?.answers ?? 0) + 1,
  };
  return writeGeometry(parts);
}

const device: DeviceInfo = {
  device: 0,
  name: 'Device 0',
  events: 2_000_000,
  allocations: 900_000,
  peak_bytes: PEAK,
  peak_moment: 1_200_000,
  peak_time_us: 6e8,
  live_at_start_bytes: 0,
  live_at_end_bytes: 2 ** 30,
  live_at_end_count: 1000,
  reserved_at_end_bytes: PEAK,
  ooms: 0,
  event_axis: { x0: 0, x1: 2_000_001 },
  time_axis: { x0: 0, x1: LENGTH },
  time_origin_us: 1.7e15,
};

const info: TimelineInfo = {
  kind: 'torch',
  model: 'timeline',
  path: 'bench.pickle',
  file_bytes: 3.3e8,
  devices: [device],
  default_device: 0,
  categories: [],
  warnings: [],
};

function answer(method: string, params: unknown): unknown {
  // The view sends a method's own parameters.
  if (method === 'memlens/viewport')
    return { geometry: picture(params as PictureRequest, window.benchBands) };
  const none = { moment: 0, time_us: 0, live_bytes: 0, live_count: 0 };
  if (method === 'memlens/live') return { ...none, offset: 0, rows: [] };
  if (method !== 'memlens/overview') return null; // never answered: hovers show what the picture knows
  return { x0: 0, x1: LENGTH, columns: 0, peak_bytes: PEAK, highest: '', lowest: '' };
}

function receive(message: FromWebviewMessage): void {
  const post = (reply: ToWebviewMessage): void => {
    window.postMessage(reply, '*');
  };
  if (message.type === 'ready') post({ type: 'opened', info, state: null });
  if (message.type === 'request') {
    setTimeout(() => {
      const result = answer(message.method, message.params);
      if (result !== null) post({ type: 'response', id: message.id, ok: true, result });
    }, 15);
  }
}

Object.assign(window, {
  acquireVsCodeApi: () => ({ postMessage: receive, getState: () => undefined, setState: () => undefined }),
});
