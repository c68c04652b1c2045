// The panel at the side: the selected allocation with its stack, a source line's allocations, or the device's figures.

import { plural, said, t } from '../base/l10n';
import type { ReadonlySignal } from '@preact/signals';
import { Fragment, type ComponentChildren, type VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Action, PictureId } from '../../../extension/shared/commands';
import type { Frame, LineAnswer, StackAnswer, Totals } from '../../../extension/shared/protocol.gen';
import { css, type Rgb } from '../canvas/colour';
import type { IconName } from '../widgets/icon';
import { bytes, codeClass, exactBytes, hasSource, nameOf, placeOf } from '../base/format';
import { FoldedSection, FrameList, MissingNote, partsOf, type FrameContext } from './frames-list';
import { missingOf, type Missing } from './missing-source';
import type { PanelRoom } from '../shell/frame';
import { Bar } from '../widgets/bar';
import { IconButton } from '../widgets/icon-button';
import { shortName } from '../base/symbols';
import { exactly, shorten, visible } from '../base/text';
import { AllocationFacts, DeviceFacts, sameStackSentence, TotalFacts } from './panel-facts';
import type { Colours } from './scene/colours';
import type { Selection } from './selection';
import type { TimelineSession } from './session';

/** What of its view it shows and changes. */
export type PanelSession = FrameContext &
  Pick<TimelineSession, 'device' | 'missing' | 'select' | 'leaveOut'> & {
    readonly selection: Pick<Selection, 'shown'>;
    readonly colours: Pick<Colours, 'of'>;
    readonly picture: ReadonlySignal<PictureId>;
  };

type Run = (action: Action) => void;

interface PartProps {
  readonly session: PanelSession;
  /** Does what its buttons have a key for. */
  readonly run: Run;
}

export function Panel({ hidden, style, ...part }: PanelRoom & PartProps): VNode {
  return (
    <aside class="panel" aria-label={t('Details')} hidden={hidden} style={style}>
      <Details {...part} />
    </aside>
  );
}

function Details({ session, run }: PartProps): VNode {
  const shown = session.selection.shown.value;
  const missing = session.missing.value;
  const sheet = { run, session, missing };
  switch (shown.is) {
    case 'nothing':
      return (
        <Sheet {...sheet} title={said(session.device.name)} buttons={['close']}>
          <DeviceFacts device={session.device} />
        </Sheet>
      );
    case 'waiting':
      return (
        <Sheet
          {...sheet}
          title={shown.sizeBytes === null ? t('Allocation') : bytes(shown.sizeBytes)}
          buttons={['clear']}
        >
          <p class="hint">{t('Fetching its stack…')}</p>
        </Sheet>
      );
    case 'problem':
      return (
        <Sheet {...sheet} title={t('No answer')} buttons={['clear']}>
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
        <Sheet {...sheet} title={t('Line {0}', shown.answer.line)} buttons={['clear']}>
          <Line answer={shown.answer} session={session} />
        </Sheet>
      );
    case 'stack': {
      const { answer } = shown;
      const frames = [...partsOf(answer).flatMap((part) => part.frames), ...answer.freed_frames];
      const elsewhere = missing.filter((each) => !frames.some((frame) => missingOf([each], frame)));
      return (
        <Sheet
          {...sheet}
          title={bytes(answer.allocation.size_bytes)}
          colour={session.colours.of(answer.allocation)}
          buttons={['zoom', 'clear']}
          missing={elsewhere}
          of={answer}
        >
          <Stack key={answer.allocation.allocation} answer={answer} session={session} run={run} />
        </Sheet>
      );
    }
  }
}

interface SheetProps extends PartProps {
  readonly title: string;
  readonly colour?: Rgb;
  readonly buttons: readonly ('zoom' | 'clear' | 'close')[];
  /** The files that have no frame in it to stand beside. */
  readonly missing: readonly Missing[];
  /** What it is about: it begins at its top with another. */
  readonly of?: unknown;
  readonly children: ComponentChildren;
}

