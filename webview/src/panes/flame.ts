// Flame graph and call tree of the set.

import type {
  FlameName,
  FlameNode,
  FlameNodeAnswer,
  FlameSearchAnswer,
} from '../../../extension/shared/protocol.gen';
import { RequestError, type Pending } from '../api';
import type { Change, ViewContext } from '../context';
import { besideBox, childBox, fillingBoxes, parentBox, type BoxFacts } from '../flame/boxes';
import { panned, WHOLE, zoomed } from '../flame/camera';
import { FlameDetails } from '../flame/details';
import { listenToPointer } from '../flame/input';
import { FlamePlot } from '../flame/plot';
import { initialSettings, treeParams, type FlameSettings, type TreeParams } from '../flame/settings';
import { exposeFlameForTests } from '../flame/test-hook';
import { FlameTip } from '../flame/tip';
import { FlameToolbar } from '../flame/toolbar';
import { FlameTree } from '../flame/tree';
import { amount, nodeSentence, share } from '../flame/words';
import { element, replace } from '../ui/dom';
import { counted } from '../ui/format';
import { shorten } from '../ui/text';
import type { MakePane, Pane } from './pane';

const NAME_AFTER_MS = 120;

export const flamePane: MakePane = (context) => new FlamePane(context);

class FlamePane implements Pane {
  readonly id = 'flame';
  readonly title = 'Flame graph';
  readonly usesSet = true;
  readonly root: HTMLElement;
  private readonly settings: FlameSettings = initialSettings();
  private readonly toolbar: FlameToolbar;
  private readonly plot: FlamePlot;
  private readonly tree: FlameTree;
  private readonly details: FlameDetails;
  private readonly tip = new FlameTip();
  private readonly crumbs = element('nav', {
    class: 'flame-crumbs',
    attributes: { 'aria-label': 'Zoomed to' },
  });
  private crumbsShown = '';
  private answer: FlameNodeAnswer | null = null;
  private found: FlameSearchAnswer | null = null;
  private match = -1;
  private asking: Pending<FlameNodeAnswer> | null = null;
  private searching: Pending<FlameSearchAnswer> | null = null;
  private naming: ReturnType<typeof setTimeout> | undefined;
  /** An open that waits for the details of what was clicked. */
  private opening: { node: number; beside: boolean } | null = null;

  constructor(private readonly context: ViewContext) {
    this.toolbar = new FlameToolbar({
      changed: (part) => {
        this.change(part);
      },
      goToMatch: (by) => {
        this.goToMatch(by);
      },
      leave: () => {
        this.plot.surface.focus();
      },
    });
    this.plot = new FlamePlot({
      ask: (request) =>
        this.context.api.request('memlens/flame', {
          ...this.params,
          ...request,
          search: this.settings.search,
        }),
      shown: () => {
        this.showCrumbs();
        this.root.dataset['pictures'] = String(this.plot.pictures);
      },
      failed: (error) => {
        this.context.failed(error);
      },
    });
    this.details = new FlameDetails({
      open: (line, kind, beside) => {
        this.context.openFrame(
          { ...line, kind: kind === 'none' ? 'user' : kind, source: 'recorded' },
          beside,
        );
      },
      zoom: (node) => {
        this.zoomToNode(node);
      },
      go: (node) => {
        this.selectNode(node);
      },
      focus: (focus) => {
        this.change({ focus });
      },
      hide: (name) => {
        this.change({ hidden: [...this.settings.hidden, name] });
      },
      collapse: (name) => {
        this.change({ packages: [...this.settings.packages, name.package] });
      },
    });
    this.tree = new FlameTree({
      ask: (node, offset, limit) =>
        this.context.api.request('memlens/flameChildren', { ...this.params, node, offset, limit }),
      selected: (node) => {
        this.fetchDetails(node.node, null);
      },
      open: (node, beside) => {
        this.fetchDetails(node.node, { node: node.node, beside });
      },
      failed: (error) => {
        this.failed(error);
      },
    });
    listenToPointer(this.plot, {
      hovered: (box, x, y) => {
        this.hover(box, x, y);
      },
      left: () => {
        this.hover(-1, 0, 0);
      },
      clicked: (box, open) => {
        this.plot.surface.focus({ preventScroll: true });
        this.select(this.plot.facts(box), open ? { beside: false } : null);
      },
      zoom: (box) => {
        this.zoomTo(this.plot.facts(box));
      },
    });
    this.plot.surface.append(this.tip.root);
    this.root = element(
      'div',
      { class: 'flame' },
      this.toolbar.root,
      this.crumbs,
      element('div', { class: 'flame-body' }, this.plot.root, this.tree.root, this.details.root),
    );
    exposeFlameForTests(this.plot);
  }

