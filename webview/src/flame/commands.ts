// What is done by keys and buttons: in the picture, and to the function that is chosen there or in a table.

import type { FlameName, FlameNode } from '../../../extension/shared/protocol.gen';
import { savePicture } from '../shell/export';
import { copyItems } from '../widgets/copy';
import type { MenuEntry, MenuItem } from '../widgets/menu';
import { t } from '../base/l10n';
import { exactly, shorten } from '../base/text';
import { besideBox, childBox, fillingBoxes, parentBox, type BoxFacts } from './boxes';
import { panned, zoomed } from './camera';
import type { FlameGraph } from './graph';
import { STACK_KEYS, type FlameAction } from './keys';
import type { FlamePlot } from './plot';
import { isDrawn } from './settings';
import { amount, nameText } from './words';
import { resetZoom, zoomToBox } from './zoom';

export class FlameCommands {
  constructor(private readonly graph: FlameGraph) {}

  /** Whether it is known which objects a box allocated. */
  get hasObjects(): boolean {
    return Boolean(this.graph.of.objects?.show);
  }

  /** Shows the objects of the selected box; false where none is known. */
  showObjects(): boolean {
    const { of, selection } = this.graph;
    if (!of.objects?.show || !selection.answer) return false;
    of.objects.show(selection.answer);
    return true;
  }

  /** Does what a key stands for; false when it stands for nothing here. */
  take(event: KeyboardEvent): boolean {
    const action = STACK_KEYS.actionOf(event);
    if (!action) return false;
    const onPlot = isDrawn(this.graph.kept.settings) && event.target === this.graph.plot.surface;
    return onPlot ? this.runOnPlot(action) : this.runOnName(action);
  }

  focus(name: FlameName): void {
    this.graph.change({ focus: name });
  }

  /** Leaves out all stacks through a function, with their bytes. */
  ignore(name: FlameName): void {
    const { context, of } = this.graph;
    const term = `-${of.objects?.term ?? 'function'}:${exactly(name.function)}`;
    if (!context.filter.includes(term)) context.setFilter(`${context.filter} ${term}`.trim());
  }

  /** Leaves out a function's own boxes: their bytes stay with its callers. */
  hide(name: FlameName): void {
    this.graph.change({ hidden: [...this.graph.kept.settings.hidden, name] });
  }

  collapse(name: FlameName): void {
    this.graph.change({ packages: [...this.graph.kept.settings.packages, name.package] });
  }

  /** What can be done to a function in a table, which opens its line in its own way. */
  menu(name: FlameName, open: () => void): readonly MenuEntry[] {
    if (name.kind === 'none') return [];
    const item = (text: string, key: string, run: () => void): MenuItem => ({ text, key, run });
    const { package: library, is_package: isPackage } = name;
    const { context, selection, source } = this.graph;
    return [
      ...(this.hasObjects ? [item(t('Show Objects'), 'O', () => this.showObjects())] : []),
      ...((name.kind === 'native' && name.declared === '') || isPackage
        ? []
        : [item(t('Open Line'), 'Enter', open)]),
      ...(source.compared ? [] : [item(t('Callers and Callees'), 'W', () => selection.toSandwich(name))]),
      item(t('Focus'), 'F', () => this.focus(name)),
      ...(isPackage ? [] : [item(t('Ignore'), 'I', () => this.ignore(name))]),
      item(t('Hide'), 'H', () => this.hide(name)),
      ...(library === '' || isPackage
        ? []
        : [item(t('Collapse {0}', shorten(library, 24)), 'C', () => this.collapse(name))]),
      ...copyItems(context.api, { name: nameText(name), place: name }, null),
      item(t('Export Flame Graph as SVG…'), '', () => this.save('svg')),
      item(t('Export Flame Graph as PNG…'), '', () => this.save('png')),
    ];
  }

  private save(form: 'svg' | 'png'): void {
    savePicture(this.graph.context.api, form, this.graph.svg()).catch((error: unknown) =>
      this.graph.failed(error),
    );
  }

