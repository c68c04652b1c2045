// The findings of two heap dumps: which are new or gone, and by how much the bytes of the others differ.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type {
  ComparedFinding,
  Figure,
  FindingsComparison,
  SnapshotFinding,
} from '../../../extension/shared/protocol.gen';
import { figureIn } from '../base/figure';
import { Latest } from '../base/latest';
import { named, plural, said, t } from '../base/l10n';
import { visible } from '../base/text';
import { arrow, direction } from '../compare/comparison';
import { Finding } from '../shell/headline';
import type { GraphSession } from './session';

export class FindingsPart {
  /** Words that all rows shown have. */
  readonly search = signal('');
  private readonly found = signal<FindingsComparison | null>(null);
  private readonly asking = new Latest();
  /** Which comparison is shown or asked for. */
  private of = '';

  constructor(private readonly context: GraphSession) {}

  get isAsking(): boolean {
    return this.asking.asking;
  }

  /** What the comparison comes to in a sentence; null until it is known. */
  get words(): string | null {
    const found = this.found.value;
    if (found === null) return null;
    const counts = (['new', 'gone', 'grown', 'shrunk', 'same'] as const)
      .map((change) => [change, found.rows.filter((row) => row.change === change).length] as const)
      .filter(([, many]) => many > 0)
      .map(([change, many]) => counted(change, many));
    const words =
      counts.length > 0 ? t('Findings: {0}.', counts.join(', ')) : t('Neither dump has findings.');
    return this.context.filter === ''
      ? words
      : t('{0} They are about the whole dumps, whatever the filter.', words);
  }

  /** Asks for what is compared now, unless that is shown or asked for. */
  renew(): void {
    const otherFirst = this.context.compare.settings.otherFirst;
    const of = JSON.stringify([this.context.compare.other?.uri, otherFirst]);
    if (of === this.of) return;
    this.of = of;
    this.found.value = null;
    this.asking.ask(
      this.context.api.request('memlens/compareHeapFindings', { other_first: otherFirst }),
      (answer) => {
        this.found.value = answer;
      },
      (error) => {
        this.of = '';
        this.context.failed(error);
      },
    );
  }

  /** Gives the question up, if there is one. */
  cancel(): void {
    if (this.found.peek() === null) this.of = '';
    this.asking.cancel();
  }

  readonly View = (): VNode => {
    const words = this.search.value.toLowerCase().split(/\s+/);
    const rows = (this.found.value?.rows ?? []).filter((row) => {
      const text =
        `${named(row.title)} ${said((row.after ?? row.before)?.sentence ?? NOTHING)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (rows.length === 0 && this.found.value?.rows.length)
      return <p class="hint">{t('No finding matches.')}</p>;
    return (
      <ol class="heap-waste heap-compared-findings" aria-label={t('Findings')} tabIndex={0}>
        {rows.map((row) => (
          <li key={`${row.rule} ${row.subject} ${row.before?.text ?? ''} ${row.after?.text ?? ''}`}>
            <Change row={row} />
            <this.Sentence row={row} />
          </li>
        ))}
      </ol>
    );
  };

  /** As the view's own dump has it, with what it links; else as the other has it, in words. */
  private readonly Sentence = ({ row }: { readonly row: ComparedFinding }): VNode => {
    const { context } = this;
    const { compare } = context;
    const [own, other] = compare.settings.otherFirst ? [row.after, row.before] : [row.before, row.after];
    return (
      <p>
        {own && <Finding finding={own} session={context} copy={() => context.copy(markdownOf(own))} />}
        {!own && other && (
          <>
            <strong class="headline-rule">{visible(named(other.title))}:</strong>{' '}
            <bdi>{visible(said(other.sentence))}</bdi>{' '}
            <span class="muted">({t('only in {0}', visible(compare.other?.name ?? t('The other')))})</span>
          </>
        )}
      </p>
    );
  };
}

const NOTHING = { text: '', template: '', values: {} };

function markdownOf({ title, text }: SnapshotFinding): string {
  return `**${title}:** ${text}`;
}

/** "New", or the figures of both, and the difference; whose they are where the sentence begins with another finding. */
function Change({ row }: { readonly row: ComparedFinding }): VNode {
  const { before_figure: before, after_figure: after, difference } = row;
  const unit = (after ?? before)?.unit ?? 'bytes';
  const size = figureIn(Math.abs(difference), unit);
  const isLed = [row.before, row.after].every((each) => each === null || each.rule === row.rule);
  return (
    <p class="heap-compared-figures">
      {before && after ? `${sizeOf(before)} → ${sizeOf(after)}` : changeWord(row.change)}{' '}
      <span class={`compare-difference ${direction(difference)}`}>
        <span class="compare-arrow" aria-hidden="true">
          {arrow(difference)}
        </span>{' '}
        {difference > 0 ? `+${size}` : difference < 0 ? `−${size}` : size}
      </span>
      {!isLed && <span class="muted"> {visible(t('of “{0}”', named(row.title)))}</span>}
    </p>
  );
}

function sizeOf({ amount, unit }: Figure): string {
  return figureIn(amount, unit);
}

function changeWord(change: ComparedFinding['change']): string {
  return change === 'new' ? t('New') : t('Gone');
}

function counted(change: ComparedFinding['change'], many: number): string {
  switch (change) {
    case 'new':
      return plural(many, '{0} new', '{0} new');
    case 'gone':
      return plural(many, '{0} gone', '{0} gone');
    case 'grown':
      return plural(many, '{0} grown', '{0} grown');
    case 'shrunk':
      return plural(many, '{0} shrunk', '{0} shrunk');
    case 'same':
      return plural(many, '{0} the same', '{0} the same');
  }
}