  update(changes: ReadonlySet<Change>): void {
    if (changes.has('theme')) this.plot.setTheme(this.context.theme);
    if (changes.has('device') || changes.has('filter') || changes.has('cursors')) {
      // names are the snapshot's, and what was hidden stays hidden in another set
      this.renew(false);
    } else if (changes.has('theme')) this.toolbar.update(this.settings);
  }

  key(event: KeyboardEvent): boolean {
    if (event.target !== this.plot.surface) return false;
    const selected = this.plot.facts(this.plot.selectedBox());
    const towardsCallees = this.plot.isUpwards ? 'ArrowUp' : 'ArrowDown';
    if (event.altKey) return false;
    switch (event.key) {
      case 'ArrowUp':
      case 'ArrowDown':
        this.step(event.key === towardsCallees ? childBox : parentBox);
        return true;
      case 'ArrowLeft':
        this.step((g, box) => besideBox(g, box, -1));
        return true;
      case 'ArrowRight':
        this.step((g, box) => besideBox(g, box, 1));
        return true;
      case 'Enter':
        if ((event.ctrlKey || event.metaKey) && selected) this.select(selected, { beside: false });
        else this.zoomTo(selected);
        return true;
      case 'Escape':
        return this.leave();
      case 'PageUp':
      case 'PageDown':
        this.plot.moveTo(
          panned(this.plot.target, 0, (event.key === 'PageDown' ? 1 : -1) * this.plot.rows * 0.8),
        );
        return true;
      case 'Home':
      case '0':
        this.plot.moveTo(WHOLE, true);
        return true;
      case '+':
      case '=':
        this.plot.moveTo(zoomed(this.plot.target, 0.5, 2), true);
        return true;
      case '-':
        this.plot.moveTo(zoomed(this.plot.target, 0.5, 0.5), true);
        return true;
      case '/':
        this.toolbar.focusSearch();
        return true;
      case 'n':
      case 'N':
        this.goToMatch(event.shiftKey ? -1 : 1);
        return true;
      default:
        return this.keyOnName(event.key.toLowerCase());
    }
  }

  dispose(): void {
    clearTimeout(this.naming);
    this.asking?.cancel();
    this.searching?.cancel();
    this.plot.dispose();
    this.tree.dispose();
  }

  private get params(): TreeParams {
    return treeParams(this.settings, this.context.set, this.context.device.events);
  }

  private get isCount(): boolean {
    return this.settings.value === 'count';
  }

  private change(part: Partial<FlameSettings>): void {
    const before = JSON.stringify(this.params);
    const { search, form } = this.settings;
    Object.assign(this.settings, part);
    const sameTree = JSON.stringify(this.params) === before;
    if (!sameTree || search !== this.settings.search || form !== this.settings.form) this.renew(sameTree);
    else this.arrange();
  }

  private arrange(): void {
    const { form, colour } = this.settings;
    this.toolbar.update(this.settings);
    this.plot.root.hidden = form === 'table';
    this.crumbs.hidden = form === 'table';
    this.tree.root.hidden = form !== 'table';
    this.plot.setStyle(form === 'flame', colour);
  }

  /** Asks again. With `keep` the tree is the same, and so the camera and the selection stay. */
  private renew(keep: boolean): void {
    const { form, search } = this.settings;
    this.arrange();
    const name = this.settings.value === 'total' ? 'of the whole run' : this.context.setName;
    this.plot.setEmpty(`Nothing was allocated ${name}.`);
    if (!keep) {
      this.answer = null;
      this.details.clear();
      this.asking?.cancel();
      this.context.lightStacks(new Set());
    }
    this.hover(-1, 0, 0);
    if (form === 'table') this.tree.show(`Call tree ${name}`, this.isCount);
    else this.plot.renew(keep, search !== '');
    this.search();
  }

