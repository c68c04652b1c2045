// What stands around the picture and the panel of every model: the summary, the row of controls, the filter, the keys.

import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { Evidence, LineLink, ObjectsLink, SnapshotInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { MenuEntry } from '../widgets/menu';
import { FileBar } from './file-bar';
import { FilterBox } from './filter-box';
import { findingTerms, type Offer } from './filter-terms';
import { headOf } from './head';
import type { NextStep } from './headline';
import { Help, type Part } from './help';
import { Summary } from './summary';
import { comparing, type Picker } from './toolbar';

/** What is asked of the view that they stand around. */
export interface AroundOwner {
  /** The name of what it is compared with. */
  readonly comparedWith: ReadonlySignal<string | null>;
  setFilter(filter: string): void;
  focusPicture(): void;
  open(line: LineLink, beside: boolean): void;
  /** Shows the evidence of a sentence. */
  showEvidence(evidence: Evidence): void;
  /** Of a model whose findings are about objects. */
  showObjects?(objects: ObjectsLink): void;
  showComparison(): void;
  copy(text: string): void;
  /** What the toolbar's menu offers. */
  menu(): readonly MenuEntry[];
  failed(error: unknown): void;
}

/** What differs between models. */
interface Of {
  readonly label: string;
  readonly terms: readonly Offer[];
  readonly keys: readonly Part[];
  /** What to do where nothing was found; `{0}` in it leads to a comparison. */
  readonly next: Pick<NextStep, 'text' | 'link'>;
}

export interface Around {
  readonly Head: ComponentType;
  readonly summary: Summary;
  /** What the toolbar lets one choose. */
  readonly pickers: Signal<readonly Picker[]>;
  readonly filterBox: FilterBox;
  readonly fileBar: FileBar;
  readonly help: Help;
}

export function makeAround(api: Api, info: SnapshotInfo, owner: AroundOwner, of: Of): Around {
  const summary = new Summary(api, info.warnings, (error) => owner.failed(error));
  const help = new Help(of.keys);
  const pickers = signal<readonly Picker[]>([]);
  const filterBox = new FilterBox(
    of.terms,
    {
      apply: (text) => owner.setFilter(text),
      leave: () => owner.focusPicture(),
    },
    () => (owner.showObjects ? findingTerms((summary.findings.value ?? []).map(({ title }) => title)) : []),
  );
  const compare = comparing(api, () => owner.showComparison());
  const Head = headOf(
    {
      summary,
      next: { ...of.next, press: compare.compare },
      actions: {
        open: (line, beside) => owner.open(line, beside),
        show: (evidence) => owner.showEvidence(evidence),
        showObjects: owner.showObjects
          ? (objects) => {
              owner.showObjects?.(objects);
            }
          : null,
        copy: (text) => owner.copy(text),
      },
    },
    {
      ...{ label: of.label, pickers, comparedWith: owner.comparedWith, Filter: filterBox.View },
      ...compare,
      more: () => owner.menu(),
      help: () => help.toggle(),
    },
  );
  const fileBar = new FileBar(api, () => owner.comparedWith.value ?? '');
  return { Head, summary, pickers, filterBox, fileBar, help };
}
