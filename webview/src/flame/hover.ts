// What the pointer is over: its box is marked and named, once it has rested there where the name isn't known yet.

import type { FlameName } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import type { BoxFacts } from './boxes';
import type { FlamePlot } from './plot';
import { HoverCard } from '../widgets/hover-card';
import { FlameCard, type FlameCardProps, type TipFigures } from './tip';
import type { Places } from './words';

const NAME_AFTER_MS = 120;

/** What has boxes under the pointer. */
export type Hovered = Pick<
  FlamePlot,
  'surface' | 'geometry' | 'names' | 'facts' | 'learn' | 'colourOf' | 'hover'
>;

interface AskedBox {
  readonly node: { readonly name: FlameName };
  readonly detail?: string;
}

export class FlameHover {
  private readonly tip: HoverCard<FlameCardProps>;
  private naming: ReturnType<typeof setTimeout> | undefined;
  private readonly details = new Map<number, string>();

  /** With `detailed` what is said of a box besides its figures is asked for as well. */
  constructor(
    private readonly plot: Hovered,
    private readonly ask: (node: number) => Pending<AskedBox>,
    /** What a box has, in figures; `total` is the whole on the axis of values. */
    private readonly figures: (facts: BoxFacts, total: number) => TipFigures,
    private readonly places: Places,
    private readonly detailed = false,
  ) {
    this.tip = new HoverCard(FlameCard, plot.surface);
  }

  /** The numbers of boxes now mean others. */
  forget(): void {
    this.details.clear();
    this.hide();
  }

  hide(): void {
    clearTimeout(this.naming);
    this.plot.hover(-1);
    this.tip.hide();
  }

  show(box: number, x: number, y: number): void {
    clearTimeout(this.naming);
    this.plot.hover(box);
    const g = this.plot.geometry;
    const facts = this.plot.facts(box);
    if (!g || !facts) {
      this.tip.hide();
      return;
    }
    const show = (name: FlameName | undefined): void => {
      const [figures, colour] = [this.figures(facts, g.total), this.plot.colourOf(box)];
      const detail = facts.more ? '' : (this.details.get(facts.node) ?? '');
      this.tip.show(
        { facts, name, figures, detail, colour, places: this.places },
        { x, y },
        this.plot.surface,
      );
    };
    const name = this.plot.names.get(facts.name);
    show(name);
    const lacksName = !name && facts.node !== 0;
    if (facts.more || !(lacksName || (this.detailed && !this.details.has(facts.node)))) return;
    this.naming = setTimeout(() => {
      this.ask(facts.node).answer.then(
        ({ node, detail }) => {
          if (facts.node !== 0) this.plot.learn([node.name]);
          this.details.set(facts.node, detail ?? '');
          if (this.plot.geometry === g && this.tip.shown) show(node.name);
        },
        () => undefined, // the tooltip stays without a name; a click would show what is wrong
      );
    }, NAME_AFTER_MS);
  }
}