  zoomTo(facts: BoxFacts | null): void {
    if (!facts) return;
    const { context, plot, question } = this.graph;
    zoomToBox(plot, facts, amount(facts.value, question.isCount), (text) => context.hear(text));
  }

  private toWhole(): void {
    const { context, plot } = this.graph;
    resetZoom(plot, (text) => context.hear(text));
  }

  zoomToNode(node: FlameNode): void {
    const total = this.graph.plot.geometry?.total ?? 0;
    this.graph.plot.zoomTo(node.x0 * total, (node.x1 - node.x0) * total, node.depth);
  }

  private step(to: (g: NonNullable<FlamePlot['geometry']>, box: number) => number): void {
    const g = this.graph.plot.geometry;
    if (!g || g.boxes === 0) return;
    const from = this.graph.plot.selectedBox();
    const { x0, x1 } = this.graph.plot.target;
    const start = x0 > 0 || x1 < 1 ? (fillingBoxes(g, this.graph.plot.target).at(-1) ?? 0) : 0;
    const next = from < 0 ? start : to(g, from);
    const facts = this.graph.plot.facts(next);
    if (!facts) return;
    this.graph.selection.select(facts, null);
    this.graph.plot.reveal(facts);
  }

  private runOnPlot(action: FlameAction): boolean {
    const { plot } = this.graph;
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
        if (selected) this.graph.selection.select(selected, { beside: false });
        return selected !== null;
      case 'pageUp':
      case 'pageDown':
        plot.moveTo(panned(plot.target, 0, (action === 'pageDown' ? 1 : -1) * plot.rows * 0.8));
        return true;
      case 'whole':
        this.toWhole();
        return true;
      case 'zoomIn':
      case 'zoomOut':
        plot.moveTo(zoomed(plot.target, 0.5, action === 'zoomIn' ? 2 : 0.5), true);
        return true;
      case 'search':
        this.graph.toolbar.focusSearch();
        return true;
      case 'nextMatch':
      case 'previousMatch':
        this.graph.goToMatch(action === 'nextMatch' ? 1 : -1);
        return true;
      default:
        return this.runOnName(action);
    }
  }

  /** What is done to the function that is chosen, and undone. */
  private runOnName(action: FlameAction): boolean {
    if (action === 'leave') return this.leave();
    if (action === 'objects') return this.showObjects();
    const { plot, question, selection, source } = this.graph;
    const runs: Partial<Record<FlameAction, (name: FlameName) => void>> = {
      focus: (name) => this.focus(name),
      ignore: (name) => {
        if (!name.is_package) this.ignore(name);
      },
      hide: (name) => this.hide(name),
      collapse: (name) => {
        if (name.package !== '') this.collapse(name);
      },
      ...(!source.compared && { sandwich: (name: FlameName) => selection.toSandwich(name) }),
    };
    const run = runs[action];
    const isChosen = !question.isDrawn || plot.selected !== null;
    return run !== undefined && isChosen && selection.withName(run);
  }

  /** Escape: first the selection goes, then the zoom, then what was done to frames. */
  private leave(): boolean {
    const { focus, hidden, packages, search, sandwich, form } = this.graph.kept.settings;
    const drawn = isDrawn(this.graph.kept.settings);
    const { x0, x1 } = this.graph.plot.target;
    if (drawn && this.graph.plot.selected) this.graph.selection.select(null, null);
    else if (drawn && (x0 > 0 || x1 < 1)) this.toWhole();
    else if (form === 'functions' && sandwich) this.graph.selection.turnSandwich(null);
    else if (focus) this.graph.change({ focus: null });
    else if (hidden.length > 0) this.graph.change({ hidden: hidden.slice(0, -1) });
    else if (packages.length > 0) this.graph.change({ packages: packages.slice(0, -1) });
    else if (search !== '') this.graph.change({ search: '' });
    else return false;
    return true;
  }
}
