// What the selected box is: its own and inclusive value, its function, its lines, its callers.

import type {
  FlameLine,
  FlameName,
  FlameNode,
  FlameNodeAnswer,
  FlameSides,
} from '../../../extension/shared/protocol.gen';
import type { KeptAttribution } from '../shell/attribution';
import { element, replace } from '../widgets/dom';
import { exactFigure, figure } from '../base/figure';
import { count } from '../base/format';
import { shorten } from '../base/text';
import { changeOf, changeSentence, changeText, sideFigures, turnOf, type Sided } from './difference';
import { both, kindOf, nameText, share, type Places } from './words';

export interface FlameDetailsEvents {
  open(line: FlameLine, kind: FlameName['kind'], beside: boolean): void;
  zoom(node: FlameNode): void;
  go(node: FlameNode): void;
  sandwich(name: FlameName): void;
  focus(name: FlameName): void;
  hide(name: FlameName): void;
  collapse(name: FlameName): void;
}

const CALLERS_SHOWN = 40;

export class FlameDetails {
  readonly root = element('aside', {
    class: 'flame-details',
    hidden: true,
    attributes: { 'aria-label': 'The selected box' },
  });

  constructor(
    private readonly sided: () => Sided | null,
    /** There are no functions in it to be put between callers and callees. */
    private readonly alone: boolean,
    private readonly places: Places,
    private readonly attribution: Pick<KeptAttribution, 'name'>,
    private readonly events: FlameDetailsEvents,
  ) {}

  clear(): void {
    this.root.hidden = true;
    replace(this.root);
  }

  /** `drawn`: there are boxes to zoom to. */
  show(answer: FlameNodeAnswer, isCount: boolean, drawn: boolean): void {
    const { node, path } = answer;
    const sided = this.sided();
    const { name } = node;
    const total = isCount ? answer.total_count : answer.total_bytes;
    const fact = (term: string, sizeBytes: number, number: number): HTMLElement[] => [
      element('dt', {}, term),
      element(
        'dd',
        { title: `${count(sizeBytes)} bytes` },
        `${both(sizeBytes, number)} `,
        element('span', { class: 'muted' }, share(isCount ? number : sizeBytes, total)),
      ),
    ];
    const again = answer.function_count !== node.count || answer.function_self_count !== node.self_count;
    const real = node.node !== 0 && name.kind !== 'none';
    const own = `Self (${this.attribution.name})`;
    replace(
      this.root,
      element('h3', {}, element('bdi', { class: 'code' }, shorten(nameText(name), 200))),
      element('div', { class: 'muted' }, [kindOf(name), this.places.of(name)].filter(Boolean).join(' · ')),
      sided && element('dl', {}, ...this.changes(answer, sided)),
      !sided &&
        element(
          'dl',
          {},
          ...fact('Inclusive', node.bytes, node.count),
          ...fact(own, node.self_bytes, node.self_count),
          ...(again && node.node !== 0
            ? [
                ...fact('Everywhere', answer.function_bytes, answer.function_count),
                ...fact(`${own}, everywhere`, answer.function_self_bytes, answer.function_self_count),
              ]
            : []),
        ),
      element(
        'div',
        { class: 'flame-actions' },
        drawn &&
          this.action('Zoom', 'Enter', () => {
            this.events.zoom(node);
          }),
        real &&
          !this.alone &&
          this.action('Sandwich', 'W', () => {
            this.events.sandwich(name);
          }),
        real &&
          this.action('Focus', 'F', () => {
            this.events.focus(name);
          }),
        real &&
          this.action('Hide', 'H', () => {
            this.events.hide(name);
          }),
        real &&
          name.package !== '' &&
          !name.is_package &&
          this.action(`Collapse ${shorten(name.package, 24)}`, 'C', () => {
            this.events.collapse(name);
          }),
      ),
      answer.lines.length > 0 && element('h4', {}, answer.lines.length === 1 ? 'Line' : 'Lines'),
      element('ul', { class: 'flame-lines' }, ...answer.lines.map((line) => this.line(line, name, isCount))),
      path.length > 0 && element('h4', {}, 'Called from'),
      element(
        'ol',
        { class: 'flame-callers' },
        ...path
          .slice(-CALLERS_SHOWN)
          .reverse()
          .map((caller) => this.caller(caller)),
      ),
    );
    this.root.hidden = false;
  }

  /** Both sides of a node of a comparison, and what became of it. */
  private changes(answer: FlameNodeAnswer, { scale, before, after }: Sided): HTMLElement[] {
    const { node } = answer;
    const whole = changeOf(answer.whole);
    const { sides, self_sides: own } = node;
    const fact = (term: string, text: string, title = '', turn = ''): HTMLElement[] => [
      element('dt', {}, term),
      element('dd', { title, class: turn === '' ? '' : `compare-difference ${turn}` }, text),
    ];
    const turned = (term: string, part: FlameSides | null): HTMLElement[] => {
      const change = changeOf(part);
      const title = `${exactFigure(change.before)} → ${exactFigure(change.after)}`;
      return fact(term, changeText(change, whole, scale), title, turnOf(change, whole, scale));
    };
    const side = (term: string, size: number, many: number, all: number): HTMLElement[] =>
      fact(term, `${sideFigures(size, many)}, ${share(size, all)}`, exactFigure(size));
    const everywhere = answer.function_sides;
    return [
      ...turned('Difference', sides),
      ...side(before, sides?.before_bytes ?? 0, sides?.before_count ?? 0, whole.before),
      ...side(after, sides?.after_bytes ?? 0, sides?.after_count ?? 0, whole.after),
      ...turned(`Self (${this.attribution.name})`, own),
      ...(node.node !== 0 && JSON.stringify(everywhere) !== JSON.stringify(sides)
        ? turned('Everywhere', everywhere)
        : []),
    ];
  }

  private action(text: string, key: string, press: () => void): HTMLElement {
    return element(
      'button',
      { class: 'button secondary', type: 'button', title: `${text} (${key})`, on: { click: press } },
      text,
    );
  }

  private line(line: FlameLine, name: FlameName, isCount: boolean): HTMLElement {
    const text = line.line > 0 ? this.places.of(line) : line.file || line.function;
    const sided = this.sided();
    const figures = sided
      ? changeText(changeOf(line.sides), sided.whole, sided.scale)
      : isCount
        ? count(line.count)
        : figure(line.bytes);
    const value = element('span', { class: 'muted' }, figures);
    if (line.line <= 0 || name.kind === 'native')
      return element('li', {}, element('bdi', {}, shorten(text, 260)), ' ', value);
    return element(
      'li',
      {},
      element(
        'button',
        {
          class: 'link',
          type: 'button',
          title: `Open ${shorten(line.file, 300)}:${line.line}`,
          on: {
            click: (event) => {
              this.events.open(line, name.kind, event.ctrlKey || event.metaKey);
            },
          },
        },
        element('bdi', {}, shorten(text, 260)),
      ),
      ' ',
      value,
    );
  }

  private caller(node: FlameNode): HTMLElement {
    const sided = this.sided();
    const figures = sided ? changeSentence(changeOf(node.sides), sided) : both(node.bytes, node.count);
    return element(
      'li',
      {},
      element(
        'button',
        {
          class: 'link',
          type: 'button',
          title: `${shorten(nameText(node.name), 300)}: ${figures}`,
          on: {
            click: () => {
              this.events.go(node);
            },
          },
        },
        element('bdi', { class: 'code' }, shorten(nameText(node.name), 80)),
      ),
      ' ',
      element('span', { class: 'muted' }, this.places.of(node.name)),
    );
  }
}
