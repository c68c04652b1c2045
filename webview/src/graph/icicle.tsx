// A tree of objects grouped by type, package or module, drawn: a box for each group. That of dominators has it below what
// holds it and as wide as what it retains; that of shortest paths below what reaches it, as wide as all below it.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { FlameName, Text } from '../../../extension/shared/protocol.gen';
import { besideBox, childBox, fillingBoxes, parentBox, type BoxFacts } from '../flame/boxes';
import { WHOLE, zoomed, type FlameCamera } from '../flame/camera';
import { FlameCrumbs } from '../flame/crumbs';
import { FlameHover, type Hovered } from '../flame/hover';
import { listenToPointer, type BoxPresses } from '../flame/input';
import { BOX_KEYS, type FlameAction } from '../flame/keys';
import { FlamePlot } from '../flame/plot';
import { exposeFlameForTests } from '../flame/test-hook';
import { nameText, Places } from '../flame/words';
import { resetZoom, zoomToBox } from '../flame/zoom';
import { MORE } from '../../../extension/shared/flame-geometry';
import { Bar } from '../widgets/bar';
import { svgTheme, type AskedSvg } from '../shell/export';
import { copyItems } from '../widgets/copy';
import { openMenu, type MenuEntry } from '../widgets/menu';
import { Sunburst } from './sunburst';
import { Island } from '../widgets/island';
import { bytes, share } from '../base/format';
import { plural, t } from '../base/l10n';
import { turned } from '../base/latest';
import { shorten } from '../base/text';
import { Dropdown } from '../widgets/choice';
import type { GraphSession } from './session';
import { groupOf, groupingsOf, located, TREES, UNREACHABLE, type Grouping, type TreeForm } from './groups';
import { selectionMenu } from './menu';
import { TREE_NAMES, TreeChoice, totalText } from './tree-choice';
import { objectsText } from './words';

const ZOOM_STEP = 1.5;

const GROUPED: Readonly<Record<Grouping, () => string>> = {
  type: () => t('Group by type'),
  package: () => t('Group by package'),
  module: () => t('Group by module'),
};

export class Icicle {
  private readonly plot: FlamePlot;
  private readonly hover: FlameHover;
  private readonly sunburst: Sunburst;
  private readonly ringHover: FlameHover;
  private readonly crumbs: FlameCrumbs;

  /** The type whose boxes are marked, besides what matches the filter. */
  private marked: number | null = null;
  private readonly rings = signal(false);
  private readonly pictures = signal(0);
  private readonly grouped = signal<Grouping>('type');

  /** `regrouped` is called after the boxes were grouped by something else. */
  constructor(private readonly context: GraphSession) {
    const places = new Places(() => false);
    this.plot = new FlamePlot(
      {
        ask: (request) =>
          context.api.request('memlens/heapPicture', {
            ...request,
            ...this.form,
            search: context.filter,
            kind: this.marked,
          }),
        shown: () => {
          this.crumbs.update();
          this.pictures.value = this.plot.pictures;
          this.sunburst.draw();
        },
        moved: () => {
          const { x0, x1, top } = this.plot.target;
          context.keep({ x0, x1, top });
        },
        failed: (error) => context.failed(error),
      },
      places,
    );
    this.crumbs = new FlameCrumbs(this.plot, (facts) => this.zoomTo(facts));
    const hoverOf = (over: Hovered): FlameHover =>
      new FlameHover(
        over,
        (node) => {
          const asked = context.api.request('memlens/heapGroup', { group: this.groupOf(node), filter: '' });
          return turned(asked, ({ name, node: { type, objects } }) => ({
            node: { name: name ?? rootName(type) },
            // all that is unreachable is no group of objects
            detail: objects > 0 ? objectsText(objects) : '',
          }));
        },
        ({ value }, total) => ({
          large: bytes(value),
          small: this.isOfPaths
            ? t('in total · {0}', share(value, total))
            : t('retained · {0}', share(value, total)),
        }),
        places,
        true,
      );
    this.hover = hoverOf(this.plot);
    const { plot } = this;
    this.sunburst = new Sunburst(plot);
    const { sunburst } = this;
    this.ringHover = hoverOf({
      surface: sunburst.surface,
      get geometry() {
        return plot.geometry;
      },
      names: plot.names,
      facts: (box) => plot.facts(box),
      learn: (names) => {
        plot.learn(names);
        sunburst.draw();
      },
      colourOf: (box) => plot.colourOf(box),
      hover: (box) => sunburst.hover(box),
    });
    const presses: BoxPresses = {
      click: (box, open) => this.clicked(box, open),
      zoom: (facts) => this.zoomTo(facts),
      menu: (box, x, y) => this.openMenu(box, x, y),
    };
    listenToPointer(plot, this.hover, presses);
    sunburst.listenToPointer(this.ringHover, presses, () => this.zoomOut());
    this.plot.setEmpty(t('The objects of this dump have no size.'));
    this.plot.setStyle(false, 'package');
    exposeFlameForTests(this.plot, 'memlensFlame');
    this.showSunburst(context.state.sunburst);
  }

