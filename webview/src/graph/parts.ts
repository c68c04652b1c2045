// What a heap dump's view is made of, put together.

import { signal, type ReadonlySignal } from '@preact/signals';
import type { Evidence, LineLink, ObjectsLink } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import type { Compare } from '../compare/comparison';
import { Dock } from '../shell/dock';
import { FileBar } from '../shell/file-bar';
import { FilterBox } from '../shell/filter-box';
import { findingTerms, OBJECT_TERMS } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { headOf } from '../shell/head';
import { graphKeys, Help } from '../shell/help';
import { made, type PaneTab } from '../shell/pane';
import { sqlTab } from '../shell/panes';
import { restoreLayout, type Layout } from '../shell/state';
import { Summary } from '../shell/summary';
import { comparing, type Picker } from '../shell/toolbar';
import type { MenuEntry } from '../widgets/menu';
import { ComparePane } from './compare';
import type { GraphContext } from './context';
import { dominatorsPane } from './dominators';
import { Icicle } from './icicle';
import { Inspector } from './inspector';
import { Overview } from './overview';
import { typesPane } from './types';
import { whyPane } from './why';

export interface GraphParts {
  readonly icicle: Icicle;
  readonly inspector: Inspector;
  readonly overview: Overview;
  readonly comparePane: ComparePane;
  readonly dock: Dock;
  readonly summary: Summary;
  readonly help: Help;
  readonly filterBox: FilterBox;
  readonly fileBar: FileBar;
  readonly frame: ViewFrame;
}

export interface PartsOwner extends GraphContext {
  /** The name of what it is compared with. */
  readonly comparedWith: ReadonlySignal<string | null>;
  /** Panes came or went, or have other room. */
  arrange(): void;
  show(evidence: Evidence): void;
  showObjects(objects: ObjectsLink): void;
  more(): readonly MenuEntry[];
}

interface Given {
  readonly root: HTMLElement;
  readonly compare: Compare;
  readonly layout: Layout | undefined;
}

export function makeParts(owner: PartsOwner, { root, compare, layout }: Given): GraphParts {
  const { api, info } = owner;
  const failed = (error: unknown): void => {
    owner.failed(error);
  };
  const icicle = new Icicle(owner);
  const inspector = new Inspector(
    owner,
    () => {
      frame.set({ panelOpen: false });
      icicle.focus();
    },
    (group) => {
      icicle.outline(group);
    },
  );
  const overview = new Overview(api, {
    choose: (text) => {
      owner.list(text);
    },
    failed,
  });
  const comparePane = new ComparePane(owner, compare);
  const dock = new Dock(
    null,
    {
      shown: () => {
        owner.arrange();
      },
      toggleTall: () => {
        frame.set({ dockTall: !frame.current.dockTall });
      },
      failed,
    },
    [...[typesPane(owner), dominatorsPane(owner), whyPane(owner), comparePane].map(made), sqlPane(owner)],
  );
  const summary = new Summary(api, info.warnings, failed);
  const filterBox = new FilterBox(
    OBJECT_TERMS,
    {
      apply: (text) => {
        owner.setFilter(text);
      },
      leave: () => {
        icicle.focus();
      },
    },
    () => findingTerms((summary.findings.value ?? []).map(({ title }) => title)),
  );
  const help = new Help(graphKeys());
  const open = ({ file, line }: LineLink, beside: boolean): void => {
    owner.openPlace(file, line, beside);
  };
  const Head = headOf(
    {
      summary,
      actions: {
        open,
        show: (evidence) => {
          owner.show(evidence);
        },
        showObjects: (objects) => {
          owner.showObjects(objects);
        },
        copy: (text) => {
          owner.copy(text);
        },
      },
    },
    {
      ...{ label: t('Heap dump'), pickers: signal<readonly Picker[]>([]) },
      ...{ comparedWith: owner.comparedWith, Filter: filterBox.View },
      ...comparing(api, () => {
        dock.show('compare');
      }),
      more: () => owner.more(),
      help: () => {
        help.toggle();
      },
    },
  );
  const fileBar = new FileBar(api, () => compare.other?.name ?? '');
  const frame = new ViewFrame(
    root,
    {
      ...{ Head, Files: fileBar.View, Lanes: overview.View, pictures: [icicle.root], flat: true, dock },
      ...{ Panel: inspector.View, Help: help.View },
    },
    {
      ...restoreLayout(layout),
      panelOpen: owner.state.selection !== null && layout?.panelOpen !== false,
    },
    () => {
      owner.arrange();
    },
    () => {
      api.post({ type: 'showLog' });
    },
  );
  return { icicle, inspector, overview, comparePane, dock, summary, help, filterBox, fileBar, frame };
}

function sqlPane(owner: GraphContext): PaneTab {
  const none = (): void => {
    owner.say(t('A heap dump has no such rows.'));
  };
  return sqlTab({
    api: owner.api,
    say: (text) => {
      owner.say(text);
    },
    openFrame: ({ file, line }, beside) => {
      owner.openPlace(file, line, beside);
    },
    select: none,
    lightStacks: none,
    showObject: (object) => {
      if (object < owner.info.objects) owner.select({ is: 'object', object });
      else none();
    },
  });
}
