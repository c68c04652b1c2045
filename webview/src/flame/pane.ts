// Flame graph and call tree of the set.

import type { FlamePlace } from '../../../extension/shared/messages';
import type {
  AllocationSet,
  FlameName,
  FlameNode,
  FlameNodeAnswer,
  SnapshotInfo,
} from '../../../extension/shared/protocol.gen';
import { RequestError } from '../api';
import { isCancelled } from '../base/latest';
import type { Attribution } from '../shell/attribution';
import type { Change, ViewContext } from '../shell/context';
import { savePicture, svgTheme, type AskedSvg } from '../shell/export';
import type { BoxFacts } from './boxes';
import { WHOLE } from './camera';
import { FlameChosen, keyOf, type Opening } from './chosen';
import { FlameCommands } from './commands';
import { FlameCrumbs } from './crumbs';
import { FlameDetails } from './details';
import { changeFigures, changeOf, changeSentence, SIGNED, type Sided } from './difference';
import { FlameFinder } from './finder';
import { FlameHover } from './hover';
import { listenToPointer } from './input';
import { FlamePlot } from './plot';
import { FlameSandwich, halfParams, type Half } from './sandwich';
import { isDrawn, treeParams, type FlameSettings, type KeptFlame, type TreeParams } from './settings';
import { ownSource, type FlameSource } from './source';
import { exposeFlameForTests } from './test-hook';
import { FlameToolbar } from './toolbar';
import { FlameTree, type FlameTreeEvents } from './tree';
import { amount, nameText, nodeSentence, Places, share } from './words';
import { openMenu } from '../widgets/menu';
import type { Choice } from '../widgets/choice';
import { element } from '../widgets/dom';
import { counted } from '../base/format';
import { MODELS, never } from '../shell/model';
import type { Pane } from '../shell/pane';

export const flamePane = (context: ViewContext): FlamePane =>
  new FlamePane(context, context.flame, ownSource(context.api, context.attribution), () => context.setName);

/** A flame graph with all that belongs to it; `kept` is how it is shown, `source` whom it asks. */
export class FlamePane implements Pane {
  readonly id = 'flame';
  readonly title = 'Flame graph';
  readonly usesSet = true;
  readonly root: HTMLElement;
  readonly bar: HTMLElement;
  private readonly settings: FlameSettings;
  private readonly places: Places;
  private readonly attribution: Choice<Attribution>;
  private readonly toolbar: FlameToolbar;
  private readonly plot: FlamePlot;
  private readonly tree: FlameTree;
  private readonly sandwich: FlameSandwich;
  private readonly details: FlameDetails;
  private readonly commands: FlameCommands;
  private readonly hover: FlameHover;
  private readonly crumbs: FlameCrumbs;
  private readonly finder: FlameFinder;
  private readonly chosen: FlameChosen;
  /** What stands in the status bar is about this graph. */
  private hasSaid = false;
  /** The graph that is shown; empty for a table. */
  private shownGraph = '';
  /** Where the graph stood when the view was last open, until it is shown again or left. */
  private toRestore: FlamePlace | null;