  readonly View = (): VNode => (
    <div
      class="flame pane main-flame heap-icicle"
      data-pictures={this.pictures.value || undefined}
      onKeyDown={(event) => this.key(event)}
    >
      <this.crumbs.View />
      <div class="flame-body">
        <this.plot.View />
        <div class="sunburst" hidden={!this.rings.value}>
          <Island of={this.sunburst.surface} />
        </div>
      </div>
    </div>
  );

  /** What is drawn and how. It stands above the picture, not in it: every box counts where there is little room. */
  readonly Controls = (): VNode => (
    <Bar class="heap-icicle-bar" label={t('Picture')}>
      {/* dominators by type are what everybody begins with, and need no control */}
      {this.context.tree.value !== 'dominators' && <TreeChoice context={this.context} />}
      {this.grouped.value !== 'type' && (
        <Dropdown<Grouping>
          label={t('Group the tree')}
          value={this.grouped.value}
          options={groupingsOf(this.context.info).map((by) => ({ value: by, text: GROUPED[by]() }))}
          change={(by) => this.group(by)}
        />
      )}
      <button
        type="button"
        class={`text-button sunburst-toggle${this.rings.value ? ' on' : ''}`}
        title={t('Show the boxes as rings, too')}
        aria-pressed={this.rings.value}
        onClick={() => this.showSunburst(!this.rings.value)}
      >
        {t('Sunburst')}
      </button>
    </Bar>
  );

  /** Draws what is kept. */
  begin(): void {
    const { x0, x1, top, grouped } = this.context.state;
    this.grouped.value = grouped;
    this.hover.forget();
    this.ringHover.forget();
    const of = this.isOfPaths
      ? t(
          'Shortest paths from roots, in groups. Arrow keys move through the boxes, Enter zooms; the tables show the same as text.',
        )
      : t(
          'Dominators in groups. Arrow keys move through the boxes, Enter zooms; the tables show the same as text.',
        );
    const ofRings = this.isOfPaths
      ? t(
          'Shortest paths from roots as rings, each around what reaches it. Arrow keys move, Enter zooms; the tables show the same as text.',
        )
      : t(
          'Dominators as rings, each around what holds it. Arrow keys move, Enter zooms; the tables show the same as text.',
        );
    this.plot.setLabel(of);
    this.sunburst.setLabel(ofRings);
    // each tree numbers its names
    this.plot.names.clear();
    this.marked = this.selectedType;
    this.plot.renew(false, this.isMarking, { x0, x1, top });
    this.mark();
  }

  /** Shows a part of before; nobody asked to move. */
  goTo(place: FlameCamera): void {
    this.plot.stand(place, true);
  }

  /** Marks what matches another filter. */
  remark(): void {
    this.plot.renew(true, this.isMarking);
  }

  /** Something else is selected, wherever: a group has its box, a type all boxes of it. */
  mark(): void {
    const { selection } = this.context.state;
    this.outline(selection?.is === 'group' ? selection.group : null);
    if (this.marked === this.selectedType) return;
    this.marked = this.selectedType;
    this.remark();
  }

