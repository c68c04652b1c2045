// What the parts of a flame graph ask of each other.

import type { FlameName } from '../../../extension/shared/protocol.gen';
import { exactly } from '../base/text';
import { savePicture, type AskedSvg } from '../shell/export';
import { openMenu } from '../widgets/menu';
import type { FlameCommandEvents, FlameCommands } from './commands';
import type { FlameContext } from './context';
import type { FlameDetailsEvents } from './details';
import type { FlameHover } from './hover';
import { listenToPointer } from './input';
import type { FlamePlot } from './plot';
import type { FlameQuestion } from './question';
import type { SandwichEvents } from './sandwich';
import type { FlameSelection } from './selection';
import type { FlameSettings, TreeParams } from './settings';
import type { FlameSource } from './source';
import type { FlameToolbar } from './toolbar';
import type { FlameTreeEvents } from './tree';

/** A flame graph as its parts know it; they are there once something happens. */
export interface FlameParts {
  readonly context: FlameContext;
  readonly source: FlameSource;
  readonly question: FlameQuestion;
  readonly toolbar: FlameToolbar;
  readonly plot: FlamePlot;
  readonly hover: FlameHover;
  readonly commands: FlameCommands;
  readonly selection: FlameSelection;
  change(part: Partial<FlameSettings>): void;
  goToMatch(by: 1 | -1): void;
  svg(): AskedSvg;
  failed(error: unknown): void;
}

export function detailsEvents(of: FlameParts): FlameDetailsEvents {
  return {
    open: (line, kind, beside) =>
      of.context.openFrame({ ...line, kind: kind === 'none' ? 'user' : kind, source: 'recorded' }, beside),
    zoom: (node) => of.commands.zoomToNode(node),
    go: (node) => of.selection.go(node),
    sandwich: (name) => of.selection.toSandwich(name),
    focus: (name) => of.commands.focus(name),
    ignore: (name) => of.commands.ignore(name),
    hide: (name) => of.commands.hide(name),
    collapse: (name) => of.commands.collapse(name),
    objects: () => showObjects(of),
  };
}

/** Shows the objects of the selected box; false where none is known. */
function showObjects({ context: { objects }, selection: { answer } }: FlameParts): boolean {
  if (!objects?.show || !answer) return false;
  objects.show(answer);
  return true;
}

export function sandwichEvents(of: FlameParts): SandwichEvents {
  return {
    ask: (order, reverse, offset, limit) => {
      const { params } = of.question;
      return of.source.functions(
        // from the bottom up the outermost caller would be what has a value of its own
        { ...params, options: { ...params.options, direction: 'top_down' } },
        { order, reverse, offset, limit },
      );
    },
    chosen: ({ name }, opening) => of.selection.turnSandwich(name, opening),
    menu: (row) => of.commands.menu(row.name, () => of.selection.turnSandwich(row.name, { beside: false })),
    openLine: (beside) => of.selection.fetchSandwich({ beside }),
    half: (direction) => treeEvents(of, () => of.question.halfOf(direction)),
    close: () => of.selection.turnSandwich(null),
    key: (event) => of.commands.take(event),
    failed: (error) => of.failed(error),
  };
}

/** What a table of the tree that `params` names asks, and what happens on it. */
export function treeEvents(of: FlameParts, params: () => TreeParams): FlameTreeEvents {
  return {
    ask: (node, offset, limit) => of.source.children(params(), node, offset, limit),
    selected: (node) => of.selection.fetch(node.node, null, params()),
    open: (node, beside) => of.selection.fetch(node.node, { beside }, params()),
    menu: (node) =>
      of.commands.menu(node.name, () => of.selection.fetch(node.node, { beside: false }, params())),
    key: (event) => of.commands.take(event),
    failed: (error) => of.failed(error),
  };
}

export function commandEvents(of: FlameParts): FlameCommandEvents {
  const { api } = of.context;
  const sandwich = (name: FlameName | null): void => {
    if (name) of.selection.toSandwich(name);
    else of.selection.turnSandwich(null);
  };
  return {
    withChosen: (run) => (!of.question.isDrawn || of.plot.selected !== null) && of.selection.withName(run),
    select: (facts, open) => of.selection.select(facts, open),
    change: (part) => of.change(part),
    exclude: (name) => {
      const { filter, objects } = of.context;
      const term = `-${objects?.term ?? 'function'}:${exactly(name)}`;
      if (!filter.includes(term)) of.context.setFilter(`${filter} ${term}`.trim());
    },
    sandwich: of.source.compared ? null : sandwich,
    objects: of.context.objects?.show ? () => showObjects(of) : null,
    search: () => of.toolbar.focusSearch(),
    goToMatch: (by) => of.goToMatch(by),
    post: (message) => api.post(message),
    save: (form) => {
      savePicture(api, form, of.svg()).catch((error: unknown) => of.failed(error));
    },
  };
}

/** What the pointer does to the picture. */
export function listenTo(of: FlameParts): void {
  const { plot, hover, selection } = of;
  listenToPointer(plot, {
    hovered: (box, x, y) => hover.show(box, x, y),
    left: () => hover.hide(),
    clicked: (box, open) => {
      plot.surface.focus({ preventScroll: true });
      // the details may take the place where the tooltip stands
      hover.hide();
      selection.select(plot.facts(box), open ? { beside: false } : null);
    },
    zoom: (box) => of.commands.zoomTo(plot.facts(box)),
    menu: (box, x, y) => {
      hover.hide();
      if (box >= 0) selection.select(plot.facts(box), null);
      selection.withName((name) => {
        const open = (): void => {
          if (plot.selected) selection.fetch(plot.selected.node, { beside: false });
        };
        openMenu(of.commands.menu(name, open), x, y);
      });
    },
  });
}
