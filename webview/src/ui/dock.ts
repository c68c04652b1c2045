// The panes below the picture, one of which is shown.

import type { PaneId } from '../../../extension/shared/messages';
import { EVERYTHING, type Change, type ViewContext } from '../context';
import { MODELS } from '../model';
import { PANES } from '../panes';
import type { MakePane, Pane } from '../panes/pane';
import { element, iconButton } from './dom';
import { ScopeBar } from './scope';
import { Tabs } from './tabs';

export interface DockEvents {
  /** Another pane is shown; null when the dock is closed. */
  shown(pane: PaneId | null): void;
  toggleTall(): void;
}

export class Dock {
  readonly root: HTMLElement;
  readonly panes: readonly Pane[];
  private readonly tabs: Tabs<PaneId>;
  private readonly scope: ScopeBar;
  private readonly tall: HTMLButtonElement;
  private readonly hasScope: boolean;
  private current: Pane | null = null;
  /** What each pane has not been told yet. */
  private readonly news = new Map<Pane, Set<Change>>();

  constructor(
    context: ViewContext,
    private readonly events: DockEvents,
    panes: readonly MakePane[] = PANES,
  ) {
    this.hasScope = MODELS[context.info.model].hasAllocations;
    this.panes = panes.flatMap((make) => make(context) ?? []);
    for (const pane of this.panes) {
      this.news.set(pane, new Set(EVERYTHING));
      pane.root.classList.add('pane');
      pane.root.hidden = true;
    }
    this.tabs = new Tabs(
      'Views of the allocations',
      this.panes.map(({ id, title, root }) => ({ id, title, panel: root })),
      (id) => {
        this.show(id);
      },
    );
    this.scope = new ScopeBar(context.cursors);
    this.tall = iconButton(
      'up',
      'Give the whole height to this',
      () => {
        events.toggleTall();
      },
      'Shift+T',
    );
    this.root = element(
      'section',
      { class: 'dock', attributes: { 'aria-label': 'Views of the allocations' } },
      element(
        'header',
        {},
        this.tabs.root,
        element('div', { class: 'toolbar-gap' }),
        this.scope.root,
        element(
          'div',
          { class: 'toolbar-group dock-buttons' },
          this.tall,
          iconButton(
            'close',
            'Close',
            () => {
              this.show(null);
            },
            't',
          ),
        ),
      ),
      ...this.panes.map(({ root }) => root),
    );
    this.root.addEventListener('keydown', (event) => {
      if (!event.defaultPrevented && this.current?.key?.(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  get shown(): PaneId | null {
    return this.current?.id ?? null;
  }

  show(id: PaneId | null): void {
    const pane = this.panes.find((each) => each.id === id) ?? null;
    // A command may name one that has nothing to show for this snapshot.
    if (pane === this.current || (pane === null && id !== null)) return;
    if (this.current) this.current.root.hidden = true;
    this.current = pane;
    this.tabs.show(pane?.id ?? null);
    if (pane) {
      pane.root.hidden = false;
      // a profile's set is its value
      this.scope.root.hidden = !pane.usesSet || !this.hasScope;
    }
    this.events.shown(pane?.id ?? null);
    // Told when it has its size.
    this.tell();
  }

  /** By the place of its tab. */
  showNth(index: number): void {
    const pane = this.panes[index];
    if (pane) this.show(pane.id);
  }

  update(changes: readonly Change[]): void {
    for (const news of this.news.values()) for (const change of changes) news.add(change);
    if (changes.includes('cursors')) this.scope.update();
    this.tell();
  }

  setTall(tall: boolean): void {
    this.tall.setAttribute('aria-pressed', String(tall));
  }

  dispose(): void {
    for (const pane of this.panes) pane.dispose?.();
  }

  private tell(): void {
    const pane = this.current;
    const news = pane ? this.news.get(pane) : undefined;
    if (!pane || !news || news.size === 0) return;
    this.news.set(pane, new Set());
    pane.update(news);
  }
}
