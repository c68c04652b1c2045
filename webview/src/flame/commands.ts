// What is done by keys and buttons: in the picture, and to the function that is chosen there or in a table.

import type { FlameName, FlameNode } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { copyItems } from '../widgets/copy';
import type { MenuEntry, MenuItem } from '../widgets/menu';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import { besideBox, childBox, fillingBoxes, parentBox, type BoxFacts } from './boxes';
import { panned, WHOLE, zoomed } from './camera';
import { STACK_KEYS, type FlameAction } from './keys';
import type { FlamePlot } from './plot';
import { isDrawn, type FlameSettings, type KeptFlame } from './settings';
import { nameText } from './words';

export interface FlameCommandEvents extends Pick<Api, 'post'> {
  /** Does something to the function that is chosen, once its name is known; false when none is. */
  withChosen(run: (name: FlameName) => void): boolean;
  select(facts: BoxFacts | null, open: { beside: boolean } | null): void;
  change(part: Partial<FlameSettings>): void;
  /** Leaves out what passes a function, in every view. */
  exclude(name: string): void;
  /** Shows the objects that the selected box allocated; false where none is known. Null where there are no objects. */
  objects: (() => boolean) | null;
  /** Puts a function between its callers and callees, where that can be shown; null takes it out again. */
  sandwich: ((name: FlameName | null) => void) | null;
  /** Saves the picture. */
  save(form: 'svg' | 'png'): void;
  search(): void;
  goToMatch(by: 1 | -1): void;
}

export class FlameCommands {
  constructor(
    private readonly plot: FlamePlot,
    private readonly kept: Pick<KeptFlame, 'settings'>,
    private readonly events: FlameCommandEvents,
  ) {}

  /** Does what a key stands for; false when it stands for nothing here. */
  take(event: KeyboardEvent): boolean {
    const action = STACK_KEYS.actionOf(event);
    if (!action) return false;
    const onPlot = isDrawn(this.kept.settings) && event.target === this.plot.surface;
    return onPlot ? this.runOnPlot(action) : this.runOnName(action);
  }

  focus(name: FlameName): void {
    this.events.change({ focus: name });
  }

  /** Leaves out all stacks through a function, with their bytes. */
  ignore(name: FlameName): void {
    this.events.exclude(name.function);
  }

  /** Leaves out a function's own boxes: their bytes stay with its callers. */
  hide(name: FlameName): void {
    this.events.change({ hidden: [...this.kept.settings.hidden, name] });
  }

  collapse(name: FlameName): void {
    this.events.change({ packages: [...this.kept.settings.packages, name.package] });
  }

  /** What can be done to a function in a table, which opens its line in its own way. */
  menu(name: FlameName, open: () => void): readonly MenuEntry[] {
    if (name.kind === 'none') return [];
    const item = (text: string, key: string, run: () => void): MenuItem => ({ text, key, run });
    const { package: library, is_package: isPackage } = name;
    const { sandwich, objects } = this.events;
    return [
      ...(objects ? [item(t('Show Objects'), 'O', () => objects())] : []),
      ...(name.kind === 'native' || isPackage ? [] : [item(t('Open Line'), 'Enter', open)]),
      ...(sandwich ? [item(t('Callers and Callees'), 'W', () => sandwich(name))] : []),
      item(t('Focus'), 'F', () => this.focus(name)),
      ...(isPackage ? [] : [item(t('Ignore'), 'I', () => this.ignore(name))]),
      item(t('Hide'), 'H', () => this.hide(name)),
      ...(library === '' || isPackage
        ? []
        : [item(t('Collapse {0}', shorten(library, 24)), 'C', () => this.collapse(name))]),
      ...copyItems(this.events, { name: nameText(name), place: name }, null),
      item(t('Export Flame Graph as SVG…'), '', () => this.events.save('svg')),
      item(t('Export Flame Graph as PNG…'), '', () => this.events.save('png')),
    ];
  }

