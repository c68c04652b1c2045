// Figures and names as people read them.

import { bytes } from '../../../extension/shared/bytes';
import type { AllocationSummary, DeviceInfo, FlameName, Frame } from '../../../extension/shared/protocol.gen';
import { count, plural, said, t } from './l10n';
import { fileName } from './paths';
import { shortName } from './symbols';
import { shorten } from './text';
import { peakTime } from './devices';

export { bytes, count };

/** "1,288,490,188 bytes". */
export function exactBytes(value: number): string {
  return plural(value, '{0} byte', '{0} bytes');
}

export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** "34.2%" of a whole; what is little but something is not 0. */
export function share(part: number, whole: number): string {
  if (whole <= 0) return '–';
  const percent = (part / whole) * 100;
  return part > 0 && percent < 0.1 ? '<0.1%' : `${percent.toFixed(1)}%`;
}

/** A span or a point of time in microseconds: "1.204 s", "35.2 ms", "17 µs". */
export function time(us: number): string {
  const size = Math.abs(us);
  if (size < 1000) return `${trim(us, 1)} µs`;
  if (size < 1e6) return `${trim(us / 1e3, size < 1e5 ? 2 : 1)} ms`;
  if (size < 120e6) return `${trim(us / 1e6, 3)} s`;
  if (size < 7200e6) return `${Math.floor(us / 60e6)} min ${trim((us % 60e6) / 1e6, 1)} s`;
  if (size < 172800e6) return `${Math.floor(us / 3600e6)} h ${Math.floor((us % 3600e6) / 60e6)} min`;
  return `${trim(us / 86400e6, 2)} d`;
}

function trim(value: number, places: number): string {
  return String(Number(value.toFixed(places)));
}

/** A frame that names a place in a source file that could be opened. */
export interface SourceFrame extends Frame {
  kind: 'library' | 'user';
}

export function hasSource(frame: Frame | null): frame is SourceFrame {
  return frame !== null && frame.line > 0 && frame.file !== '' && frame.kind !== 'native';
}

/** How a line is known when it is not the recorded stack that says it; said wherever the line is. */
export function sourceWords({ source }: Frame): string {
  switch (source) {
    case 'recorded':
      return '';
    case 'forward':
      return t('forward line');
    case 'fx':
      return t('FX trace');
    case 'inferred':
      return t('inferred');
  }
}

/** "library" for a library's line, which "my code" charges where no frame of a stack is the user's; else empty. */
export function libraryMark({ kind }: { readonly kind: FlameName['kind'] }): string {
  return kind === 'library' ? t('library') : '';
}

/** "model.py:12", or "model.py:12 (inferred)". */
export function placeOf(frame: Frame): string {
  const words = sourceWords(frame);
  return `${fileName(frame.file)}:${frame.line}${words === '' ? '' : ` (${words})`}`;
}

/** What to call an allocation: its line of code, or the best the file has. */
export function nameOf(allocation: AllocationSummary): { title: string; place: string | null } {
  const { label, operator } = allocation;
  if (hasSource(label)) return { title: label.function, place: placeOf(label) };
  return { title: operator ?? label?.function ?? noStack(allocation), place: null };
}

/** Why an allocation has no stack: the recorder could not see it being made, or kept none. */
function noStack({ before_trace: early }: Pick<AllocationSummary, 'before_trace'>): string {
  return early ? t('Allocated before recording') : t('No stack');
}

/** Names of code in code type; that there is none is said in words. */
export function codeClass(allocation: AllocationSummary): string {
  return allocation.label === null && allocation.operator === null ? 'muted' : 'code';
}

export function stateName(state: AllocationSummary['state']): string {
  switch (state) {
    case 'freed':
      return t('freed');
    case 'live':
      return t('live at the end');
    case 'pending_free':
      return t('free requested, still held');
  }
}

const INFERRED = ' (inferred)';

/** A category as words: "optimizer_state" is "optimizer state". A file may have names of its own. */
export function categoryName(category: string): string {
  if (category.endsWith(INFERRED))
    return t('{0} (inferred)', categoryName(category.slice(0, -INFERRED.length)));
  switch (category) {
    case 'parameter':
      return t('parameter');
    case 'gradient':
      return t('gradient');
    case 'optimizer_state':
      return t('optimizer state');
    case 'parameter_or_optimizer_state':
      return t('parameter or optimizer state');
    case 'activation':
      return t('activation');
    case 'input':
      return t('input');
    case 'temporary':
      return t('temporary');
    case 'autograd_detail':
      return t('autograd detail');
    case 'unknown':
      return t('unknown');
    default:
      return category.replaceAll('_', ' ');
  }
}

/** "79.8 MiB at 545.6 ms". */
export function peakText(device: DeviceInfo): string {
  const at = peakTime(device);
  return at === null ? bytes(device.peak_bytes) : t('{0} at {1}', bytes(device.peak_bytes), time(at));
}

/** What a device is called: pinned host memory has a number, too. */
export function deviceName(devices: readonly Pick<DeviceInfo, 'device' | 'name'>[], device: number): string {
  const name = devices.find((each) => each.device === device)?.name;
  return name ? said(name) : t('Device {0}', device);
}

/** A device in a few figures, for the status line and for screen readers. */
export function deviceFigures(device: DeviceInfo): string[] {
  const live = bytes(device.live_at_end_bytes);
  const allocations = plural(device.allocations, '{0} allocation', '{0} allocations');
  if (device.events === 0)
    return [t('{0} live when the snapshot was taken', live), allocations, t('no trace')];
  return [
    t('Peak {0}', peakText(device)),
    t('{0} live at the end', live),
    allocations,
    plural(device.events, '{0} event', '{0} events'),
  ];
}

/** What may stand on a band, the best first; `known` is any allocation of its stack. */
export function bandTexts(sizeBytes: number, known: AllocationSummary | undefined): readonly string[] {
  const size = bytes(sizeBytes);
  if (!known) return [size];
  const { title, place } = nameOf(known);
  const name = shortName(title, 80);
  if (place === null) return [`${name}  ${size}`, name, size];
  const short = shorten(place, 40);
  // the place says how it is known; without it the name does
  const words = known.label ? sourceWords(known.label) : '';
  const alone = words === '' ? name : `${name} (${words})`;
  return [`${name}  ${short}  ${size}`, `${alone}  ${size}`, short, size];
}
