// The panel below the picture: a few tabs, the other panes in a menu beside them, and one pane shown.

import { t } from '../base/l10n';
import { signal } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { PaneId } from '../../../extension/shared/messages';
import { visible } from '../base/text';
import { finished, started } from '../base/under-way';
import { EVERYTHING, type Change } from './context';
import type { BarRoom, Pane, PaneTab, Revealed } from './pane';
import { IconButton } from '../widgets/icon-button';
import { openMenuAt } from '../widgets/menu';

export interface DockEvents {
  /** Another pane is shown; null when the panel is closed. */
  shown(pane: PaneId | null): void;
  toggleTall(): void;
  /** A pane's code could not be loaded. */
  failed(error: unknown): void;
}

export class Dock {
  /** The panes that were shown so far. */
  private readonly made = signal<readonly Pane[]>([]);
  private readonly current = signal<PaneTab | null>(null);
  /** What is known of each pane, by its tab. */
  private readonly states = new Map<PaneTab, PaneState>();
  private disposed = false;

  constructor(
    /** Lets the user choose the set of allocations; null for a model that has no single allocations. */
    private readonly Scope: ComponentType<BarRoom> | null,
    private readonly events: DockEvents,
    readonly panes: readonly PaneTab[],
    /** How many of them have a tab; the others are in the menu. */
    private readonly primary = 3,
  ) {
    for (const tab of panes)
      this.states.set(tab, { pane: null, begun: false, news: new Set(EVERYTHING), toReveal: null });
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
      {this.made.value.map((pane) => (
        <PaneView
          key={pane.id}
          pane={pane}
          hidden={pane.id !== this.shown}
          mounted={() => this.mounted(pane)}
        />
      ))}
    </section>
  );

  get shown(): PaneId | null {
    return this.current.value?.id ?? null;
  }

  show(id: PaneId | null): void {
    const tab = this.panes.find((each) => each.id === id) ?? null;
    // A command may name one that has nothing to show for this snapshot.
    if (tab === this.current.value || (tab === null && id !== null)) return;
    this.current.value = tab;
    if (tab) this.begin(tab);
    this.events.shown(tab?.id ?? null);
    // Updated when it has its size.
    this.updateShown();
  }

  /** By its place among them. */
  showNth(index: number): void {
    const tab = this.panes[index];
    if (tab) this.show(tab.id);
  }

  /** Has the pane that is shown show a part of it. */
  reveal(what: Revealed): void {
    const state = this.current.value && this.states.get(this.current.value);
    if (state?.pane) state.pane.reveal?.(what);
    else if (state) state.toReveal = what;
  }

  update(changes: readonly Change[]): void {
    for (const { news } of this.states.values()) for (const change of changes) news.add(change);
    this.updateShown();
  }

  dispose(): void {
    this.disposed = true;
    for (const pane of this.made.value) pane.dispose?.();
  }

  private readonly Head = ({ tall }: Pick<DockRoom, 'tall'>): VNode => {
    const { Scope, panes, primary, current, events } = this;
    return (
      <header>
        <div class="tabs">
          <Tabs {...{ panes, primary, current }} pick={(id) => this.show(id)} />
        </div>
        {Scope && <Scope hidden={current.value?.usesSet === false} />}
        <div class="dock-bar">
          {this.made.value.map(
            ({ id, Bar: Controls }) => Controls && <Controls key={id} hidden={id !== this.shown} />,
          )}
        </div>
        <div class="toolbar-group dock-buttons">
          <IconButton
            icon="up"
            label={t('Maximize Panel')}
            keys="Shift+T"
            pressed={tall}
            press={() => events.toggleTall()}
          />
          <IconButton icon="close" label={t('Close Panel')} keys="t" press={() => this.show(null)} />
        </div>
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
      this.made.value = [...this.made.value, made];
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
        this.made.value = [...this.made.value, pane];
      },
      (error: unknown) => {
        finished(tab);
        state.begun = false; // to be tried again when it is shown again
        this.events.failed(error);
      },
    );
  }

  /** It is on the screen, with its size: from here on it is updated. */
  private mounted(pane: Pane): void {
    for (const [{ id }, state] of this.states) if (id === pane.id) state.pane = pane;
    this.updateShown();
  }

  private updateShown(): void {
    const state = this.current.value && this.states.get(this.current.value);
    if (!state?.pane || state.news.size === 0) return;
    const { news, toReveal } = state;
    state.news = new Set();
    state.pane.update(news);
    state.toReveal = null;
    if (toReveal) state.pane.reveal?.(toReveal);
  }
}

interface PaneViewProps {
  readonly pane: Pane;
  readonly hidden: boolean;
  /** It has its size now. */
  readonly mounted: () => void;
}

function PaneView({ pane: { id, title, View }, hidden, mounted }: PaneViewProps): VNode {
  useLayoutEffect(mounted, []);
  return <View id={`pane-${id}`} role="tabpanel" aria-label={visible(title)} hidden={hidden} />;
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
  begun: boolean;
  /** The changes that it has not been updated with yet. */
  news: Set<Change>;
  toReveal: Revealed | null;
}

interface TabsProps {
  readonly panes: readonly PaneTab[];
  readonly primary: number;
  readonly current: { readonly value: PaneTab | null };
  readonly pick: (id: PaneId) => void;
}

/** The first few panes, and whichever other one is shown. */
function Tabs({ panes, primary, current, pick }: TabsProps): VNode {
  const shown = current.value;
  const tabs = panes.filter((pane, index) => index < primary || pane === shown);
  const others = panes.slice(primary);
  const key = (pane: PaneTab): string => String(panes.indexOf(pane) + 1);
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
            title={`${pane.title} (${key(pane)})`}
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
              ...{ text: pane.title, key: key(pane), checked: pane === shown, radio: true },
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