  zoomTo(facts: BoxFacts | null): void {
    if (facts) this.plot.zoomTo(facts.left, facts.value, facts.depth);
  }

  zoomToNode(node: FlameNode): void {
    const total = this.plot.geometry?.total ?? 0;
    this.plot.zoomTo(node.x0 * total, (node.x1 - node.x0) * total, node.depth);
  }

  private step(to: (g: NonNullable<FlamePlot['geometry']>, box: number) => number): void {
    const g = this.plot.geometry;
    if (!g || g.boxes === 0) return;
    const from = this.plot.selectedBox();
    const { x0, x1 } = this.plot.target;
    const start = x0 > 0 || x1 < 1 ? (fillingBoxes(g, this.plot.target).at(-1) ?? 0) : 0;
    const next = from < 0 ? start : to(g, from);
    const facts = this.plot.facts(next);
    if (!facts) return;
    this.events.select(facts, null);
    this.plot.reveal(facts);
  }

  private runOnPlot(action: FlameAction): boolean {
    const { plot } = this;
    const selected = plot.facts(plot.selectedBox());
    const [above, below] = plot.isUpwards ? [childBox, parentBox] : [parentBox, childBox];
    switch (action) {
      case 'above':
        this.step(above);
        return true;
      case 'below':
        this.step(below);
        return true;
      case 'left':
        this.step((g, box) => besideBox(g, box, -1));
        return true;
      case 'right':
        this.step((g, box) => besideBox(g, box, 1));
        return true;
      case 'zoom':
        this.zoomTo(selected);
        return true;
      case 'open':
        if (selected) this.events.select(selected, { beside: false });
        return selected !== null;
      case 'pageUp':
      case 'pageDown':
        plot.moveTo(panned(plot.target, 0, (action === 'pageDown' ? 1 : -1) * plot.rows * 0.8));
        return true;
      case 'whole':
        plot.moveTo(WHOLE, true);
        return true;
      case 'zoomIn':
      case 'zoomOut':
        plot.moveTo(zoomed(plot.target, 0.5, action === 'zoomIn' ? 2 : 0.5), true);
        return true;
      case 'search':
        this.events.search();
        return true;
      case 'nextMatch':
      case 'previousMatch':
        this.events.goToMatch(action === 'nextMatch' ? 1 : -1);
        return true;
      default:
        return this.runOnName(action);
    }
  }

  /** What is done to the function that is chosen, and undone. */
  private runOnName(action: FlameAction): boolean {
    if (action === 'leave') return this.leave();
    if (action === 'objects') return this.events.objects?.() ?? false;
    const { sandwich } = this.events;
    const runs: Partial<Record<FlameAction, (name: FlameName) => void>> = {
      focus: (name) => this.focus(name),
      ignore: (name) => {
        if (!name.is_package) this.ignore(name);
      },
      hide: (name) => this.hide(name),
      collapse: (name) => {
        if (name.package !== '') this.collapse(name);
      },
      ...(sandwich && { sandwich }),
    };
    const run = runs[action];
    return run !== undefined && this.events.withChosen(run);
  }

  /** Escape: first the selection goes, then the zoom, then what was done to frames. */
  private leave(): boolean {
    const { focus, hidden, packages, search, sandwich, form } = this.kept.settings;
    const drawn = isDrawn(this.kept.settings);
    const { x0, x1 } = this.plot.target;
    if (drawn && this.plot.selected) this.events.select(null, null);
    else if (drawn && (x0 > 0 || x1 < 1)) this.plot.moveTo(WHOLE, true);
    else if (form === 'functions' && sandwich) this.events.sandwich?.(null);
    else if (focus) this.events.change({ focus: null });
    else if (hidden.length > 0) this.events.change({ hidden: hidden.slice(0, -1) });
    else if (packages.length > 0) this.events.change({ packages: packages.slice(0, -1) });
    else if (search !== '') this.events.change({ search: '' });
    else return false;
    return true;
  }
}
