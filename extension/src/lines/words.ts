// What is written behind a line, and how hot it is: the same for every editor and colour theme.

import type { FileHeat, HeatLine } from '../../shared/protocol.gen';
import { formatValue } from '../base/figures';

export type Measure = 'peak' | 'total';

const ATTRIBUTIONS: Readonly<Record<FileHeat['attribution'], string>> = { mine: 'my code', any: 'any code' };

/** Bars grow by a step for every factor of four, down to a thousandth of the snapshot's hottest line. */
export const STEPS = 6;

/** One line of a document and what each open snapshot says about it. */
export interface HotLine {
  /** Counted from 1. */
  line: number;
  /** 1 to STEPS; 0 for nothing. */
  step: number;
  /** Whether all that is said about it is about a line that has changed since. */
  stale: boolean;
  text: string;
}

const MOST_SNAPSHOTS = 3;

export function bytesOf(line: HeatLine, measure: Measure): number {
  return measure === 'peak' ? line.live_at_peak_bytes : line.total_bytes;
}

/** How hot a line is beside the hottest of its snapshot, on a scale of logarithms. */
export function stepOf(bytes: number, most: number): number {
  if (bytes <= 0 || most <= 0) return 0;
  return Math.min(Math.max(STEPS + Math.ceil(Math.log(bytes / most) / Math.log(4)), 1), STEPS);
}

/** The lines that allocated, first to last. In several snapshots a line is as hot as in the hottest. */
export function hotLines(files: readonly FileHeat[], measure: Measure): HotLine[] {
  const found = new Map<number, { file: FileHeat; line: HeatLine }[]>();
  for (const file of files) {
    for (const line of file.lines) {
      if (bytesOf(line, measure) === 0) continue;
      const known = found.get(line.line);
      if (known === undefined) found.set(line.line, [{ file, line }]);
      else known.push({ file, line });
    }
  }
  const several = files.length > 1;
  return [...found.entries()]
    .map(([number, told]) => {
      const steps = told.map(({ file, line }) =>
        stepOf(
          bytesOf(line, measure),
          measure === 'peak' ? file.most_live_at_peak_bytes : file.most_total_bytes,
        ),
      );
      return {
        line: number,
        step: Math.max(...steps),
        stale: told.every(({ line }) => line.changed !== null),
        text: textOf(told, measure, several),
      };
    })
    .sort((a, b) => a.line - b.line);
}

function textOf(told: { file: FileHeat; line: HeatLine }[], measure: Measure, several: boolean): string {
  const parts = told.slice(0, MOST_SNAPSHOTS).map(({ file, line }) => {
    const words = figures(file, line, measure);
    const named = several ? `${file.title}: ${words}` : words;
    return line.changed === null ? named : `${line.changed.message} (${named} then)`;
  });
  const left = told.length - parts.length;
  if (left > 0) parts.push(`and ${left} more`);
  return parts.join(' · ');
}

/** "my code", or "my code, library" where it charges a library's line as a stack has none of the user's. */
function ruleOf(attribution: FileHeat['attribution'], kind: HeatLine['kind']): string {
  const name = ATTRIBUTIONS[attribution];
  return attribution === 'mine' && kind !== 'user' ? `${name}, ${kind}` : name;
}

/** "13.5 MiB live at peak, 4.50 MiB by itself (my code)": with all that the line calls, then what is charged to it. */
export function figures(file: FileHeat, line: HeatLine, measure: Measure): string {
  const own = measure === 'peak' ? line.self_live_at_peak_bytes : line.self_total_bytes;
  const all = bytesOf(line, measure);
  const { words, unit } = file[measure];
  const itself =
    own === all
      ? ''
      : own === 0
        ? ', all in calls'
        : `, ${formatValue(own, unit)} by itself (${ruleOf(file.attribution, line.kind)})`;
  return `${formatValue(all, unit)} ${words}${itself}`;
}
