// A function between those that call it and those that it calls, beside the table of all functions.

import type { FlameName, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import type { KeptAttribution } from '../shell/attribution';
import { element, iconButton, setText } from '../widgets/dom';
import { bytes, counted } from '../base/format';
import { shorten } from '../base/text';
import type { Sided } from './difference';
import { FlameFunctions, type FunctionsEvents } from './functions';
import type { TreeParams } from './settings';
import { FlameTree, type FlameTreeEvents } from './tree';
import { kindOf, nameText, type Places } from './words';

export interface SandwichEvents extends FunctionsEvents {
  /** The tree of one half, and what happens on it. */
  half(direction: Half): FlameTreeEvents;
  /** Opens the line that the function is named by. */
  openLine(beside: boolean): void;
  close(): void;
}

export type Half = TreeParams['options']['direction'];

/** What a half's requests are about: stacks through the function, up from it or down. */
export function halfParams(params: TreeParams, direction: Half, name: FlameName): TreeParams {
  return { ...params, options: { ...params.options, direction, focus: name.name } };
}

export class FlameSandwich {
  readonly root: HTMLElement;
  private readonly functions: FlameFunctions;
  private readonly callers: FlameTree;
  private readonly callees: FlameTree;
  private readonly title = element('bdi', { class: 'code' });
  private readonly where = element('span', { class: 'muted flame-where' });
  private readonly line: HTMLButtonElement;
  private readonly halves: HTMLElement;

  constructor(
    events: SandwichEvents,
    private readonly places: Places,
    attribution: Pick<KeptAttribution, 'rule'>,
    sided: () => Sided | null,
  ) {
    this.line = element('button', {
      class: 'link',
      type: 'button',
      hidden: true,
      on: {
        click: (event) => {
          events.openLine(event.ctrlKey || event.metaKey);
        },
      },
    });
    this.functions = new FlameFunctions(events, places, attribution, sided);
    this.callers = new FlameTree('Callers', events.half('bottom_up'), places, { narrow: true, sided });
    this.callees = new FlameTree('Callees', events.half('top_down'), places, { narrow: true, sided });
    this.callers.root.hidden = false;
    this.callees.root.hidden = false;
    this.halves = element(
      'section',
      { class: 'flame-halves', hidden: true, attributes: { 'aria-label': 'Callers and callees' } },
      element(
        'header',
        {},
        element('h3', {}, this.title),
        this.where,
        this.line,
        iconButton('close', 'Close callers and callees', () => {
          events.close();
        }),
      ),
      this.callers.root,
      this.callees.root,
    );
    this.root = element('div', { class: 'flame-sandwich', hidden: true }, this.functions.root, this.halves);
  }

  /** Another set or other options: asks again. */
  show(setName: string, name: FlameName | null, isCount: boolean): void {
    this.functions.show(`Functions ${setName}`, isCount);
    this.turnTo(name, isCount);
  }

  /** Another function of the same set. */
  turnTo(name: FlameName | null, isCount: boolean): void {
    this.functions.choose(name?.name ?? null);
    this.halves.hidden = !name;
    if (!name) return;
    setText(this.title, shorten(nameText(name), 120));
    setText(this.where, '');
    this.line.hidden = true;
    this.callers.show(`Callers of ${nameText(name)}`, isCount);
    this.callees.show(`Callees of ${nameText(name)}`, isCount);
  }

  /** The function as a whole; null where the set has none of it. */
  showFunction(answer: FlameNodeAnswer | null, isCount: boolean): void {
    if (!answer) {
      setText(this.where, 'has no part in this set');
      return;
    }
    const { node, lines } = answer;
    const figures = isCount
      ? `${counted(node.count, 'allocation')}, ${counted(answer.function_self_count, 'own', 'own')}`
      : `${bytes(node.bytes)}, ${bytes(answer.function_self_bytes)} self`;
    setText(this.where, `${figures} · ${kindOf(node.name)}`);
    const [line] = lines;
    this.line.hidden = !line || line.line <= 0 || node.name.kind === 'native';
    if (line) {
      setText(this.line, this.places.of(line));
      this.line.title = `Open ${shorten(line.file, 300)}:${line.line}`;
    }
  }

  redraw(): void {
    this.functions.redraw();
    this.callers.redraw();
    this.callees.redraw();
  }

  dispose(): void {
    this.functions.dispose();
    this.callers.dispose();
    this.callees.dispose();
  }
}
