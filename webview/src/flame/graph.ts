// A flame graph as its parts know it.

import type { FlameName, FlameNode, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import type { AskedSvg } from '../shell/export';
import type { MenuEntry } from '../widgets/menu';
import type { BoxFacts } from './boxes';
import type { FlameContext, FlameSubject } from './context';
import type { FlameHover } from './hover';
import type { FlamePlot } from './plot';
import type { FlameQuestion } from './question';
import type { FlameSettings, KeptFlame, TreeParams } from './settings';
import type { FlameSource } from './source';
import type { Places } from './words';

/** Whether the line of what is selected is to be opened, too, and where. */
export type Opening = { readonly beside: boolean } | null;

/** What is shown of a node in the details, and in which words. */
export interface ShownNode {
  readonly answer: FlameNodeAnswer;
  readonly isCount: boolean;
  /** There are boxes to zoom to. */
  readonly drawn: boolean;
}

/** Its parts are there once something happens. */
export interface FlameGraph {
  readonly context: FlameContext;
  readonly of: FlameSubject;
  /** How it is shown. */
  readonly kept: KeptFlame;
  readonly source: FlameSource;
  readonly question: FlameQuestion;
  readonly places: Places;
  readonly toolbar: {
    setFound(text: string): void;
    focusSearch(): void;
  };
  readonly plot: FlamePlot;
  readonly hover: FlameHover;
  readonly details: {
    readonly isOpen: boolean;
    show(shown: ShownNode): void;
    clear(): void;
  };
  readonly sandwich: {
    turnTo(name: FlameName | null, isCount: boolean): void;
    showFunction(answer: FlameNodeAnswer | null, isCount: boolean): void;
  };
  readonly commands: {
    readonly hasObjects: boolean;
    take(event: KeyboardEvent): boolean;
    menu(name: FlameName, open: () => void): readonly MenuEntry[];
    zoomTo(facts: BoxFacts | null): void;
    zoomToNode(node: FlameNode): void;
    focus(name: FlameName): void;
    ignore(name: FlameName): void;
    hide(name: FlameName): void;
    collapse(name: FlameName): void;
    showObjects(): boolean;
  };
  readonly selection: {
    readonly answer: FlameNodeAnswer | null;
    select(facts: BoxFacts | null, opening: Opening): void;
    go(node: FlameNode): void;
    fetch(node: number, opening: Opening, params?: TreeParams): void;
    withName(run: (name: FlameName) => void): boolean;
    toSandwich(name: FlameName): void;
    turnSandwich(name: FlameName | null, opening?: Opening): void;
    fetchSandwich(opening: Opening): void;
  };
  /** It is to stand where it was when the view was last open. */
  readonly isReturning: boolean;
  change(part: Partial<FlameSettings>): void;
  /** Where it stands is kept. */
  keepPlace(): void;
  goToMatch(by: 1 | -1): void;
  svg(): AskedSvg;
  say(text: string): void;
  failed(error: unknown): void;
}

/** Whether a line of a function can be opened, or what the function stands for. */
export function opens({ line }: { readonly line: number }, { kind, declared }: FlameName): boolean {
  return declared !== '' || (line > 0 && kind !== 'native');
}

/** Opens a line of a function, or what it stands for. */
export function openLine(
  { context }: FlameGraph,
  line: { readonly file: string; readonly line: number; readonly function: string },
  { kind, declared }: Pick<FlameName, 'kind' | 'declared'>,
  beside: boolean,
): void {
  if (declared !== '') {
    context.openDeclaration(declared, beside);
    return;
  }
  context.openFrame({ ...line, kind: kind === 'none' ? 'user' : kind, source: 'recorded' }, beside);
}