  private select(facts: BoxFacts | null, open: { beside: boolean } | null): void {
    this.plot.select(facts);
    if (!facts) {
      this.answer = null;
      this.details.clear();
      this.context.lightStacks(new Set());
      return;
    }
    if (facts.more) {
      const total = this.plot.geometry?.total ?? 1;
      this.details.clear();
      this.context.say(
        `${counted(facts.name, 'more box', 'more boxes')}, ${amount(facts.value, this.isCount)}, ` +
          `${share(facts.value, total)}. Enter zooms in.`,
      );
      return;
    }
    this.fetchDetails(facts.node, open ? { node: facts.node, beside: open.beside } : null);
  }

  private selectNode(node: FlameNode): void {
    const total = this.plot.geometry?.total ?? 0;
    const value = this.isCount ? node.count : node.bytes;
    this.plot.select({ node: node.node, more: false, left: node.x0 * total });
    this.plot.reveal({
      node: node.node,
      more: false,
      left: node.x0 * total,
      value,
      depth: node.depth,
      name: node.name.name,
      kind: 0,
      package: 0,
    });
    this.fetchDetails(node.node, null);
  }

  private fetchDetails(node: number, opening: { node: number; beside: boolean } | null): void {
    this.opening = opening;
    if (this.answer?.node.node === node) {
      this.shown(this.answer);
      return;
    }
    this.asking?.cancel();
    const asking = this.context.api.request('memlens/flameNode', { ...this.params, node });
    this.asking = asking;
    asking.answer.then(
      (answer) => {
        if (this.asking !== asking) return;
        this.asking = null;
        this.answer = answer;
        this.shown(answer);
      },
      (error: unknown) => {
        this.failed(error);
      },
    );
  }

  private shown(answer: FlameNodeAnswer): void {
    const { node } = answer;
    this.plot.learn([node.name, ...answer.path.map(({ name }) => name)]);
    this.plot.redraw();
    this.details.show(answer, this.isCount);
    this.context.lightStacks(new Set(node.node === 0 ? [] : answer.stacks));
    const total = this.isCount ? answer.total_count : answer.total_bytes;
    this.context.say(nodeSentence(node, total, this.isCount));
    if (this.opening?.node !== node.node) return;
    const { beside } = this.opening;
    this.opening = null;
    const [line] = answer.lines;
    if (line && line.line > 0 && node.name.kind !== 'native')
      this.context.openFrame(
        { ...line, kind: node.name.kind === 'none' ? 'user' : node.name.kind, source: 'recorded' },
        beside,
      );
    else this.context.say(`${node.name.function} has no line of source in this snapshot.`);
  }

  private zoomTo(facts: BoxFacts | null): void {
    if (facts) this.plot.zoomTo(facts.left, facts.value, facts.depth);
  }

  private zoomToNode(node: FlameNode): void {
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
    this.select(facts, null);
    this.plot.reveal(facts);
  }

  /** Escape: first the selection goes, then the zoom, then what was done to frames. */
  private leave(): boolean {
    const { focus, hidden, packages, search } = this.settings;
    const { x0, x1 } = this.plot.target;
    if (this.plot.selected) this.select(null, null);
    else if (x0 > 0 || x1 < 1) this.plot.moveTo(WHOLE, true);
    else if (focus) this.change({ focus: null });
    else if (hidden.length > 0) this.change({ hidden: hidden.slice(0, -1) });
    else if (packages.length > 0) this.change({ packages: packages.slice(0, -1) });
    else if (search !== '') this.change({ search: '' });
    else return false;
    return true;
  }

  private keyOnName(key: string): boolean {
    const name = this.answer?.node.name;
    if (!this.plot.selected || !name || name.kind === 'none' || this.answer?.node.node === 0) return false;
    if (key === 'f') this.change({ focus: name });
    else if (key === 'h') this.change({ hidden: [...this.settings.hidden, name] });
    else if (key === 'c' && name.package !== '')
      this.change({ packages: [...this.settings.packages, name.package] });
    else return false;
    return true;
  }

