// The panel below the picture: a few tabs, the other panes in a menu beside them, and one pane shown.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { PaneId } from '../../../extension/shared/messages';
import { EVERYTHING, type Change, type ViewContext } from '../context';
import type { Pane, Revealed } from '../panes/pane';
import { element, iconButton, setLabel } from '../ui/dom';
import { oneStop } from './bar';
import { openMenuAt } from './menu';
import { ScopeBar } from './scope';

export interface DockEvents {
  /** Another pane is shown; null when the panel is closed. */
  shown(pane: PaneId | null): void;
  toggleTall(): void;
}

export class Dock {
  readonly root: HTMLElement;
  /** Lets the user choose the set of allocations; null for a model that has no single allocations. */
  private readonly scope: ScopeBar | null;
  private readonly tall: HTMLButtonElement;
  private readonly bars = element('div', { class: 'dock-bar' });
  private readonly current = signal<Pane | null>(null);
  /** The changes that each pane has not been updated with yet. */
  private readonly news = new Map<Pane, Set<Change>>();

  constructor(
    /** Whose set of allocations is chosen; null where there is none to choose. */
    context: Pick<ViewContext, 'cursors' | 'setName'> | null,
    private readonly events: DockEvents,
    readonly panes: readonly Pane[],
    /** How many of them have a tab; the others are in the menu. */
    primary = 3,
  ) {
    for (const pane of this.panes) {
      this.news.set(pane, new Set(EVERYTHING));
      pane.root.classList.add('pane');
      pane.root.id = `pane-${pane.id}`;
      pane.root.setAttribute('role', 'tabpanel');
      setLabel(pane.root, pane.title);
      this.hide(pane);
      if (pane.bar) {
        this.bars.append(pane.bar);
        oneStop(pane.bar);
      }
    }
    this.scope = context && new ScopeBar(context.cursors, () => context.setName);
    this.tall = iconButton(
      'up',
      'Maximize Panel',
      () => {
        events.toggleTall();
      },
      'Shift+T',
    );
    const tabs = element('div', { class: 'tabs' });
    this.root = element(
      'section',
      { class: 'dock', attributes: { 'aria-label': 'Panel' } },
      element(
        'header',
        {},
        tabs,
        ...(this.scope ? [this.scope.root] : []),
        this.bars,
        element(
          'div',
          { class: 'toolbar-group dock-buttons' },
          this.tall,
          iconButton(
            'close',
            'Close Panel',
            () => {
              this.show(null);
            },
            't',
          ),
        ),
      ),
      ...this.panes.map(({ root }) => root),
    );
    render(
      <Tabs
        panes={this.panes}
        primary={primary}
        current={this.current}
        pick={(id) => {
          this.show(id);
        }}
      />,
      tabs,
    );
    this.root.addEventListener('keydown', (event) => {
      if (!event.defaultPrevented && this.current.value?.key?.(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  get shown(): PaneId | null {
    return this.current.value?.id ?? null;
  }

  show(id: PaneId | null): void {
    const pane = this.panes.find((each) => each.id === id) ?? null;
    // A command may name one that has nothing to show for this snapshot.
    if (pane === this.current.value || (pane === null && id !== null)) return;
    if (this.current.value) this.hide(this.current.value);
    this.current.value = pane;
    if (pane) {
      pane.root.hidden = false;
      if (pane.bar) pane.bar.hidden = false;
      if (this.scope) this.scope.root.hidden = !pane.usesSet;
    }
    this.events.shown(pane?.id ?? null);
    // Updated when it has its size.
    this.updateShown();
  }

  /** By its place among them. */
  showNth(index: number): void {
    const pane = this.panes[index];
    if (pane) this.show(pane.id);
  }

  /** Has the pane that is shown show a part of it. */
  reveal(what: Revealed): void {
    this.current.value?.reveal?.(what);
  }

  update(changes: readonly Change[]): void {
    for (const news of this.news.values()) for (const change of changes) news.add(change);
    if (changes.includes('cursors') || changes.includes('axis')) this.scope?.update();
    this.updateShown();
  }

  setTall(tall: boolean): void {
    this.tall.setAttribute('aria-pressed', String(tall));
  }

  dispose(): void {
    for (const pane of this.panes) pane.dispose?.();
  }

  private hide(pane: Pane): void {
    pane.root.hidden = true;
    if (pane.bar) pane.bar.hidden = true;
  }

  private updateShown(): void {
    const pane = this.current.value;
    const news = pane ? this.news.get(pane) : undefined;
    if (!pane || !news || news.size === 0) return;
    this.news.set(pane, new Set());
    pane.update(news);
  }
}

interface TabsProps {
  readonly panes: readonly Pane[];
  readonly primary: number;
  readonly current: { readonly value: Pane | null };
  readonly pick: (id: PaneId) => void;
}

/** The first few panes, and whichever other one is shown. */
function Tabs({ panes, primary, current, pick }: TabsProps): VNode {
  const shown = current.value;
  const tabs = panes.filter((pane, index) => index < primary || pane === shown);
  const others = panes.slice(primary);
  const key = (pane: Pane): string => String(panes.indexOf(pane) + 1);
  return (
    <>
      <div
        class="tab-list"
        role="tablist"
        aria-label="Panes"
        onKeyDown={(event) => {
          walkTabs(event);
        }}
      >
        {tabs.map((pane, index) => (
          <button
            key={pane.id}
            type="button"
            role="tab"
            data-tab={pane.id}
            title={`${pane.title} (${key(pane)})`}
            aria-controls={pane.root.id}
            aria-selected={pane === shown}
            tabIndex={pane === shown || (shown === null && index === 0) ? 0 : -1}
            onClick={() => {
              pick(pane.id);
            }}
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
          title="More panes"
          onClick={({ currentTarget }) => {
            const items = others.map((pane) => ({
              ...{ text: pane.title, key: key(pane), checked: pane === shown, radio: true },
              run: () => {
                pick(pane.id);
              },
            }));
            openMenuAt(currentTarget, items, 'More panes');
          }}
        >
          More
          <span class="tab-arrow" aria-hidden="true" />
        </button>
      )}
    </>
  );
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