  constructor(
    private readonly context: ViewContext,
    private readonly kept: KeptFlame,
    private readonly source: FlameSource,
    /** What it is of, in words. */
    private readonly setName: () => string,
  ) {
    this.settings = kept.settings;
    this.toRestore = source.compared ? null : kept.settings.place;
    this.places = new Places(() => this.settings.wholePaths);
    this.attribution = context.attribution.choice();
    const { compared } = source;
    this.toolbar = new FlameToolbar(
      {
        changed: (part) => {
          this.change(part);
        },
        goToMatch: (by) => {
          this.goToMatch(by);
        },
        leave: () => {
          this.plot.surface.focus();
        },
      },
      compared !== null,
      this.attribution,
    );
    this.plot = new FlamePlot(
      {
        ask: (request) => this.source.picture(this.params, request, this.settings.search),
        shown: () => {
          this.crumbs.update();
          this.root.dataset['pictures'] = String(this.plot.pictures);
        },
        moved: () => {
          this.keepPlace();
        },
        failed: (error) => {
          this.context.failed(error);
        },
      },
      this.places,
    );
    this.details = new FlameDetails(this.sided, compared !== null, this.places, context.attribution, {
      open: (line, kind, beside) => {
        this.context.openFrame(
          { ...line, kind: kind === 'none' ? 'user' : kind, source: 'recorded' },
          beside,
        );
      },
      zoom: (node) => {
        this.commands.zoomToNode(node);
      },
      go: (node) => {
        this.selectNode(node);
      },
      sandwich: (name) => {
        this.toSandwich(name);
      },
      focus: (name) => {
        this.commands.focus(name);
      },
      hide: (name) => {
        this.commands.hide(name);
      },
      collapse: (name) => {
        this.commands.collapse(name);
      },
    });
    this.tree = new FlameTree(
      'Call tree',
      this.treeEvents(() => this.params),
      this.places,
      { sided: this.sided, attribution: context.attribution },
    );
    this.sandwich = new FlameSandwich(
      {
        ask: (order, reverse, offset, limit) =>
          this.source.functions(
            // from the bottom up the outermost caller would be what has a value of its own
            { ...this.params, options: { ...this.params.options, direction: 'top_down' } },
            { order, reverse, offset, limit },
          ),
        chosen: ({ name }, opening) => {
          this.turnSandwich(name, opening);
        },
        menu: (row) =>
          this.commands.menu(row.name, () => {
            this.turnSandwich(row.name, { beside: false });
          }),
        openLine: (beside) => {
          this.fetchSandwich({ beside });
        },
        half: (direction) => this.treeEvents(() => this.halfOf(direction)),
        close: () => {
          this.turnSandwich(null);
        },
        key: (event) => this.commands.take(event),
        failed: (error) => {
          this.failed(error);
        },
      },
      this.places,
      context.attribution,
      this.sided,
    );
    this.crumbs = new FlameCrumbs(this.plot, (facts) => {
      this.commands.zoomTo(facts);
    });
    this.finder = new FlameFinder({
      ask: (text) => this.source.search(this.params, text),
      status: (text) => {
        this.toolbar.setFound(text);
      },
      say: (text) => {
        this.say(text);
      },
      failed: (error) => {
        this.failed(error);
      },
    });
    this.chosen = new FlameChosen({
      ask: (params, node) => this.source.node(params, node),
      shown: (answer, opening) => {
        this.shown(answer, opening);
      },
      failed: (error, of) => {
        this.notFound(error, of);
      },
    });
    this.commands = new FlameCommands(this.plot, this.settings, {
      withChosen: (run) => (!this.drawn || this.plot.selected !== null) && this.chosen.withName(run),
      select: (facts, open) => {
        this.select(facts, open);
      },
      change: (part) => {
        this.change(part);
      },
      sandwich: compared
        ? null
        : (name) => {
            if (name) this.toSandwich(name);
            else this.turnSandwich(null);
          },
      search: () => {
        this.toolbar.focusSearch();
      },
      goToMatch: (by) => {
        this.goToMatch(by);
      },
      post: (message) => {
        this.context.api.post(message);
      },
      save: compared
        ? null
        : (form) => {
            savePicture(this.context.api, form, this.svg()).catch((error: unknown) => {
              this.failed(error);
            });
          },
    });
    this.hover = new FlameHover(
      this.plot,
      (node) => this.source.node(this.params, node),
      ({ change, value }, total) => {
        const sided = this.sided();
        return sided && change
          ? changeFigures(change, sided)
          : { large: amount(value, this.isCount), small: share(value, total) };
      },
      this.places,
    );
    listenToPointer(this.plot, {
      hovered: (box, x, y) => {
        this.hover.show(box, x, y);
      },
      left: () => {
        this.hover.hide();
      },
      clicked: (box, open) => {
        this.plot.surface.focus({ preventScroll: true });
        // the details may take the place where the tooltip stands
        this.hover.hide();
        this.select(this.plot.facts(box), open ? { beside: false } : null);
      },
      zoom: (box) => {
        this.commands.zoomTo(this.plot.facts(box));
      },
      menu: (box, x, y) => {
        this.hover.hide();
        if (box >= 0) this.select(this.plot.facts(box), null);
        this.chosen.withName((name) => {
          const open = (): void => {
            const { selected } = this.plot;
            if (selected) this.fetchDetails(selected.node, { beside: false });
          };
          openMenu(this.commands.menu(name, open), x, y);
        });
      },
    });
    this.bar = this.toolbar.root;
    if (compared) this.toolbar.without('value', 'order');
    this.root = element(
      'div',
      { class: 'flame' },
      this.crumbs.root,
      element(
        'div',
        { class: 'flame-body' },
        this.plot.root,
        this.tree.root,
        this.sandwich.root,
        this.details.root,
      ),
    );
    exposeFlameForTests(this.plot, compared ? 'memlensDifference' : 'memlensFlame');
  }

