// A stand-in for the host: passes requests on to a real server, or else answers every viewport with as many bands as asked
// for, at any zoom, so that each frame of the bench bears the full load.

import type { FromWebviewMessage, ToWebviewMessage } from '../../../extension/shared/messages';
import type { Area, DeviceInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import {
  withGroups,
  writeGeometry,
  type GroupParts,
  type PictureParts,
} from '../../webview/support/geometry-writer';
import type { PictureRequest } from '../../../webview/src/timeline/scene/fetch';
import { plain } from '../../webview/support/plain';

const PEAK = 64 * 2 ** 30;
const LENGTH = 1e9;
/** Groups of the picture, as many as the server names, and all others. */
const AREAS = 21;
const BENCH_SERVER = 'server.invalid';

declare global {
  interface Window {
    benchBands: number;
    benchPicture?: { bands: number; rects: number; answers: number };
    /** A snapshot that a real server has open. */
    benchInfo?: TimelineInfo;
  }
}

const areas = Array.from({ length: AREAS }, (_, key): Area => ({
  ...{
    key,
    name: plain(`train.py:${key + 1}`),
    detail: plain('step'),
    place: null,
    filter: `file:"train.py:${key + 1}"`,
  },
  ...{ colour: key, groups: 1, peak_bytes: (PEAK * 0.9) / AREAS },
}));

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
  const areaOf = (level: number): number => Math.floor((level * AREAS) / levels);
  const groups: GroupParts = { bands: [], groups: AREAS, changes: [] };
  for (let column = 0; column < columns; column++)
    for (let group = 0; group < AREAS; group++)
      if (column === 0 || (column + group) % AREAS === 0)
        groups.changes.push({
          ...{ column, group, count: Math.ceil(levels / AREAS) },
          bytes: ((PEAK * 0.9) / AREAS) * (1 - ((column + group) % 7) / 100),
        });
  for (let i = 0; i < wanted; i++) {
    const slot = Math.floor(i / levels);
    const level = i % levels;
    parts.bands.push({
      size: (PEAK * 0.9) / levels,
      allocation: i,
      stack: (i * 7919) % 3000,
      category: i % 7,
    });
    groups.bands.push(areaOf(level));
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
  const packed = writeGeometry(parts);
  return request.areas ? withGroups(packed, groups) : packed;
}

const device: DeviceInfo = {
  device: 0,
  name: plain('Device 0'),
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
  mixed_stacks: false,
  categories: [],
  warnings: [],
};

function answer(method: string, params: unknown): unknown {
  // The view sends a method's own parameters.
  if (method === 'memlens/viewport') {
    const request = params as PictureRequest;
    return { geometry: picture(request, window.benchBands), areas: request.areas ? areas : [] };
  }
  const none = { moment: 0, time_us: 0, live_bytes: 0, live_count: 0 };
  if (method === 'memlens/live') return { ...none, offset: 0, rows: [] };
  if (method !== 'memlens/overview') return null; // never answered: hovers show what the picture knows
  return { x0: 0, x1: LENGTH, columns: 0, peak_bytes: PEAK, highest: '', lowest: '' };
}

const post = (reply: ToWebviewMessage): void => {
  window.postMessage(reply, '*');
};

/** Asks the server; its answer is JSON, and behind that a picture in binary form, as VS Code hands it to a page. */
async function passOn(id: number, method: string, params: unknown): Promise<void> {
  const asked = { method: 'POST', body: JSON.stringify({ method, params }) };
  const answered = await fetch(`https://${BENCH_SERVER}/`, asked);
  const length = Number(answered.headers.get('x-json-bytes'));
  const bytes = await answered.arrayBuffer();
  const result = JSON.parse(new TextDecoder().decode(bytes.slice(0, length))) as object;
  const geometry = bytes.slice(length);
  if (method === 'memlens/viewport') {
    const { bands = 0, rects = 0, answers = 0 } = window.benchPicture ?? {};
    const counts = new DataView(geometry, 8, 8);
    window.benchPicture = {
      bands: Math.max(counts.getUint32(0, true), bands),
      rects: Math.max(counts.getUint32(4, true), rects),
      answers: answers + 1,
    };
  }
  post({ type: 'response', id, ok: true, result: geometry.byteLength ? { ...result, geometry } : result });
}

function receive(message: FromWebviewMessage): void {
  if (message.type === 'ready')
    post({ type: 'opened', info: window.benchInfo ?? info, heap: null, state: null });
  if (message.type === 'request' && window.benchInfo) void passOn(message.id, message.method, message.params);
  else if (message.type === 'request') {
    setTimeout(() => {
      const result = answer(message.method, message.params);
      if (result !== null) post({ type: 'response', id: message.id, ok: true, result });
    }, 15);
  }
}

Object.assign(window, {
  acquireVsCodeApi: () => ({ postMessage: receive, getState: () => undefined, setState: () => undefined }),
});