  /** Outlines the box of a group; it has none where groups are made otherwise. */
  outline(group: number | null): void {
    const at = group === null ? null : located(group);
    const { tree, by } = this.form;
    const isDrawn = at !== null && at.by === by && at.tree === tree;
    this.plot.select(isDrawn ? { node: at.node, more: false, left: 0 } : null);
  }

  focus(): void {
    this.plot.surface.focus({ preventScroll: true });
  }

  dispose(): void {
    this.hover.hide();
    this.ringHover.hide();
    this.sunburst.dispose();
    this.plot.dispose();
  }

  private get selectedType(): number | null {
    const { selection } = this.context.state;
    return selection?.is === 'type' ? selection.kind : null;
  }

  /** Whether some boxes stand out. */
  private get isMarking(): boolean {
    return this.context.filter !== '' || this.marked !== null;
  }

  /** The part that is in view, as a picture for a file. */
  svg(form: 'icicle' | 'sunburst'): AskedSvg {
    const { x0, x1 } = this.plot.target;
    return this.context.api.request('memlens/heapSvg', { form, ...this.form, x0, x1, theme: svgTheme() });
  }

  private groupOf(node: number): number {
    return groupOf(this.form, node);
  }

  private get form(): TreeForm {
    const { tree, grouped } = this.context.state;
    return { tree, by: grouped };
  }

  private get isOfPaths(): boolean {
    return this.context.state.tree === 'paths';
  }

  /** The trees that boxes can show. */
  treeEntries(): readonly MenuEntry[] {
    return TREES.map((tree) => ({
      text: TREE_NAMES[tree](),
      checked: tree === this.context.state.tree,
      run: () => this.context.showTree(tree),
    }));
  }

  /** What the boxes can be grouped by. */
  groupEntries(): readonly MenuEntry[] {
    const { info, state } = this.context;
    return groupingsOf(info).map((by) => ({
      text: GROUPED[by](),
      checked: by === state.grouped,
      run: () => this.group(by),
    }));
  }

  /** Groups the boxes by something else; what was in view is elsewhere then. */
  private group(by: Grouping): void {
    this.context.keep({ grouped: by, ...WHOLE });
    this.begin();
  }

  private showSunburst(is: boolean): void {
    this.rings.value = is;
    if (is !== this.context.state.sunburst) this.context.keep({ sunburst: is });
    this.sunburst.draw();
  }

  private clicked(box: number, open: boolean): void {
    const facts = this.plot.facts(box);
    this.select(facts);
    if (open && facts && !facts.more)
      this.context.openSource({ is: 'group', group: this.groupOf(facts.node) }, false);
  }

  private openMenu(box: number, x: number, y: number): void {
    if (box >= 0) this.select(this.plot.facts(box));
    const { selected } = this.plot;
    if (!selected || selected.more) return;
    const name = this.plot.facts(this.plot.selectedBox())?.name;
    const known = name === undefined ? undefined : this.plot.names.get(name);
    const group = { is: 'group', group: this.groupOf(selected.node) } as const;
    // where objects come with lines, the boxes of what source defines have its line
    const byType = this.context.format.source_kinds.length === 0;
    const hasSource = byType || (known !== undefined && known.file !== '');
    const own = selectionMenu(this.context, group, '', hasSource, known?.said?.template !== UNREACHABLE);
    const copied = known ? { name: nameText(known), place: known.line > 0 ? known : null } : null;
    openMenu([...own, ...(copied ? copyItems(this.context.api, copied, null) : [])], x, y);
  }

  /** To what holds the innermost box that fills the view. */
  private zoomOut(): void {
    const { plot } = this;
    const g = plot.geometry;
    const filling = g ? fillingBoxes(g, plot.target) : [];
    const above = plot.facts(filling.at(-2) ?? -1);
    if (above && above.node !== 0) this.zoomTo(above);
    else this.toWhole();
  }

