// Flame graph and call tree of the set.

import { signal } from '@preact/signals';
import { createRef, type ComponentChildren, type ComponentType, type VNode } from 'preact';
import type { FlamePlace } from '../../../extension/shared/messages';
import { isCancelled } from '../base/latest';
import { t } from '../base/l10n';
import type { Change } from '../shell/context';
import { svgTheme, type AskedSvg } from '../shell/export';
import type { BarRoom, Pane, PaneRoom } from '../shell/pane';
import { WHOLE } from './camera';
import { FlameCommands } from './commands';
import type { FlameContext, FlameSubject } from './context';
import { FlameCrumbs } from './crumbs';
import { FlameDetails } from './details';
import { changeFigures, type Sided } from './difference';
import { FlameFinder } from './finder';
import type { FlameGraph } from './graph';
import { FlameHover } from './hover';
import { ChangeLegend } from './legend';
import { FlamePlot } from './plot';
import { listenTo } from './pointer';
import { FlameQuestion } from './question';
import { FlameSandwich } from './sandwich';
import { FlameSelection } from './selection';
import type { FlameSettings, KeptFlame } from './settings';
import { ownSource, type FlameSource } from './source';
import { exposeFlameForTests } from './test-hook';
import { FlameToolbar } from './toolbar';
import { FlameTree } from './tree';
import { amount, Places, share } from './words';

/** It is a pane, or a picture with its controls over it. */
interface FlameRoom extends Partial<PaneRoom> {
  readonly class?: string;
  readonly children?: ComponentChildren;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

interface Shown extends Pick<FlameSettings, 'form'> {
  readonly isDrawn: boolean;
  /** What its boxes have two sides of; null where they have one. */
  readonly sided: Sided | null;
}

/** The flame graph of a set; `kept` is how it is shown. */
export const flamePane = (
  context: FlameContext,
  kept: KeptFlame,
  of: FlameSubject,
  First?: ComponentType,
): FlamePane => new FlamePane(context, of, kept, ownSource(context.api, context.attribution), First);

/** A flame graph with all that belongs to it; `kept` is how it is shown, `source` whom it asks. */
export class FlamePane implements Pane, FlameGraph {
  readonly question: FlameQuestion;
  readonly places: Places;
  readonly toolbar: FlameToolbar;
  readonly plot: FlamePlot;
  private readonly tree: FlameTree;
  readonly sandwich: FlameSandwich;
  readonly details: FlameDetails;
  readonly commands: FlameCommands;
  readonly hover: FlameHover;
  private readonly crumbs: FlameCrumbs;
  private readonly finder: FlameFinder;
  readonly selection: FlameSelection;
  private readonly body = createRef<HTMLDivElement>();
  private readonly pictures = signal(0);
  /** What of it is shown. */
  private readonly arranged = signal<Shown>({ form: 'icicle', isDrawn: true, sided: null });
  /** The note in the status bar is about this graph. */
  private hasSaid = false;
  /** The graph that is shown; empty for a table. */
  private shownGraph = '';
  /** Where the graph stood when the view was last open, until it is shown again or left. */
  private toRestore: FlamePlace | null;

  constructor(
    readonly context: FlameContext,
    readonly of: FlameSubject,
    readonly kept: KeptFlame,
    readonly source: FlameSource,
    /** More controls, before the others. */
    First?: ComponentType,
  ) {
    this.toRestore = source.compared ? null : kept.settings.place;
    const question = new FlameQuestion(context, of, kept, source);
    this.question = question;
    const places = new Places(() => this.settings.wholePaths);
    this.places = places;
    const failed = (error: unknown): void => this.failed(error);
    this.toolbar = new FlameToolbar(this, source.compared !== null, context.attribution, First);
    this.plot = new FlamePlot(
      {
        ask: (request) => source.picture(question.params, request, this.settings.search),
        shown: () => {
          this.crumbs.update();
          this.pictures.value = this.plot.pictures;
        },
        moved: () => this.keepPlace(),
        failed,
      },
      places,
    );
    this.details = new FlameDetails(this);
    this.tree = new FlameTree(t('Call tree'), this, () => question.params, {
      attribution: context.attribution,
    });
    this.sandwich = new FlameSandwich(this);
    this.selection = new FlameSelection(this);
    this.crumbs = new FlameCrumbs(this.plot, (facts) => this.commands.zoomTo(facts));
    this.finder = new FlameFinder(this);
    this.commands = new FlameCommands(this);
    this.hover = new FlameHover(
      this.plot,
      (node) => source.node(question.params, node),
      ({ change, value }, total) => {
        const sided = question.sided();
        return sided && change
          ? changeFigures(change, sided)
          : { large: amount(value, question.isCount), small: share(value, total) };
      },
      places,
    );
    listenTo(this);
    if (source.compared) this.toolbar.without('value', 'order');
    const own = of.objects ? 'memlensStacks' : 'memlensFlame';
    exposeFlameForTests(this.plot, source.compared ? 'memlensDifference' : own);
  }

  readonly View = ({ class: more = '', children, ...attributes }: FlameRoom): VNode => {
    const { form, isDrawn, sided } = this.arranged.value;
    return (
      <div {...attributes} class={`flame pane ${more}`} data-pictures={this.pictures.value || undefined}>
        {children}
        <this.crumbs.View hidden={!isDrawn} />
        <div class="flame-body" ref={this.body}>
          <this.plot.View hidden={!isDrawn} />
          <this.tree.View hidden={form !== 'table'} />
          <this.sandwich.View hidden={form !== 'functions'} />
          <this.details.View />
        </div>
        <div class="compare-legend flame-legend" hidden={!isDrawn || !sided}>
          {sided && <ChangeLegend sided={sided} />}
        </div>
      </div>
    );
  };