  /** Asks for the part that is shown as SVG. */
  svg(): AskedSvg {
    const { of, value, options } = this.params;
    const { x0, x1 } = this.plot.target;
    const title = `Flame graph: ${this.setName()}${this.isCount ? ', allocations' : ''}`;
    return this.context.api.request('memlens/flameSvg', {
      ...{ of, value, options, x0, x1, title, theme: svgTheme() },
    });
  }

  /** What the view decides for all of its panes. */
  without(...controls: readonly ('value' | 'order')[]): void {
    this.toolbar.without(...controls);
  }

  update(changes: ReadonlySet<Change>): void {
    if (changes.has('theme')) this.plot.setTheme(this.context.theme);
    if (changes.has('flame')) this.toRestore = this.source.compared ? null : this.settings.place;
    if (changes.has('device') || changes.has('filter') || changes.has('cursors')) {
      // names are the snapshot's, and what was hidden stays hidden in another set
      this.renew(false);
    } else if (changes.has('flame')) this.goBack();
    else if (changes.has('attribution')) this.reattribute();
    else if (changes.has('theme')) this.toolbar.update(this.settings, this.sided() !== null);
  }

  key(event: KeyboardEvent): boolean {
    return event.target === this.plot.surface && this.commands.take(event);
  }

  /** The set is another one, or what widths mean; `sameNames` when numbers of names are those of before. */
  renewed(sameNames: boolean): void {
    if (!sameNames) this.kept.set({ focus: null, hidden: [], sandwich: null });
    this.renew(false);
  }

  /** Its settings are those of somewhere before: of the same graph only the place is another one. */
  private goBack(): void {
    if (!this.drawn || this.graph !== this.shownGraph) {
      this.renew(false);
      return;
    }
    const { place } = this.settings;
    const node = place?.node ?? null;
    this.arrange();
    this.plot.stand(place ?? WHOLE, true);
    this.plot.select(node === null ? null : { node, more: false, left: 0 });
    if (node === null) this.forget();
    else this.fetchDetails(node, null);
  }

  /** Boxes and functions have something else of their own: the graph stays as it is. */
  private reattribute(): void {
    this.attribution.set(this.context.attribution.value);
    if (!this.drawn) this.renew(true);
    const node = this.plot.selected && !this.plot.selected.more ? this.plot.selected.node : null;
    this.chosen.forget();
    if (this.drawn && node !== null) this.fetchDetails(node, null);
  }

  /** The whole that shares are of has become known. */
  restyle(): void {
    this.arrange();
  }

  dispose(): void {
    this.hover.hide();
    this.chosen.cancel();
    this.finder.cancel();
    this.plot.dispose();
    this.tree.dispose();
    this.sandwich.dispose();
  }

  /** What decides which boxes are drawn. */
  private get graph(): string {
    return JSON.stringify([this.params, this.settings.search]);
  }

  private get params(): TreeParams {
    return treeParams(this.settings, this.context.set, this.context.device.events);
  }

  private halfOf(direction: Half): TreeParams {
    const { sandwich } = this.settings;
    return sandwich ? halfParams(this.params, direction, sandwich) : this.params;
  }

  /** What boxes have two sides of: both of a comparison, or what of a profile's values is negative and what isn't. */
  private readonly sided = (): Sided | null => {
    const { info, set } = this.context;
    return this.source.compared ?? (isSigned(info, set) ? SIGNED : null);
  };

  private get drawn(): boolean {
    return isDrawn(this.settings);
  }

  private get isCount(): boolean {
    return this.settings.value === 'count';
  }

