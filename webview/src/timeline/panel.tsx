// The panel at the side: the selected allocation with its stack, a source line's allocations, or the device's figures.

import { plural, said, t } from '../base/l10n';
import { signal } from '@preact/signals';
import { Fragment, type ComponentChildren, type VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type {
  DeviceInfo,
  Frame,
  LineAnswer,
  StackAnswer,
  Totals,
} from '../../../extension/shared/protocol.gen';
import { css, type Rgb } from '../canvas/colour';
import type { IconName } from '../widgets/icon';
import { bytes, codeClass, exactBytes, hasSource, nameOf, placeOf } from '../base/format';
import {
  FoldedSection,
  FrameList,
  MissingNote,
  missingOf,
  partsOf,
  type Locate,
  type Missing,
  type OpenSource,
} from './frames-list';
import type { PanelRoom } from '../shell/frame';
import { IconButton } from '../widgets/icon-button';
import { shortName } from '../base/symbols';
import { exactly, shorten, visible } from '../base/text';
import type { Action } from '../shell/keys';
import { AllocationFacts, DeviceFacts, sameStackSentence, TotalFacts } from './panel-facts';

export interface PanelActions {
  readonly run: (action: Action) => void;
  readonly open: OpenSource;
  readonly locate: Locate;
  readonly copy: (text: string) => void;
  readonly select: (allocation: number) => void;
  /** Narrows every view by one more term. */
  readonly narrow: (term: string) => void;
  /** Replays the trace without what a filter finds; null where it can't be replayed. */
  readonly leaveOut: ((term: string, name: string) => void) | null;
}

interface ShownStack {
  readonly is: 'stack';
  readonly answer: StackAnswer;
  readonly colour: Rgb;
  /** The totals are of what matches the filter. */
  readonly filtered: boolean;
  /** Neighbours are those of the memory map. */
  readonly byAddress: boolean;
}

interface ShownLine {
  readonly is: 'line';
  readonly answer: LineAnswer;
  readonly filtered: boolean;
}

type Shown =
  | { readonly is: 'device'; readonly device: DeviceInfo }
  | { readonly is: 'waiting'; readonly sizeBytes: number | null }
  | { readonly is: 'problem'; readonly message: string; readonly advice: string }
  | ShownStack
  | ShownLine;

export class Panel {
  private readonly shown = signal<Shown | null>(null);
  private readonly missing = signal<readonly Missing[]>([]);

  constructor(private readonly actions: PanelActions) {}

  readonly View = ({ hidden, style }: PanelRoom): VNode => (
    <aside class="panel" aria-label={t('Details')} hidden={hidden} style={style}>
      <Details shown={this.shown} missing={this.missing} actions={this.actions} />
    </aside>
  );

  /** Nothing is selected: the device's figures. */
  showDevice(device: DeviceInfo): void {
    this.show({ is: 'device', device });
  }

  /** Selected, but the answer is still on its way. */
  showWaiting(sizeBytes: number | null): void {
    this.show({ is: 'waiting', sizeBytes });
  }

  showStack(answer: StackAnswer, colour: Rgb, how: Pick<ShownStack, 'filtered' | 'byAddress'>): void {
    this.show({ is: 'stack', answer, colour, ...how });
  }

  showLine(answer: LineAnswer, filtered: boolean): void {
    this.show({ is: 'line', answer, filtered });
  }

  showProblem(message: string, advice: string): void {
    this.show({ is: 'problem', message, advice });
  }

  sourceMissing(file: string, line: number, lookedFor: string): void {
    const others = this.missing.value.filter((each) => each.file !== file || each.line !== line);
    this.missing.value = [...others, { file, line, lookedFor }];
  }

  private show(shown: Shown): void {
    this.missing.value = [];
    this.shown.value = shown;
  }
}

interface DetailsProps {
  readonly shown: { readonly value: Shown | null };
  readonly missing: { readonly value: readonly Missing[] };
  readonly actions: PanelActions;
}

function Details({ shown: { value: shown }, missing, actions }: DetailsProps): VNode | null {
  if (!shown) return null;
  switch (shown.is) {
    case 'device':
      return (
        <Sheet title={said(shown.device.name)} buttons={['close']} actions={actions} missing={missing.value}>
          <DeviceFacts device={shown.device} />
        </Sheet>
      );
    case 'waiting':
      return (
        <Sheet
          title={shown.sizeBytes === null ? t('Allocation') : bytes(shown.sizeBytes)}
          buttons={['clear']}
          actions={actions}
          missing={missing.value}
        >
          <p class="hint">{t('Fetching its stack…')}</p>
        </Sheet>
      );
    case 'problem':
      return (
        <Sheet title={t('No answer')} buttons={['clear']} actions={actions} missing={missing.value}>
          <p role="alert">
            <bdi>{visible(shown.message)}</bdi>
          </p>
          <p class="hint">
            <bdi>{visible(shown.advice)}</bdi>
          </p>
        </Sheet>
      );
    case 'line':
      return (
        <Sheet
          title={t('Line {0}', shown.answer.line)}
          buttons={['clear']}
          actions={actions}
          missing={missing.value}
        >
          <Line shown={shown} actions={actions} />
        </Sheet>
      );
    case 'stack': {
      const { answer, colour } = shown;
      const frames = [...partsOf(answer).flatMap((part) => part.frames), ...answer.freed_frames];
      const elsewhere = missing.value.filter((each) => !frames.some((frame) => missingOf([each], frame)));
      return (
        <Sheet
          title={bytes(answer.allocation.size_bytes)}
          colour={colour}
          buttons={['zoom', 'clear']}
          actions={actions}
          missing={elsewhere}
          of={answer}
        >
          <Stack key={answer.allocation.allocation} shown={shown} actions={actions} missing={missing.value} />
        </Sheet>
      );
    }
  }
}

interface SheetProps {
  readonly title: string;
  readonly colour?: Rgb;
  readonly buttons: readonly ('zoom' | 'clear' | 'close')[];
  readonly actions: PanelActions;
  /** The files that have no frame in it to stand beside. */
  readonly missing: readonly Missing[];
  /** What it is about: it begins at its top with another. */
  readonly of?: unknown;
  readonly children: ComponentChildren;
}

function Sheet({ title, colour, buttons, actions, missing, of, children }: SheetProps): VNode {
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (body.current) body.current.scrollTop = 0;
  }, [of]);
  const button = (icon: IconName, label: string, action: Action, keys: string): VNode => (
    <ActionButton icon={icon} label={label} action={action} keys={keys} actions={actions} />
  );
  return (
    <>
      <header>
        <h2>
          {colour && <span class="swatch" style={{ background: css(colour) }} />}
          {visible(title)}
        </h2>
        <div class="panel-buttons">
          {buttons.includes('zoom') && button('fit', t('Zoom to it'), 'zoomToSelection', 'z')}
          {buttons.includes('clear') && button('close', t('Clear'), 'clearSelection', 'Escape')}
          {buttons.includes('close') && button('close', t('Close Details'), 'togglePanel', 's')}
        </div>
      </header>
      <div class="panel-body" ref={body}>
        {missing.map((each) => (
          <MissingNote key={`${each.file}:${each.line}`} missing={each} locate={actions.locate} />
        ))}
        {children}
      </div>
    </>
  );
}

