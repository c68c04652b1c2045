import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';

/** A file beside another one; `laterMs` is by how much it was written later, negative for an earlier one. */
export interface Sibling {
  path: string;
  laterMs: number;
}

const MOST = 200;

/** The files of the same kind beside a file, as {@link inOrder} has them. */
export async function siblingsOf(file: string): Promise<Sibling[]> {
  const folder = path.dirname(file);
  const kind = kindOf(path.basename(file));
  const names = (await readdir(folder)).filter((name) => kindOf(name) === kind);
  const { mtimeMs: own } = await stat(file);
  const found: Sibling[] = [];
  for (const name of names.slice(0, MOST)) {
    const each = path.join(folder, name);
    if (each === file) continue;
    try {
      const about = await stat(each);
      if (about.isFile()) found.push({ path: each, laterMs: about.mtimeMs - own });
    } catch {
      // it is gone already
    }
  }
  return inOrder(found, file);
}

/** Files that were written within so long of each other were copied or unpacked together. */
const TOGETHER_MS = 2_000;

/** The nearest in time first, the earlier ones before the later ones; of one time that with the most similar name. */
export function inOrder(siblings: readonly Sibling[], file: string): Sibling[] {
  const rounded = siblings.map((each) =>
    Math.abs(each.laterMs) < TOGETHER_MS ? { ...each, laterMs: 0 } : each,
  );
  const byName = rounded.toSorted((a, b) => {
    const similar = alike(b.path, file) - alike(a.path, file);
    return similar === 0 ? a.path.localeCompare(b.path) : similar;
  });
  const earlier = byName.filter(({ laterMs }) => laterMs <= 0).sort((a, b) => b.laterMs - a.laterMs);
  const later = byName.filter(({ laterMs }) => laterMs > 0).sort((a, b) => a.laterMs - b.laterMs);
  return [...earlier, ...later];
}

/** How many letters two texts have in common at their beginning. */
function alike(one: string, other: string): number {
  let many = 0;
  while (many < one.length && one[many] === other[many]) many++;
  return many;
}

/** "written 2 hours earlier": it is the file that has the time, not what was recorded. */
export function whenOf(laterMs: number): string {
  const seconds = Math.abs(laterMs) / 1000;
  const [size, unit] = UNITS.find(([each]) => seconds >= each) ?? [1, 'second'];
  const amount = Math.round(seconds / size);
  if (amount === 0) return vscode.l10n.t('written at the same time');
  const words = durationOf(amount, unit);
  return laterMs <= 0
    ? vscode.l10n.t('written {0} earlier', words)
    : vscode.l10n.t('written {0} later', words);
}

type Unit = 'day' | 'hour' | 'minute' | 'second';

const UNITS: readonly (readonly [number, Unit])[] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
];

function durationOf(amount: number, unit: Unit): string {
  switch (unit) {
    case 'day':
      return amount === 1 ? vscode.l10n.t('1 day') : vscode.l10n.t('{0} days', amount);
    case 'hour':
      return amount === 1 ? vscode.l10n.t('1 hour') : vscode.l10n.t('{0} hours', amount);
    case 'minute':
      return amount === 1 ? vscode.l10n.t('1 minute') : vscode.l10n.t('{0} minutes', amount);
    case 'second':
      return amount === 1 ? vscode.l10n.t('1 second') : vscode.l10n.t('{0} seconds', amount);
  }
}

/** What a recorder gives its files in common: the ending, or the beginning where the ending is a number. */
export function kindOf(name: string): string {
  const [, numbered] = /^(.+\.(?:out|[a-z]+))\.\d+$/i.exec(name) ?? [];
  if (numbered !== undefined) return numbered;
  const ending = /(?:\.[a-z]\w*){1,2}$/i.exec(name)?.[0].toLowerCase() ?? '';
  const last = ending.split('.').at(-1) ?? '';
  const packed = ['gz', 'zst'].includes(last);
  return packed ? ending : last === 'pkl' ? 'pickle' : last;
}
