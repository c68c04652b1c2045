// What a profile's view is made of, put together.

import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ViewState } from '../../../extension/shared/messages';
import type { Evidence, LineLink, ProfileInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { t } from '../base/l10n';
import type { FlamePane } from '../flame/pane';
import { oneStop } from '../shell/bar';
import { Dock } from '../shell/dock';
import { FileBar } from '../shell/file-bar';
import { FilterBox } from '../shell/filter-box';
import { allocationTerms } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { headOf } from '../shell/head';
import { Help, profileKeys } from '../shell/help';
import { tabsOf } from '../shell/pane';
import { PROFILE_PANES } from '../shell/panes';
import { restoreLayout, type Layout } from '../shell/state';
import { Summary } from '../shell/summary';
import { comparing, type Picker } from '../shell/toolbar';
import type { MenuEntry } from '../widgets/menu';
import type { ProfileContext } from './context';
import { stretchOf } from './state';
import { ProfileTimes } from './times';

export interface ProfileParts {
  readonly dock: Dock;
  readonly summary: Summary;
  readonly help: Help;
  readonly pickers: Signal<readonly Picker[]>;
  readonly filterBox: FilterBox;
  readonly fileBar: FileBar;
  readonly frame: ViewFrame;
  /** Null where the file has nothing over time. */
  readonly times: ProfileTimes | null;
}

export interface PartsOwner {
  readonly filter: string;
  /** The name of what it is compared with. */
  readonly comparedWith: ReadonlySignal<string | null>;
  /** Panes came or went, or have other room. */
  arrange(): void;
  toggleTall(): void;
  stretchChanged(): void;
  setFilter(filter: string): void;
  focusFlame(): void;
  open(line: LineLink, beside: boolean): void;
  show(evidence: Evidence): void;
  menu(): readonly MenuEntry[];
  say(text: string): void;
  failed(error: unknown): void;
}

interface Given {
  readonly api: Api;
  readonly root: HTMLElement;
  readonly info: ProfileInfo;
  readonly context: ProfileContext;
  readonly flame: FlamePane;
  /** How it was when the view was last open. */
  readonly state: ViewState | null;
  readonly layout: Layout | undefined;
}

export function makeParts(owner: PartsOwner, given: Given): ProfileParts {
  const { api, root, info, context, flame, layout } = given;
  const failed = (error: unknown): void => {
    owner.failed(error);
  };
  const dock = new Dock(
    // its set is its value
    null,
    {
      shown: () => {
        owner.arrange();
      },
      toggleTall: () => {
        owner.toggleTall();
      },
      failed,
    },
    tabsOf(context, PROFILE_PANES),
    1,
  );
  const filterBox = new FilterBox(allocationTerms([]), {
    apply: (text) => {
      owner.setFilter(text);
    },
    leave: () => {
      owner.focusFlame();
    },
  });
  const summary = new Summary(api, info.warnings, failed);
  const help = new Help(profileKeys());
  const pickers = signal<readonly Picker[]>([]);
  const Head = headOf(
    {
      summary,
      actions: {
        open: (line, beside) => {
          owner.open(line, beside);
        },
        showObjects: null,
        show: (evidence) => {
          owner.show(evidence);
        },
        copy: (text) => {
          api.post({ type: 'copy', text });
        },
      },
    },
    {
      ...{ label: t('Profile'), pickers, comparedWith: owner.comparedWith },
      Filter: filterBox.View,
      ...comparing(api, () => {
        dock.show('compare');
      }),
      more: () => owner.menu(),
      help: () => {
        help.toggle();
      },
    },
  );
  const fileBar = new FileBar(api, () => context.compare.other?.name ?? '');
  const times = info.bins === 0 ? null : makeTimes(owner, given);
  const frame = new ViewFrame(
    root,
    {
      ...{ Head, Files: fileBar.View, Lanes: times?.View, pictures: [flame.root], flat: true, dock },
      Help: help.View,
    },
    { ...restoreLayout(layout), panelOpen: false },
    () => {
      owner.arrange();
    },
    () => {
      api.post({ type: 'showLog' });
    },
  );
  placeFlame(flame, info);
  return { dock, summary, help, pickers, filterBox, fileBar, frame, times };
}

/** The flame graph as the picture of the view. */
function placeFlame(flame: FlamePane, { bins }: ProfileInfo): void {
  flame.root.className += ' pane main-flame';
  // the value is chosen for all of the view, and without times there is no order of time
  flame.without('value', ...(bins === 0 ? (['order'] as const) : []));
  flame.root.prepend(flame.bar);
  oneStop(flame.bar);
  flame.root.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || !flame.key(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function makeTimes(owner: PartsOwner, { api, info, state }: Given): ProfileTimes {
  return new ProfileTimes(
    api,
    info,
    {
      changed: () => {
        owner.stretchChanged();
      },
      failed: (error) => {
        owner.failed(error);
      },
      say: (text) => {
        owner.say(text);
      },
      filter: () => owner.filter,
    },
    stretchOf(state),
  );
}