interface ActionButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly action: Action;
  readonly keys: string;
  readonly actions: PanelActions;
  readonly class?: string;
}

function ActionButton({ action, actions, ...rest }: ActionButtonProps): VNode {
  return <IconButton {...rest} press={() => actions.run(action)} />;
}

interface StackProps {
  readonly shown: ShownStack;
  readonly actions: PanelActions;
  readonly missing: readonly Missing[];
}

function Stack({ shown, actions, missing }: StackProps): VNode {
  const { answer, filtered, byAddress } = shown;
  const { allocation, freed_frames: freed } = answer;
  const { label } = allocation;
  const parts = partsOf(answer);
  const bare = parts.length === 0;
  const step = (icon: IconName, name: string, action: Action, keys: string): VNode => (
    <ActionButton class="step" icon={icon} label={name} action={action} keys={keys} actions={actions} />
  );
  const list = (frames: readonly Frame[], named: Frame | null): VNode => (
    <FrameList frames={frames} label={named} actions={actions} missing={missing} />
  );
  return (
    <>
      <div class="panel-name">
        <bdi class={codeClass(allocation)}>{shortName(nameOf(allocation).title, 120)}</bdi>
        {hasSource(label) ? (
          <SourceLink frame={label} open={actions.open} />
        ) : (
          <p class="hint">{t('The file has no Python frame for this allocation.')}</p>
        )}
        {hasSource(label) && <WithoutLine field="by:" frame={label} actions={actions} />}
      </div>
      {/* of what has no stack the title says why */}
      {!bare && <SameStack totals={answer.same_stack} filtered={filtered} />}
      <div class="steps" role="group" aria-label={t('Neighbours')}>
        {step('left', t('Previous of this stack'), 'previousSameStack', '[')}
        {step('right', t('Next of this stack'), 'nextSameStack', ']')}
        {step('down', byAddress ? t('At a lower address') : t('Older, below'), 'older', 'Alt+ArrowDown')}
        {step('up', byAddress ? t('At a higher address') : t('Younger, above'), 'younger', 'Alt+ArrowUp')}
      </div>
      {parts.map(({ title, hint, frames }, i) => (
        <Fragment key={i}>
          <h3>{title}</h3>
          {hint !== null && <p class="hint">{visible(hint)}</p>}
          {list(frames, label)}
        </Fragment>
      ))}
      {freed.length > 0 &&
        // unfolded where that is all that is known
        (bare ? (
          <>
            <h3>{t('Freed by')}</h3>
            {list(freed, null)}
          </>
        ) : (
          <FoldedSection title={t('Freed by')} open={freed.some((frame) => missingOf(missing, frame))}>
            {() => list(freed, null)}
          </FoldedSection>
        ))}
      <h3>{t('Allocation')}</h3>
      <AllocationFacts
        allocation={allocation}
        inferredModule={answer.inferred_module}
        inferredBlockBytes={answer.inferred_block_bytes}
      />
    </>
  );
}