  get Bar(): ComponentType<BarRoom> {
    return this.toolbar.View;
  }

  focus(): void {
    const all = [...(this.body.current?.querySelectorAll<HTMLElement>('[tabindex="0"]') ?? [])];
    all.find((each) => !each.closest('[hidden]'))?.focus({ preventScroll: true });
  }

  /** Asks for the part that is shown as SVG. */
  svg(): AskedSvg {
    const { x0, x1 } = this.plot.target;
    const { params, title } = this.question;
    return this.source.svg(params, { x0, x1, title, theme: svgTheme() });
  }

  /** What the view decides for all of its panes. */
  without(...controls: readonly ('value' | 'order')[]): void {
    this.toolbar.without(...controls);
  }

  update(changes: ReadonlySet<Change>): void {
    if (changes.has('flame')) this.toRestore = this.source.compared ? null : this.settings.place;
    if (changes.has('set')) {
      // names are the snapshot's, and what was hidden stays hidden in another set
      this.renew(false);
    } else if (changes.has('flame')) this.goBack();
    else if (changes.has('attribution')) this.reattribute();
    else if (changes.has('theme')) this.arrange();
  }

  key(event: KeyboardEvent): boolean {
    return event.target === this.plot.surface && this.commands.take(event);
  }

  /** The set is another one, or what widths mean; `sameNames` when numbers of names are those of before. */
  renewed(sameNames: boolean): void {
    if (!sameNames) this.kept.set({ focus: null, hidden: [], sandwich: null });
    this.renew(false);
  }

  /** The whole that shares are of has become known. */
  restyle(): void {
    this.arrange();
  }

  dispose(): void {
    this.hover.hide();
    this.selection.cancel();
    this.finder.cancel();
    this.plot.dispose();
    this.tree.dispose();
    this.sandwich.dispose();
  }

  private get settings(): FlameSettings {
    return this.kept.settings;
  }

  /** Its settings are those of somewhere before: of the same graph only the place is another one. */
  private goBack(): void {
    if (!this.question.isDrawn || this.question.key !== this.shownGraph) {
      this.renew(false);
      return;
    }
    const { place } = this.settings;
    const node = place?.node ?? null;
    this.arrange();
    this.plot.stand(place ?? WHOLE, true);
    this.plot.select(node === null ? null : { node, more: false, left: 0 });
    if (node === null) this.selection.forget();
    else this.selection.fetch(node, null);
  }

  /** Boxes and functions have something else of their own: the graph stays as it is. */
  private reattribute(): void {
    if (this.question.isDrawn) this.arrange();
    else this.renew(true);
    this.selection.renew();
  }

  change(part: Partial<FlameSettings>): void {
    const before = JSON.stringify(this.question.params);
    const { search, form, wholePaths } = this.settings;
    this.kept.set(part);
    if (wholePaths !== this.settings.wholePaths) this.restate();
    const sameTree = JSON.stringify(this.question.params) === before;
    if (!sameTree || search !== this.settings.search || form !== this.settings.form) this.renew(sameTree);
    else this.arrange();
  }

  /** Files are called otherwise. */
  private restate(): void {
    this.plot.redraw();
    this.tree.redraw();
    this.sandwich.redraw();
    this.selection.restate();
  }

  private arrange(): void {
    const { form, colour } = this.settings;
    const { isDrawn } = this.question;
    const sided = this.question.sided();
    this.toolbar.update(this.settings, sided !== null);
    this.arranged.value = { form, isDrawn, sided };
    this.plot.setStyle(form === 'flame', sided ? { whole: sided.whole, scale: sided.scale } : colour);
  }

  /** Asks again. With `keep` the tree is the same, and so the camera and the selection stay. */
  private renew(keep: boolean): void {
    const { form, search, sandwich } = this.settings;
    const { question } = this;
    this.shownGraph = question.isDrawn ? question.key : '';
    this.arrange();
    this.plot.setEmpty(question.empty);
    if (!keep) {
      this.selection.forget();
      this.context.timeline?.highlightStacks(new Set());
    }
    if (this.hasSaid) this.context.say('');
    this.hasSaid = false;
    this.hover.hide();
    if (form === 'table') this.tree.show(t('Call tree {0}', question.name), question.isCount);
    else if (form === 'functions') {
      this.details.clear();
      this.sandwich.show(t('Functions {0}', question.name), sandwich, question.isCount);
      if (sandwich) this.selection.fetchSandwich(null);
    } else if (keep) this.plot.renew(true, search !== '');
    else this.renewPlot();
    this.finder.search(question.isDrawn ? search : '', question.isCount);
  }

  /** Draws another graph: where it stood if that is kept, else all of it. */
  private renewPlot(): void {
    const { toRestore: place, settings } = this;
    const known = place?.of === JSON.stringify(this.question.params) ? place : null;
    this.plot.renew(false, settings.search !== '', known ?? WHOLE);
    const node = known?.node ?? null;
    if (node === null) return;
    this.plot.select({ node, more: false, left: 0 });
    this.selection.fetch(node, null);
  }

  get isReturning(): boolean {
    return this.toRestore !== null;
  }

  keepPlace(): void {
    if (this.source.compared) return;
    this.toRestore = null;
    const { node } = this.selection;
    this.kept.set({ place: { of: JSON.stringify(this.question.params), ...this.plot.target, node } });
  }

  say(text: string): void {
    this.hasSaid = true;
    this.context.say(text);
  }

  goToMatch(by: 1 | -1): void {
    const node = this.finder.step(by);
    if (!node) return;
    this.plot.learn([node.name]);
    this.selection.go(node);
  }

  failed(error: unknown): void {
    if (!isCancelled(error)) this.context.failed(error);
  }
}