  private change(part: Partial<FlameSettings>): void {
    const before = JSON.stringify(this.params);
    const { search, form, wholePaths } = this.settings;
    this.kept.set(part);
    if (wholePaths !== this.settings.wholePaths) this.restate();
    const sameTree = JSON.stringify(this.params) === before;
    if (!sameTree || search !== this.settings.search || form !== this.settings.form) this.renew(sameTree);
    else this.arrange();
  }

  /** Files are called otherwise. */
  private restate(): void {
    this.plot.redraw();
    this.tree.redraw();
    this.sandwich.redraw();
    const { answer, of } = this.chosen;
    if (answer && !this.details.root.hidden) this.details.show(answer, this.isCount, this.drawn);
    if (answer && of === this.ofSandwich) this.sandwich.showFunction(answer, this.isCount);
  }

  private arrange(): void {
    const { form, colour } = this.settings;
    this.toolbar.update(this.settings, this.sided() !== null);
    this.plot.root.hidden = !this.drawn;
    this.crumbs.root.hidden = !this.drawn;
    this.tree.root.hidden = form !== 'table';
    this.sandwich.root.hidden = form !== 'functions';
    const sided = this.sided();
    this.plot.setStyle(form === 'flame', sided ? { whole: sided.whole, scale: sided.scale } : colour);
  }

  /** Asks again. With `keep` the tree is the same, and so the camera and the selection stay. */
  private renew(keep: boolean): void {
    const { form, search, sandwich } = this.settings;
    this.shownGraph = this.drawn ? this.graph : '';
    this.arrange();
    const name = this.settings.value === 'total' ? 'of the whole run' : this.setName();
    this.plot.setEmpty(
      this.source.compared
        ? 'Neither has anything here.'
        : `Nothing ${MODELS[this.context.info.model].done}${name}.`,
    );
    if (!keep) {
      this.forget();
      this.context.lightStacks(new Set());
    }
    if (this.hasSaid) this.context.say('');
    this.hasSaid = false;
    this.hover.hide();
    if (form === 'table') this.tree.show(`Call tree ${name}`, this.isCount);
    else if (form === 'functions') {
      this.details.clear();
      this.sandwich.show(name, sandwich, this.isCount);
      if (sandwich) this.fetchSandwich(null);
    } else if (keep) this.plot.renew(true, search !== '');
    else this.renewPlot();
    this.finder.search(this.drawn ? search : '', this.isCount);
  }

  /** Draws another graph: where it stood if that is kept, else all of it. */
  private renewPlot(): void {
    const { toRestore: place, settings } = this;
    const known = place?.of === JSON.stringify(this.params) ? place : null;
    this.plot.renew(false, settings.search !== '', known ?? WHOLE);
    const node = known?.node ?? null;
    if (node === null) return;
    this.plot.select({ node, more: false, left: 0 });
    this.fetchDetails(node, null);
  }

  private keepPlace(): void {
    if (this.source.compared) return;
    this.toRestore = null;
    const { target, selected } = this.plot;
    const node = selected && !selected.more ? selected.node : null;
    this.kept.set({ place: { of: JSON.stringify(this.params), ...target, node } });
  }

  private select(facts: BoxFacts | null, open: Opening): void {
    this.plot.select(facts);
    this.keepPlace();
    if (!facts) {
      this.forget();
      this.context.lightStacks(new Set());
      return;
    }
    if (facts.more) {
      const total = this.plot.geometry?.total ?? 1;
      this.forget();
      const sided = this.sided();
      const figures =
        sided && facts.change
          ? changeSentence(facts.change, sided)
          : `${amount(facts.value, this.isCount)}, ${share(facts.value, total)}`;
      this.say(`${counted(facts.name, 'more box', 'more boxes')}, ${figures}. Enter zooms in.`);
      return;
    }
    this.fetchDetails(facts.node, open);
  }

  private forget(): void {
    this.chosen.forget();
    this.details.clear();
  }

  private say(text: string): void {
    this.hasSaid = true;
    this.context.say(text);
  }

