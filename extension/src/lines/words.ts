// The text after a line, and its heat, independent of editors and colour themes.

import * as vscode from 'vscode';
import type { FileHeat, HeatLine } from '../../shared/protocol.gen';
import { formatValue } from '../base/figures';

export type Measure = 'peak' | 'total';

/** How a line is known, if no recorded stack has it. */
function sourceOf(source: HeatLine['source']): string {
  switch (source) {
    case 'recorded':
      return '';
    case 'forward':
      return ` (${vscode.l10n.t('forward')})`;
    case 'fx':
      return ` (${vscode.l10n.t('FX trace')})`;
    case 'inferred':
      return ` (${vscode.l10n.t('inferred')})`;
  }
}

/** The number of steps of a bar. A step is a factor of four; the first is a thousandth of the hottest line. */
export const STEPS = 6;

/** One line of a document with its figures in all open snapshots. */
export interface HotLine {
  /** Counted from 1. */
  line: number;
  /** 1 to STEPS; 0 if it allocated nothing. */
  step: number;
  /** Whether the line has changed since all of the snapshots. */
  stale: boolean;
  text: string;
}

const MOST_SNAPSHOTS = 3;

function bytesOf(line: HeatLine, measure: Measure): number {
  return measure === 'peak' ? line.live_at_peak_bytes : line.total_bytes;
}

/** Returns the heat of a line relative to the hottest one of its snapshot, on a logarithmic scale. */
export function stepOf(bytes: number, most: number): number {
  if (bytes <= 0 || most <= 0) return 0;
  return Math.min(Math.max(STEPS + Math.ceil(Math.log(bytes / most) / Math.log(4)), 1), STEPS);
}

/** Returns the lines that allocated, in order. The heat of a line is its maximum over all snapshots. */
export function hotLines(files: readonly FileHeat[], measure: Measure): HotLine[] {
  const byLine = new Map<number, { file: FileHeat; line: HeatLine }[]>();
  for (const file of files) {
    for (const line of file.lines) {
      if (bytesOf(line, measure) === 0) continue;
      const entries = byLine.get(line.line);
      if (entries === undefined) byLine.set(line.line, [{ file, line }]);
      else entries.push({ file, line });
    }
  }
  const several = files.length > 1;
  return [...byLine.entries()]
    .map(([number, entries]) => {
      const steps = entries.map(({ file, line }) =>
        stepOf(
          bytesOf(line, measure),
          measure === 'peak' ? file.most_live_at_peak_bytes : file.most_total_bytes,
        ),
      );
      return {
        line: number,
        step: Math.max(...steps),
        stale: entries.every(({ line }) => line.changed !== null),
        text: textOf(entries, measure, several),
      };
    })
    .sort((a, b) => a.line - b.line);
}

function textOf(entries: { file: FileHeat; line: HeatLine }[], measure: Measure, several: boolean): string {
  const parts = entries.slice(0, MOST_SNAPSHOTS).map(({ file, line }) => {
    const words = figures(file, line, measure);
    const named = several ? `${file.title}: ${words}` : words;
    return line.changed === null ? named : vscode.l10n.t('{0} ({1} then)', line.changed.message, named);
  });
  const left = entries.length - parts.length;
  if (left > 0) parts.push(vscode.l10n.t('and {0} more', left));
  return parts.join(' · ');
}

/** "my code", or "my code, library" where it charges a library's line as a stack has none of the user's. */
function ruleOf(attribution: FileHeat['attribution'], kind: HeatLine['kind']): string {
  if (attribution === 'any') return vscode.l10n.t('any code');
  switch (kind) {
    case 'user':
      return vscode.l10n.t('my code');
    case 'library':
      return vscode.l10n.t('my code, library');
    case 'native':
      return vscode.l10n.t('my code, native');
  }
}

/** "13.5 MiB live at peak, 4.50 MiB by itself (my code)": inclusive of calls, then what is charged to the line. */
export function figures(file: FileHeat, line: HeatLine, measure: Measure): string {
  const own = measure === 'peak' ? line.self_live_at_peak_bytes : line.self_total_bytes;
  const all = bytesOf(line, measure);
  const { words, unit } = file[measure];
  const itself =
    own === all
      ? ''
      : own === 0
        ? `, ${vscode.l10n.t('all of it in calls')}`
        : `, ${vscode.l10n.t('{0} by itself ({1})', formatValue(own, unit), ruleOf(file.attribution, line.kind))}`;
  return `${formatValue(all, unit)} ${words}${itself}${sourceOf(line.source)}`;
}
