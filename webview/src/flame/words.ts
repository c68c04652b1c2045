// Frames and figures of a flame graph in words.

import type { FlameName, FlameNode } from '../../../extension/shared/protocol.gen';
import { countedFigure, figure, figureAndCount } from '../base/figure';
import { said, t } from '../base/l10n';
import { fileName } from '../base/paths';
import { shorten } from '../base/text';
import type { BoxFacts } from './boxes';

/** What stands after the name of a frame that called nothing, and what it is in full. */
const SOURCES: Record<FlameName['source'], { mark: string; meaning: string }> = {
  recorded: { mark: '', meaning: '' },
  forward: { mark: t('forward'), meaning: t('forward stack of a backward operator, no caller') },
  fx: { mark: t('FX trace'), meaning: t('FX trace of generated code, no caller') },
  inferred: { mark: t('inferred'), meaning: t('inferred') },
};

/** "step", or "step (forward)" for what was recorded beside the stack. */
export function nameText({ function: inFile, said: own, source }: FlameName): string {
  const { mark } = SOURCES[source];
  const name = own ? said(own) : inFile;
  return mark === '' ? name : `${name} (${mark})`;
}

/** Files of one flame graph: by the shortest end that distinguishes them, or whole. */
export class Places {
  constructor(private readonly whole: () => boolean) {}

  /** "model.py:12", "model.py" where several lines are merged; empty for what has no place. */
  of({ file, line }: Pick<FlameName, 'file' | 'line'>): string {
    const name = this.whole() ? shorten(file, 240) : shorten(fileName(file), 60);
    return file === '' ? '' : line > 0 ? `${name}:${line}` : name;
  }
}

/** "library torch", "your code"; empty for what stands for no frame. For frames that called nothing it says so. */
export function kindOf({ kind, package: name, source }: FlameName): string {
  const whose = {
    user: () => t('your code'),
    library: () => t('library {0}', name),
    native: () => t('native code'),
    none: () => '',
  }[kind]();
  return [whose, SOURCES[source].meaning].filter(Boolean).join(' · ');
}

/** "12.3%", with as many places as it takes to be more than nothing. */
export function share(part: number, whole: number): string {
  if (whole <= 0) return '0%';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.01) return '<0.01%';
  return `${Number(percent.toPrecision(percent >= 10 ? 3 : 2))}%`;
}

export function amount(value: number, isCount: boolean): string {
  return isCount ? countedFigure(value) : figure(value);
}

/** Both values of a node: "1.2 GiB in 34 allocations". */
export function both(sizeBytes: number, count: number): string {
  return figureAndCount(sizeBytes, count);
}

/** Without a `total` no share of it is shown. */
export function nodeSentence(
  node: FlameNode,
  places: Places,
  total: number | null,
  isCount: boolean,
): string {
  const part = isCount ? node.count : node.bytes;
  const place = places.of(node.name);
  return `${nameText(node.name)}${place ? `, ${place}` : ''}: ${both(node.bytes, node.count)}${total === null ? '' : `, ${share(part, total)}`}`;
}

/** What the picture was zoomed to; `figures` are those of the box. */
export function zoomSentence(
  { more, name }: Pick<BoxFacts, 'more' | 'name'>,
  names: ReadonlyMap<number, FlameName>,
  figures: string,
): string {
  const known = more ? undefined : names.get(name);
  return known
    ? t('Zoomed to {0}: {1}', shorten(nameText(known), 100), figures)
    : t('Zoomed to boxes of {0}', figures);
}
