// A profile's view: its flame graph, the value that all of it is about, and the panes that need no timeline.

import { effect, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { ViewState } from '../../../extension/shared/messages';
import type { ProfileInfo } from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import { t } from '../base/l10n';
import { visible } from '../base/text';
import { CompareGraph } from '../compare/graph';
import { followHeadline } from '../compare/headline';
import { flamePane, type FlamePane } from '../flame/pane';
import { makeAround, type Around } from '../shell/around';
import { EVERYTHING, type Change } from '../shell/context';
import { Dock } from '../shell/dock';
import type { AskedSvg } from '../shell/export';
import { PROFILE_TERMS } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { tabsOf } from '../shell/pane';
import { isOf, keptState } from '../shell/state';
import { shareEntries } from '../shell/share';
import { ModelView } from '../shell/view';
import type { MenuEntry } from '../widgets/menu';
import { PROFILE_COMMANDS } from './commands';
import { profileKeys } from './key-list';
import { PANES } from './panes.gen';
import { ProfileSession } from './session';
import { factsOf, valuePicker } from './state';
import { ProfileTimes } from './times';

export class ProfileView extends ModelView<ProfileSession> {
  readonly reported = null;
  private readonly flame: FlamePane;
  /** Both profiles as one flame graph, while another is compared; made when one first is. */
  private readonly difference = signal<CompareGraph | null>(null);
  readonly dock: Dock;
  readonly around: Around;

  constructor(api: Api, root: HTMLElement, info: ProfileInfo, hostState: ViewState | null) {
    const kept = keptState('profile', hostState, api.saved());
    super(new ProfileSession(api, info, kept), root, PROFILE_COMMANDS);
    const { session } = this;
    this.flame = flamePane(session, session.flame, session);
    // the value is chosen for all of the view, and without times there is no order of time
    this.flame.without('value', ...(info.bins === 0 ? (['order'] as const) : []));
    this.dock = new Dock(session, tabsOf(session, PANES), () => this.flame.focus());
    this.around = makeAround(session, {
      label: t('Profile'),
      terms: PROFILE_TERMS,
      keys: profileKeys(),
      next: {
        text:
          info.bins > 0
            ? info.has_frees
              ? t(
                  'Drag over the curve with Shift to see what was allocated, freed or kept in that time, or {0}.',
                )
              : t('Drag over the curve with Shift to see what was allocated in that time, or {0}.')
            : t('Click a box to see its callers and lines, or {0}.'),
        link: t('compare with another profile'),
      },
      menu: () => this.menu(),
      focusPicture: () => this.flame.focus(),
    });
    const { Head, fileBar, help, pickers, summary } = this.around;
    const frame = new ViewFrame(root, session, {
      Head,
      Files: fileBar.View,
      Lanes: info.bins === 0 ? undefined : this.lanesOf(new ProfileTimes(session).View),
      pictures: [this.Picture],
      flat: true,
      dock: this.dock,
      Help: help.View,
    });
    frame.status.value = visible(factsOf(info));
    session.whileShown(
      effect(() => {
        pickers.value = [
          valuePicker(info, session.number.value, session.rangeName, (value) => session.showValue(value)),
        ];
      }),
    );
    this.update(new Set(EVERYTHING));
    this.dock.restore(kept ? kept.pane : 'liveSet');
    this.begin();
    followHeadline(session, (headline) => {
      summary.compared.value = headline;
    });
    this.show();
    if (kept) session.setFilter(kept.filter);
  }

  picture(): AskedSvg {
    return this.flame.svg();
  }

  goTo(state: ViewState): void {
    if (!isOf('profile', state)) return;
    this.dock.restore(state.pane);
    this.session.goTo(state);
  }

  override dispose(): void {
    this.flame.dispose();
    this.difference.peek()?.dispose();
    super.dispose();
  }

  protected override heed(message: HostMessage): void {
    switch (message.type) {
      case 'showLine':
        // the boxes of that line are what it has: found like by a search, and only those of its stacks are left
        this.session.setFilter(`file:"=${message.file.replace(/["\\]/g, '\\$&')}:${message.line}"`);
        return;
      case 'other':
        this.session.compare.receive(message.other);
        // a range of one run is none of another
        if (message.fresh) this.session.chosen.value = null;
        if (message.fresh) this.session.showComparison();
        return;
      default:
        return;
    }
  }

  /** The run of one profile is none of two. */
  private lanesOf(Times: () => VNode): () => VNode | null {
    return () => (this.session.compare.isCompared ? null : <Times />);
  }

  private readonly Picture = (): VNode => {
    const { difference, session } = this;
    const isCompared = session.compare.isCompared && difference.value !== null;
    return (
      <>
        <this.Own hidden={isCompared} />
        {difference.value && (
          <div
            class="main-difference"
            hidden={!isCompared}
            onKeyDown={(event) => {
              if (event.defaultPrevented || !difference.peek()?.key(event)) return;
              event.preventDefault();
              event.stopPropagation();
            }}
          >
            <difference.value.View hidden={!isCompared} />
          </div>
        )}
      </>
    );
  };

  private readonly Own = ({ hidden }: { readonly hidden: boolean }): VNode => (
    <this.flame.View
      hidden={hidden}
      class="main-flame"
      onKeyDown={(event) => {
        if (event.defaultPrevented || !this.flame.key(event)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <this.flame.Bar hidden={false} />
    </this.flame.View>
  );

  protected override update(changes: ReadonlySet<Change>): void {
    const { session } = this;
    const { layout, pane } = session;
    session.useFigures();
    if (!layout.value.dockTall || pane.value === null) this.flame.update(changes);
    if (session.compare.isCompared) this.updateDifference(changes);
    this.dock.update(changes);
  }

  private updateDifference(changes: ReadonlySet<Change>): void {
    const { session } = this;
    const { compare } = session;
    const isNew = this.difference.peek() === null;
    if (isNew) this.difference.value = new CompareGraph(session);
    if (changes.has('attribution')) this.difference.peek()?.reattribute();
    if (!isNew && !changes.has('compare') && !changes.has('set')) return;
    const { otherFirst } = compare.settings;
    this.difference
      .peek()
      ?.show(
        compare.setsOfProfile(session.set),
        otherFirst,
        JSON.stringify([compare.other?.uri, otherFirst]),
      );
  }

  private menu(): readonly MenuEntry[] {
    const { layout } = this.session;
    return [
      {
        text: t('Panel'),
        key: 'T',
        checked: this.dock.shown !== null,
        run: () => this.dock.toggle(),
      },
      {
        text: t('Maximize Panel'),
        checked: layout.value.dockTall,
        run: () => this.dock.toggleTall(),
      },
      ...shareEntries(this.session.api, () => this.around.summary.text, t('Flame Graph')),
    ];
  }
}
