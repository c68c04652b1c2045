// The panel below the picture: a few tabs, the other panes in a menu beside them, and one pane shown.

import { t } from '../base/l10n';
import { computed, effect, signal, untracked } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { PaneId } from '../../../extension/shared/commands';
import { visible } from '../base/text';
import { finished, started } from '../base/under-way';
import { EVERYTHING, type Change } from './context';
import type { BarRoom, Pane, PaneTab, Revealed } from './pane';
import type { Session } from './session';
import { Bar } from '../widgets/bar';
import { IconButton } from '../widgets/icon-button';
import { openMenuAt } from '../widgets/menu';

/** What of a view it follows and changes. */
type DockSession = Pick<
  Session,
  'pane' | 'panes' | 'show' | 'revealed' | 'layout' | 'arrange' | 'failed' | 'whileShown'
>;

export class Dock {
  /** The panes that were shown so far. */
  private readonly made = signal<readonly Made[]>([]);
  private readonly current = computed(
    () => this.panes.find(({ id }) => id === this.session.pane.value) ?? null,
  );
  /** What is known of each pane, by its tab. */
  private readonly states = new Map<PaneTab, PaneState>();
  /** The pane to show when the panel is opened again. */
  private last: PaneId | null = null;
  /** The pane that was asked for by a key or a command, and gets the focus once it is there. */
  private toFocus: PaneTab | null = null;
  private disposed = false;

  constructor(
    private readonly session: DockSession,
    readonly panes: readonly PaneTab[],
    /** Gives the picture the focus. */
    private readonly leave: () => void,
    /** How many have a tab; the others are in the menu, as are those that ask for that. */
    private readonly most = Infinity,
    /** Lets the user choose the set of allocations, where there are single ones. */
    private readonly Scope: ComponentType<BarRoom> | null = null,
  ) {
    session.panes = panes.map(({ id }) => id);
    for (const tab of panes)
      this.states.set(tab, {
        pane: null,
        isSeen: false,
        begun: false,
        news: new Set(EVERYTHING),
        toReveal: null,
      });
    session.whileShown(
      effect(() => {
        const tab = this.current.value;
        this.last = tab?.id ?? this.last;
        if (tab) untracked(() => this.begin(tab));
      }),
    );
    session.whileShown(
      effect(() => {
        const what = session.revealed.value;
        if (what) untracked(() => this.reveal(what));
      }),
    );
    session.whileShown(() => this.dispose());
  }