function Sheet({ title, colour, buttons, session, run, missing, of, children }: SheetProps): VNode {
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (body.current) body.current.scrollTop = 0;
  }, [of]);
  const button = (icon: IconName, label: string, action: Action, keys: string): VNode => (
    <IconButton icon={icon} label={label} keys={keys} press={() => run(action)} />
  );
  return (
    <>
      <header>
        <h2>
          {colour && <span class="swatch" style={{ background: css(colour) }} />}
          {visible(title)}
        </h2>
        <Bar class="panel-buttons" label={t('Details')}>
          {buttons.includes('zoom') && button('fit', t('Zoom to it'), 'zoomToSelection', 'z')}
          {buttons.includes('clear') && button('close', t('Clear'), 'clearSelection', 'Escape')}
          {buttons.includes('close') && button('close', t('Close Details'), 'togglePanel', 's')}
        </Bar>
      </header>
      <div class="panel-body" ref={body}>
        {missing.map((each) => (
          <MissingNote key={`${each.file}:${each.line}`} missing={each} api={session.api} />
        ))}
        {children}
      </div>
    </>
  );
}

function Stack({ answer, session, run }: PartProps & { readonly answer: StackAnswer }): VNode {
  const filtered = session.filter !== '';
  // neighbours are others in the memory map
  const byAddress = session.picture.value === 'map';
  const missing = session.missing.value;
  const { allocation, freed_frames: freed } = answer;
  const { label } = allocation;
  const parts = partsOf(answer);
  const bare = parts.length === 0;
  const step = (icon: IconName, name: string, action: Action, keys: string): VNode => (
    <IconButton class="step" icon={icon} label={name} keys={keys} press={() => run(action)} />
  );
  const list = (frames: readonly Frame[], named: Frame | null): VNode => (
    <FrameList frames={frames} label={named} context={session} missing={missing} />
  );
  return (
    <>
      <div class="panel-name">
        <bdi class={codeClass(allocation)}>{shortName(nameOf(allocation).title, 120)}</bdi>
        {hasSource(label) ? (
          <SourceLink frame={label} session={session} />
        ) : (
          <p class="hint">{t('The file has no Python frame for this allocation.')}</p>
        )}
        {hasSource(label) && <WithoutLine field="by:" frame={label} session={session} />}
      </div>
      {/* of what has no stack the title says why */}
      {!bare && <SameStack totals={answer.same_stack} filtered={filtered} />}
      <Bar class="steps" label={t('Neighbours')}>
        {step('left', t('Previous of this stack'), 'previousSameStack', '[')}
        {step('right', t('Next of this stack'), 'nextSameStack', ']')}
        {step('down', byAddress ? t('At a lower address') : t('Older, below'), 'older', 'Alt+ArrowDown')}
        {step('up', byAddress ? t('At a higher address') : t('Younger, above'), 'younger', 'Alt+ArrowUp')}
      </Bar>
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

interface LineProps {
  readonly answer: LineAnswer;
  readonly session: PanelSession;
}

function Line({ answer, session }: LineProps): VNode {
  const filtered = session.filter !== '';
  const { file, line, totals, stacks } = answer;
  const frame: Frame = { file, line, function: '', kind: 'user', source: 'recorded' };
  const { largest_allocation: largest } = totals;
  return (
    <>
      <div class="panel-name">
        <SourceLink frame={frame} session={session} />
        {stacks.length > 0 && <WithoutLine field="file:" frame={frame} session={session} />}
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
        <button type="button" class="button secondary" onClick={() => session.select(largest, null)}>
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
  readonly session: Pick<PanelSession, 'leaveOut'>;
}

/** A button that replays the trace without a line; nothing where it can't be replayed. */
function WithoutLine({ field, frame, session: { leaveOut } }: WithoutLineProps): VNode | null {
  if (!leaveOut) return null;
  const term = `${field}${exactly(`${frame.file}:${frame.line}`)}`;
  return (
    <button type="button" class="button secondary" onClick={() => leaveOut(term, placeOf(frame))}>
      {t('What If Without This Line')}
    </button>
  );
}

interface SourceLinkProps {
  readonly frame: Frame;
  readonly session: Pick<PanelSession, 'openFrame'>;
}

function SourceLink({ frame, session }: SourceLinkProps): VNode {
  return (
    <button
      type="button"
      class="link"
      title={`${visible(frame.file)}:${frame.line}`}
      onClick={(event) => session.openFrame(frame, event.ctrlKey || event.metaKey)}
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
