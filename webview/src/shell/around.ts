// What stands around the picture and the panel of every model: the summary, the row of controls, the filter, the keys.

import { signal, type Signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { MenuEntry } from '../widgets/menu';
import { FileBar } from './file-bar';
import { FilterBox } from './filter-box';
import { findingTerms, type Offer } from './filter-terms';
import { headOf } from './head';
import type { NextStep } from './headline';
import { Help, type Part } from './help';
import type { Session } from './session';
import { Summary } from './summary';
import { comparing, type Picker } from './toolbar';

/** What differs between models. */
interface Of {
  readonly label: string;
  readonly terms: readonly Offer[];
  readonly keys: readonly Part[];
  /** What to do where nothing was found; `{0}` in it leads to a comparison. */
  readonly next: Pick<NextStep, 'text' | 'link'>;
  /** What the toolbar's menu offers. */
  readonly menu: () => readonly MenuEntry[];
  readonly focusPicture: () => void;
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

export function makeAround(session: Session, of: Of): Around {
  const { api, info, comparedWith } = session;
  const summary = new Summary(api, info.warnings, (error) => session.failed(error));
  const help = new Help(of.keys);
  const pickers = signal<readonly Picker[]>([]);
  const filterBox = new FilterBox(session, of.terms, of.focusPicture, () =>
    session.showObjects ? findingTerms((summary.findings.value ?? []).map(({ title }) => title)) : [],
  );
  const compare = comparing(api, () => session.showComparison());
  const Head = headOf(
    {
      summary,
      next: { ...of.next, press: compare.compare },
      session,
    },
    {
      label: of.label,
      pickers,
      comparedWith,
      Filter: filterBox.View,
      ...compare,
      more: of.menu,
      help: () => help.toggle(),
    },
  );
  const fileBar = new FileBar(api, () => comparedWith.value ?? '');
  return { Head, summary, pickers, filterBox, fileBar, help };
}