  private select(facts: BoxFacts | null): void {
    this.plot.select(facts);
    if (facts?.more) {
      const { name, value } = facts;
      this.context.say(
        plural(
          name,
          '{0} box, {1}: zoom in to see it',
          '{0} boxes, {1}: zoom in to see them',
          totalText(this.form.tree, value),
        ),
      );
    } else this.context.select(facts && { is: 'group', group: this.groupOf(facts.node) });
  }

  private zoomTo(facts: BoxFacts | null): void {
    if (!facts) return;
    const { plot, context } = this;
    zoomToBox(plot, facts, totalText(this.form.tree, facts.value), (text) => context.hear(text));
  }

  private toWhole(): void {
    resetZoom(this.plot, (text) => this.context.hear(text));
  }

  private run(action: FlameAction): boolean {
    const { plot } = this;
    const { target } = plot;
    const selected = plot.facts(plot.selectedBox());
    switch (action) {
      case 'above':
      case 'below':
      case 'left':
      case 'right':
        this.walk(action);
        return true;
      case 'zoom':
        this.zoomTo(selected);
        return true;
      case 'open':
        if (selected && !selected.more)
          this.context.openSource({ is: 'group', group: this.groupOf(selected.node) }, false);
        return true;
      case 'zoomIn':
      case 'zoomOut':
        plot.moveTo(zoomed(target, 0.5, action === 'zoomIn' ? ZOOM_STEP : 1 / ZOOM_STEP), true);
        return true;
      case 'pageUp':
      case 'pageDown': {
        const rows = Math.max(Math.floor(plot.rows) - 1, 1);
        plot.moveTo({ ...target, top: target.top + (action === 'pageDown' ? rows : -rows) }, true);
        return true;
      }
      case 'whole':
        this.toWhole();
        return true;
      case 'leave':
        if (selected) this.select(null);
        else if (target.x0 > 0 || target.x1 < 1) this.toWhole();
        else return false;
        return true;
      case 'nextMatch':
        this.goToMatch(1);
        return true;
      case 'previousMatch':
        this.goToMatch(-1);
        return true;
      default:
        return false;
    }
  }

  private key(event: KeyboardEvent): void {
    const isPicture = event.target === this.plot.surface || event.target === this.sunburst.surface;
    if (!isPicture || event.defaultPrevented) return;
    const action = BOX_KEYS.actionOf(event);
    if (action === null || !this.run(action)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private walk(action: 'above' | 'below' | 'left' | 'right'): void {
    const g = this.plot.geometry;
    if (!g || g.boxes === 0) return;
    const at = this.plot.selectedBox();
    const to =
      at < 0
        ? 0
        : action === 'above'
          ? parentBox(g, at)
          : action === 'below'
            ? childBox(g, at)
            : besideBox(g, at, action === 'right' ? 1 : -1);
    this.go(to);
  }

  private goToMatch(by: 1 | -1): void {
    const g = this.plot.geometry;
    if (!g || !this.isMarking) return;
    const from = this.plot.selectedBox();
    for (let step = 1; step <= g.boxes; step++) {
      const box = (((from + by * step) % g.boxes) + g.boxes) % g.boxes;
      if (((g.flags[box] ?? 0) & (MORE | 2)) === 2) {
        this.go(box);
        return;
      }
    }
    this.context.say(
      this.marked === null ? t('Nothing in view matches the filter.') : t('No box in view is marked.'),
    );
  }

  private go(box: number): void {
    const facts = this.plot.facts(box);
    if (!facts) return;
    this.select(facts);
    this.plot.reveal(facts);
    const known = facts.more ? undefined : this.plot.names.get(facts.name);
    const name = facts.node === 0 ? t('All') : known ? shorten(nameText(known), 100) : '';
    if (!facts.more) this.context.say(`${name}: ${totalText(this.form.tree, facts.value)}`);
  }
}

function rootName(type: Text): FlameName {
  return {
    name: -1,
    function: type.text,
    file: '',
    line: 0,
    kind: 'none',
    package: '',
    is_package: false,
    source: 'recorded',
    said: type,
    declared: '',
  };
}