  private selectNode(node: FlameNode): void {
    const total = this.plot.geometry?.total ?? 0;
    const value = (node.x1 - node.x0) * total;
    this.plot.select({ node: node.node, more: false, left: node.x0 * total });
    this.keepPlace();
    this.plot.reveal({
      node: node.node,
      more: false,
      left: node.x0 * total,
      value,
      depth: node.depth,
      name: node.name.name,
      kind: 0,
      package: 0,
      change: null,
    });
    this.fetchDetails(node.node, null);
  }

  private fetchDetails(node: number, opening: Opening, params: TreeParams = this.params): void {
    this.chosen.choose(params, node, opening);
  }

  private notFound(error: unknown, of: string): void {
    // a function that was chosen before may have no part in this set
    const none = error instanceof RequestError && error.problem.code === 'bad-request';
    if (none && of === this.ofSandwich) this.sandwich.showFunction(null, this.isCount);
    // what was chosen when the view was last open may be another file's by now
    else if (none && this.toRestore) this.plot.select(null);
    else this.failed(error);
  }

  private shown(answer: FlameNodeAnswer, opening: Opening): void {
    const { node } = answer;
    this.plot.learn([node.name, ...answer.path.map(({ name }) => name)]);
    this.plot.redraw();
    if (this.settings.form !== 'functions') this.details.show(answer, this.isCount, this.drawn);
    else if (this.chosen.of === this.ofSandwich) this.sandwich.showFunction(answer, this.isCount);
    this.context.lightStacks(new Set(node.node === 0 ? [] : answer.stacks));
    const total = this.isCount ? answer.total_count : answer.total_bytes;
    const sided = this.sided();
    // the whole of a half is the function, not the set
    const whole = this.settings.form === 'functions' ? null : total;
    this.say(
      sided
        ? `${nameText(node.name)}: ${changeSentence(changeOf(node.sides), sided)}`
        : nodeSentence(node, this.places, whole, this.isCount),
    );
    if (!opening) return;
    const [line] = answer.lines;
    if (line && line.line > 0 && node.name.kind !== 'native')
      this.context.openFrame(
        { ...line, kind: node.name.kind === 'none' ? 'user' : node.name.kind, source: 'recorded' },
        opening.beside,
      );
    else this.say(`${nameText(node.name)} has no line of source in this snapshot.`);
  }

  private toSandwich(name: FlameName): void {
    if (this.settings.form === 'functions') this.turnSandwich(name);
    else this.change({ form: 'functions', sandwich: name });
  }

  private turnSandwich(name: FlameName | null, opening: Opening = null): void {
    this.kept.set({ sandwich: name });
    this.sandwich.turnTo(name, this.isCount);
    if (name) this.fetchSandwich(opening);
    else this.context.lightStacks(new Set());
  }

  private fetchSandwich(opening: Opening): void {
    // a tree from a function down has the function as its first node
    this.fetchDetails(1, opening, this.halfOf('top_down'));
  }

  private get ofSandwich(): string {
    return keyOf(this.halfOf('top_down'), 1);
  }

  /** What a table of the tree that `params` names asks, and what happens on it. */
  private treeEvents(params: () => TreeParams): FlameTreeEvents {
    return {
      ask: (node, offset, limit) => this.source.children(params(), node, offset, limit),
      selected: (node) => {
        this.fetchDetails(node.node, null, params());
      },
      open: (node, beside) => {
        this.fetchDetails(node.node, { beside }, params());
      },
      menu: (node) =>
        this.commands.menu(node.name, () => {
          this.fetchDetails(node.node, { beside: false }, params());
        }),
      key: (event) => this.commands.take(event),
      failed: (error) => {
        this.failed(error);
      },
    };
  }

  private goToMatch(by: 1 | -1): void {
    const node = this.finder.step(by);
    if (!node) return;
    this.plot.learn([node.name]);
    this.selectNode(node);
  }

  private failed(error: unknown): void {
    if (isCancelled(error)) return;
    this.context.failed(error);
  }
}

/** Whether some of a set's values are negative: its boxes then have two sides. */
function isSigned(info: SnapshotInfo, { from_moment: from, value }: AllocationSet): boolean {
  switch (info.model) {
    case 'timeline':
    case 'graph':
      return false;
    case 'profile':
      return from === null && value !== null && info.values[value]?.negative === true;
    default:
      return never(info);
  }
}