  private hover(box: number, x: number, y: number): void {
    clearTimeout(this.naming);
    this.plot.hover(box);
    const g = this.plot.geometry;
    const facts = this.plot.facts(box);
    if (!g || !facts) {
      this.tip.hide();
      return;
    }
    const show = (name: FlameName | undefined): void => {
      const { clientWidth: width, clientHeight: height } = this.plot.surface;
      this.tip.show(facts, name, g.total, this.isCount, this.plot.colourOf(box), { x, y, width, height });
    };
    const name = this.plot.names.get(facts.name);
    show(name);
    if (name || facts.more || facts.node === 0) return;
    this.naming = setTimeout(() => {
      this.context.api.request('memlens/flameNode', { ...this.params, node: facts.node }).answer.then(
        ({ node }) => {
          this.plot.learn([node.name]);
          if (this.plot.geometry === g && !this.tip.root.hidden) show(node.name);
        },
        () => undefined, // the tooltip stays without a name; a click would tell what is wrong
      );
    }, NAME_AFTER_MS);
  }

  private showCrumbs(): void {
    const g = this.plot.geometry;
    if (!g) return;
    const zoom = this.plot.target.x0 > 0 || this.plot.target.x1 < 1;
    const boxes = zoom ? fillingBoxes(g, this.plot.target) : [];
    const facts = boxes.flatMap((box) => this.plot.facts(box) ?? []);
    const key = JSON.stringify([zoom, facts, facts.map(({ name }) => this.plot.names.has(name))]);
    if (key === this.crumbsShown) return;
    this.crumbsShown = key;
    const crumb = (text: string, press: () => void): HTMLElement =>
      element('button', { class: 'link', type: 'button', on: { click: press } }, element('bdi', {}, text));
    replace(
      this.crumbs,
      zoom &&
        element(
          'button',
          {
            class: 'link flame-reset',
            type: 'button',
            on: {
              click: () => {
                this.plot.moveTo(WHOLE, true);
              },
            },
          },
          'Reset zoom',
        ),
      ...facts
        .filter(({ node, more }) => node !== 0 && !more)
        .map((each) =>
          crumb(shorten(this.plot.names.get(each.name)?.function ?? '…', 40), () => {
            this.zoomTo(each);
          }),
        ),
    );
    this.crumbs.classList.toggle('shown', zoom);
  }

  private search(): void {
    this.searching?.cancel();
    this.searching = null;
    this.found = null;
    this.match = -1;
    const { search } = this.settings;
    if (search === '') {
      this.toolbar.setFound('');
      return;
    }
    const searching = this.context.api.request('memlens/flameSearch', { ...this.params, text: search });
    this.searching = searching;
    searching.answer.then(
      (found) => {
        if (this.searching !== searching) return;
        this.found = found;
        this.showFound();
        this.context.say(this.foundText(found));
      },
      (error: unknown) => {
        this.failed(error);
      },
    );
  }

  private foundText(found: FlameSearchAnswer): string {
    if (found.nodes === 0) return 'Nothing found';
    const value = this.isCount ? found.count : found.bytes;
    const total = this.isCount ? found.total_count : found.total_bytes;
    return `${amount(value, this.isCount)} (${share(value, total)}) in ${counted(found.nodes, 'box', 'boxes')}`;
  }

  private showFound(): void {
    const { found, match } = this;
    if (!found) return;
    const place = match < 0 ? '' : `${match + 1}/${found.matches.length}, `;
    this.toolbar.setFound(place + this.foundText(found));
  }

  private goToMatch(by: 1 | -1): void {
    const matches = this.found?.matches ?? [];
    if (matches.length === 0) return;
    this.match =
      this.match < 0 && by < 0 ? matches.length - 1 : (this.match + by + matches.length) % matches.length;
    const node = matches[this.match];
    this.showFound();
    if (!node) return;
    this.plot.learn([node.name]);
    this.selectNode(node);
  }

  private failed(error: unknown): void {
    if (error instanceof RequestError && error.problem.code === 'cancelled') return;
    this.context.failed(error);
  }
}