  readonly View = ({ hidden, tall, height }: DockRoom): VNode => (
    <section
      class={tall ? 'dock tall' : 'dock'}
      aria-label={t('Panel')}
      hidden={hidden}
      style={{ height: tall ? '' : `${height}px` }}
      onKeyDown={(event) => {
        if (event.defaultPrevented || !this.shownPane?.key?.(event)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <this.Head tall={tall} />
      {this.made.value.map((made) => (
        <PaneView
          key={made.tab.id}
          {...made}
          hidden={made.tab !== this.current.value}
          isSeen={made.tab === this.current.value && !hidden}
          seen={(is) => this.seen(made, is)}
        />
      ))}
    </section>
  );

  get shown(): PaneId | null {
    return this.current.value?.id ?? null;
  }

  /** By its name, or by the place of its tab, from 0. The flame graph may be the picture. */
  showPane(which: string | number): void {
    const pane = this.panes.find(({ id }, at) => id === which || at === which);
    if (pane) {
      this.toFocus = pane;
      this.session.show(pane.id);
      this.focusShown();
    } else if (which === 'flame') this.leave();
    else if (typeof which === 'string') this.session.show(this.panes[0]?.id ?? null);
  }

  /** As a state says that was kept: another file may have other panes. */
  restore(id: PaneId | null): void {
    this.session.show(this.panes.find((pane) => pane.id === id)?.id ?? null);
  }

  toggle(): void {
    if (this.shown === null) this.session.show(this.last ?? this.panes[0]?.id ?? null);
    else {
      this.session.show(null);
      this.leave();
    }
  }

  toggleTall(): void {
    if (this.shown === null) this.toggle();
    this.session.arrange({ dockTall: !this.session.layout.value.dockTall });
  }

  update(changes: Iterable<Change>): void {
    for (const { news } of this.states.values()) for (const change of changes) news.add(change);
    this.updateShown();
  }

  /** By its name it is read out, and Tab leads into it. */
  private focusShown(): void {
    const tab = this.toFocus;
    if (!tab || tab !== this.current.value || !this.states.get(tab)?.isSeen) return;
    this.toFocus = null;
    document.getElementById(`pane-${tab.id}`)?.focus();
  }

  /** Has the pane that is shown show a part of it, once it is there. */
  private reveal(what: Revealed): void {
    const state = this.current.value && this.states.get(this.current.value);
    if (state) state.toReveal = what;
    this.updateShown();
  }

  private dispose(): void {
    this.disposed = true;
    for (const { pane } of this.made.value) pane.dispose?.();
  }

  private readonly Head = ({ tall }: Pick<DockRoom, 'tall'>): VNode => {
    const { Scope, panes, most, current } = this;
    return (
      <header>
        <div class="tabs">
          <Tabs panes={panes} most={most} current={current} pick={(id) => this.session.show(id)} />
        </div>
        {Scope && <Scope hidden={current.value?.usesSet === false} />}
        <div class="dock-bar">
          {this.made.value.map(
            ({ tab, pane: { Bar: Controls } }) =>
              Controls && <Controls key={tab.id} hidden={tab !== current.value} />,
          )}
        </div>
        <Bar class="toolbar-group dock-buttons" label={t('Panel')}>
          <IconButton
            icon="up"
            label={t('Maximize Panel')}
            keys="Shift+T"
            pressed={tall}
            press={() => this.toggleTall()}
          />
          <IconButton icon="close" label={t('Close Panel')} keys="t" press={() => this.session.show(null)} />
        </Bar>
      </header>
    );
  };

  private get shownPane(): Pane | null {
    return (this.current.value && this.states.get(this.current.value)?.pane) ?? null;
  }

  /** Makes a pane, at once where its code is here. */
  private begin(tab: PaneTab): void {
    const state = this.states.get(tab);
    if (!state || state.begun) return;
    state.begun = true;
    const made = tab.make();
    if (!(made instanceof Promise)) {
      this.made.value = [...this.made.value, { tab, pane: made }];
      return;
    }
    started(tab, 'pane');
    made.then(
      (pane) => {
        finished(tab);
        if (this.disposed) {
          pane.dispose?.();
          return;
        }
        this.made.value = [...this.made.value, { tab, pane }];
      },
      (error: unknown) => {
        finished(tab);
        state.begun = false; // to be tried again when it is shown again
        this.session.failed(error);
      },
    );
  }

  /** It is on the screen, with its size, and is updated as long as it is. */
  private seen({ tab, pane }: Made, is: boolean): void {
    Object.assign(this.states.get(tab) ?? {}, { pane, isSeen: is });
    if (!is) return;
    this.updateShown();
    this.focusShown();
  }

  private updateShown(): void {
    const state = this.current.value && this.states.get(this.current.value);
    if (!state?.pane || !state.isSeen) return;
    const { news, toReveal } = state;
    state.news = new Set();
    if (news.size > 0) state.pane.update(news);
    state.toReveal = null;
    if (toReveal) state.pane.reveal?.(toReveal);
  }
}

interface Made {
  readonly tab: PaneTab;
  readonly pane: Pane;
}

interface PaneViewProps extends Made {
  readonly hidden: boolean;
  /** The panel is open, too. */
  readonly isSeen: boolean;
  /** It has its size now, or is hidden again. */
  readonly seen: (is: boolean) => void;
}

function PaneView({ tab: { id, title }, pane: { View }, hidden, isSeen, seen }: PaneViewProps): VNode {
  useLayoutEffect(() => seen(isSeen), [isSeen]);
  return <View id={`pane-${id}`} role="tabpanel" aria-label={visible(title)} tabIndex={-1} hidden={hidden} />;
}

/** The room that it has: all below the toolbar, or so many CSS pixels. */
interface DockRoom {
  readonly hidden: boolean;
  readonly tall: boolean;
  readonly height: number;
}

interface PaneState {
  /** Null until it is on the screen. */
  pane: Pane | null;
  isSeen: boolean;
  begun: boolean;
  /** The changes that it has not been updated with yet. */
  news: Set<Change>;
  toReveal: Revealed | null;
}

interface TabsProps {
  readonly panes: readonly PaneTab[];
  readonly most: number;
  readonly current: { readonly value: PaneTab | null };
  readonly pick: (id: PaneId) => void;
}

/** The first few panes, and whichever other one is shown. */
function Tabs({ panes, most, current, pick }: TabsProps): VNode {
  const shown = current.value;
  const first = panes.filter(({ inMenu }) => !inMenu).slice(0, most);
  const tabs = panes.filter((pane) => first.includes(pane) || pane === shown);
  const others = panes.filter((pane) => !first.includes(pane));
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => scrollToTab(list.current), [shown]);
  return (
    <>
      <div
        ref={list}
        class="tab-list"
        role="tablist"
        aria-label={t('Panes')}
        onKeyDown={(event) => walkTabs(event)}
      >
        {tabs.map((pane, index) => (
          <button
            key={pane.id}
            type="button"
            role="tab"
            data-tab={pane.id}
            title={pane.key === '' ? pane.title : `${pane.title} (${pane.key})`}
            aria-controls={`pane-${pane.id}`}
            aria-selected={pane === shown}
            tabIndex={pane === shown || (shown === null && index === 0) ? 0 : -1}
            onClick={() => pick(pane.id)}
          >
            {pane.title}
          </button>
        ))}
      </div>
      {others.length > 0 && (
        <button
          type="button"
          class="tab-more"
          aria-haspopup="menu"
          title={t('More panes')}
          onClick={({ currentTarget }) => {
            const items = others.map((pane) => ({
              text: pane.title,
              key: pane.key,
              checked: pane === shown,
              radio: true,
              run: () => pick(pane.id),
            }));
            openMenuAt(currentTarget, items, t('More panes'));
          }}
        >
          {t('More')}
          <span class="tab-arrow" aria-hidden="true" />
        </button>
      )}
    </>
  );
}

/** In a narrow window tabs scroll: that of the pane that is shown is in view. */
function scrollToTab(list: Element | null): void {
  const tab = list?.querySelector('[aria-selected=true]');
  if (!list || !tab) return;
  const [room, own] = [list.getBoundingClientRect(), tab.getBoundingClientRect()];
  list.scrollLeft += Math.max(0, own.right - room.right) - Math.max(0, room.left - own.left);
}

function walkTabs(event: KeyboardEvent): void {
  if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
  // Alt with an arrow goes back and forward
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (!(event.currentTarget instanceof Element)) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')];
  const at = all.findIndex((tab) => tab === event.target);
  if (at < 0) return;
  const next = all[(at + (event.key === 'ArrowRight' ? 1 : all.length - 1)) % all.length];
  next?.click();
  next?.focus();
  event.preventDefault();
  event.stopPropagation();
}