function Line({
  shown: { answer, filtered },
  actions,
}: {
  readonly shown: ShownLine;
  readonly actions: PanelActions;
}): VNode {
  const { file, line, totals, stacks } = answer;
  const frame: Frame = { file, line, function: '', kind: 'user', source: 'recorded' };
  const { largest_allocation: largest } = totals;
  return (
    <>
      <div class="panel-name">
        <SourceLink frame={frame} open={actions.open} />
        {stacks.length > 0 && <WithoutLine field="file:" frame={frame} actions={actions} />}
      </div>
      {stacks.length > 0 ? (
        <p>
          {plural(
            stacks.length,
            'Highlighted: what this line allocated, by {0} stack.',
            'Highlighted: what this line allocated, by {0} stacks.',
          )}
        </p>
      ) : (
        <p class="hint">
          {filtered
            ? t('Nothing that matches the filter has this line in its stack.')
            : t('No allocation in this snapshot has this line in its stack.')}
        </p>
      )}
      {filtered && <p class="hint">{t('Of what matches the filter, on this device.')}</p>}
      <TotalFacts totals={totals} />
      {largest !== null && (
        <button type="button" class="button secondary" onClick={() => actions.select(largest)}>
          {t('Select the largest')}
        </button>
      )}
    </>
  );
}

interface WithoutLineProps {
  /** That of the filter: whether the line is that of an allocation, or anywhere in its stack. */
  readonly field: 'by:' | 'file:';
  readonly frame: Frame;
  readonly actions: PanelActions;
}

/** A button that replays the trace without a line; nothing where it can't be replayed. */
function WithoutLine({ field, frame, actions: { leaveOut } }: WithoutLineProps): VNode | null {
  if (!leaveOut) return null;
  const term = `${field}${exactly(`${frame.file}:${frame.line}`)}`;
  return (
    <button type="button" class="button secondary" onClick={() => leaveOut(term, placeOf(frame))}>
      {t('What If Without This Line')}
    </button>
  );
}

function SourceLink({ frame, open }: { readonly frame: Frame; readonly open: OpenSource }): VNode {
  return (
    <button
      type="button"
      class="link"
      title={`${visible(frame.file)}:${frame.line}`}
      onClick={(event) => open(frame, event.ctrlKey || event.metaKey)}
    >
      <bdi>{shorten(placeOf(frame), 60)}</bdi>
    </button>
  );
}

function SameStack({ totals, filtered }: { readonly totals: Totals; readonly filtered: boolean }): VNode {
  return (
    <p class="same-stack" title={exactBytes(totals.total_bytes)}>
      <span class="same-stack-title">
        {filtered ? t('Same stack, of what matches the filter') : t('Same stack')}
      </span>
      <span>{sameStackSentence(totals)}</span>
    </p>
  );
}
