// A stack's frames: one's own code in full, runs of library frames folded.

import { plural, t } from '../base/l10n';
import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Frame, StackAnswer } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { addTerm } from '../shell/filter-terms';
import { openMenu, type MenuEntry } from '../widgets/menu';
import { Icon } from '../widgets/icon';
import { IconButton } from '../widgets/icon-button';
import { Phrase } from '../widgets/phrase';
import { hasSource, placeOf } from '../base/format';
import { fileName } from '../base/paths';
import { exactly, shorten, visible } from '../base/text';
import { missingOf, type Missing } from './missing-source';
import type { TimelineSession } from './session';

/** What of its view a list of frames changes. */
export type FrameContext = Pick<TimelineSession, 'filter' | 'setFilter' | 'openFrame' | 'copy'> & {
  readonly api: Pick<Api, 'post'>;
};

/** Frames below a heading. */
export interface StackPart {
  readonly title: string;
  /** What they are, where the title alone could be misread. */
  readonly hint: string | null;
  readonly frames: readonly Frame[];
}

/** The frames that called each other, then what was recorded beside them and called nothing. */
export function partsOf({
  frames,
  fx_traces: traces,
  forward_frames: forward,
  stack_of_free: inferred,
}: Pick<StackAnswer, 'frames' | 'fx_traces' | 'forward_frames' | 'stack_of_free'>): StackPart[] {
  const hint = t('The stack of its free: in this file frees repeat the stacks of their allocations.');
  const parts: StackPart[] = [
    inferred
      ? { title: t('Allocated by (inferred)'), hint, frames }
      : { title: t('Allocated by'), hint: null, frames },
    ...traces.map(({ of, frames: lines }) => ({
      title: t('FX trace'),
      hint: t(
        'The code that {0} ({1}:{2}) was generated from. No callers.',
        shorten(of.function, 60),
        fileName(of.file),
        of.line,
      ),
      frames: lines,
    })),
    {
      title: t('Forward stack'),
      hint: t('The forward call whose backward operator allocated this. No callers.'),
      frames: forward,
    },
  ];
  return parts.filter((part) => part.frames.length > 0);
}

/** Runs of this many library or native frames are folded. */
const FOLD_FROM = 2;

/** Frames innermost first, in runs: each run is one user frame, or neighbouring frames that are not. */
export function foldFrames(
  frames: readonly Frame[],
): { readonly folded: boolean; readonly frames: readonly Frame[] }[] {
  const runs: { folded: boolean; frames: Frame[] }[] = [];
  for (const frame of frames) {
    const last = runs.at(-1);
    if (frame.kind === 'user') runs.push({ folded: false, frames: [frame] });
    else if (last?.folded) last.frames.push(frame);
    else runs.push({ folded: true, frames: [frame] });
  }
  return runs.map((run) => ({ folded: run.folded && run.frames.length >= FOLD_FROM, frames: run.frames }));
}

interface FrameListProps {
  readonly frames: readonly Frame[];
  /** The frame that names the allocation. */
  readonly label: Frame | null;
  readonly context: FrameContext;
  /** Said beside their frames. */
  readonly missing: readonly Missing[];
}

export function FrameList(props: FrameListProps): VNode {
  const { frames, context } = props;
  // With no user frame anywhere everything would be folded, and nothing would be seen.
  const whole = frames.length < 12 && !frames.some((frame) => frame.kind === 'user');
  const menu = (event: MouseEvent, frame: Frame | null): void => {
    event.preventDefault();
    event.stopPropagation();
    openMenu(copiesOf(frames, frame, context), event.clientX, event.clientY);
  };
  return (
    <ol class="frames" onContextMenu={(event) => menu(event, null)}>
      {foldFrames(frames).map((run, i) =>
        run.folded && !whole ? (
          <Fold key={i} {...props} run={run.frames} menu={menu} />
        ) : (
          run.frames.map((frame, j) => <Row key={`${i} ${j}`} {...props} frame={frame} menu={menu} />)
        ),
      )}
    </ol>
  );
}

function copiesOf(
  frames: readonly Frame[],
  frame: Frame | null,
  context: FrameContext,
): readonly MenuEntry[] {
  const item = (text: string, copied: string): MenuEntry => ({ text, run: () => context.copy(copied) });
  const words = (each: Frame): string => `${each.function} ${pathOf(each)}`.trim();
  return [
    ...(frame ? [item(t('Copy Name'), frame.function), item(t('Copy Path'), pathOf(frame))] : []),
    item(t('Copy Stack'), frames.map(words).join('\n')),
  ];
}

interface PartProps extends FrameListProps {
  readonly menu: (event: MouseEvent, frame: Frame) => void;
}

/** Frames of libraries, folded until asked for, or until one of their files is missing. */
function Fold({ run, ...props }: PartProps & { readonly run: readonly Frame[] }): VNode {
  const open = useSignal(false);
  const lost = run.filter((frame) => missingOf(props.missing, frame)).length;
  useLayoutEffect(() => {
    if (lost > 0) open.value = true;
  }, [lost, open]);
  return (
    <li class="fold-item">
      <button
        type="button"
        class="fold"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name="chevron" />
        <span>{foldTitle(run)}</span>
        <bdi class="muted">{foldHint(run)}</bdi>
      </button>
      <ol class="frames" hidden={!open.value}>
        {run.map((frame, i) => (
          <Row key={i} {...props} frame={frame} />
        ))}
      </ol>
    </li>
  );
}

function Row({ frame, label, context, missing, menu }: PartProps & { readonly frame: Frame }): VNode {
  const row = useRef<HTMLLIElement>(null);
  const lost = missingOf(missing, frame);
  useLayoutEffect(() => {
    if (lost) row.current?.scrollIntoView({ block: 'nearest' });
  }, [lost]);
  const narrows = termOf(frame, false) !== '';
  return (
    <li
      ref={row}
      class={`frame ${frame.kind}${isSame(frame, label) ? ' label' : ''}`}
      onContextMenu={(event) => menu(event, frame)}
    >
      <Name frame={frame} context={context} />
      {narrows && (
        <IconButton
          icon="filter"
          class="frame-filter"
          label={
            hasSource(frame)
              ? t('Filter every view to this line, with Shift to its function')
              : t('Filter every view to this function')
          }
          keys="f"
          // the row has the key for it, and one stop for Tab is enough
          tabIndex={-1}
          press={(event) => addTerm(context, termOf(frame, event.shiftKey))}
        />
      )}
      {lost && <MissingNote missing={lost} api={context.api} />}
    </li>
  );
}

function isSame(frame: Frame, label: Frame | null): boolean {
  return (
    label !== null &&
    frame.file === label.file &&
    frame.line === label.line &&
    frame.function === label.function &&
    frame.source === label.source
  );
}

/** The function and its place, which opens the line if there is one. */
function Name({ frame, context }: { readonly frame: Frame; readonly context: FrameContext }): VNode {
  const name = <bdi class="code frame-function">{shorten(frame.function || '?', 90)}</bdi>;
  const narrowKey = (event: KeyboardEvent): boolean => {
    if (event.key.toLowerCase() !== 'f' || event.ctrlKey || event.metaKey || event.altKey) return false;
    event.preventDefault();
    addTerm(context, termOf(frame, event.shiftKey));
    return true;
  };
  if (!hasSource(frame))
    return (
      <div
        class="no-source"
        title={visible(frame.file)}
        tabIndex={0}
        aria-keyshortcuts="f"
        onKeyDown={narrowKey}
      >
        {name}
        <bdi class="muted">{frame.file === '' ? t('no file') : shorten(fileName(frame.file), 60)}</bdi>
      </div>
    );
  return (
    <button
      type="button"
      title={`${visible(frame.file)}:${frame.line}`}
      aria-keyshortcuts="f Shift+f"
      onClick={(event) => context.openFrame(frame, event.ctrlKey || event.metaKey)}
      onKeyDown={(event) => {
        if (narrowKey(event)) return;
        // A button clicks by Enter itself, but would lose what was held with it.
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        context.openFrame(frame, true);
      }}
    >
      {name}
      <bdi class="place">{shorten(placeOf(frame), 60)}</bdi>
    </button>
  );
}

/** The term of the filter that finds what has a frame on its stack: by its line, or by its function. */
function termOf(frame: Frame, byFunction: boolean): string {
  if (hasSource(frame) && !byFunction) return `file:${exactly(`${frame.file}:${frame.line}`)}`;
  return frame.function === '' ? '' : `function:${exactly(frame.function)}`;
}

function pathOf({ file, line }: Frame): string {
  return line > 0 ? `${file}:${line}` : file;
}

export function MissingNote({
  missing: { file, line, lookedFor },
  api,
}: {
  readonly missing: Missing;
  readonly api: Pick<Api, 'post'>;
}): VNode {
  const offer = (text: string, what: 'file' | 'folder'): VNode => (
    <button type="button" class="link" onClick={() => api.post({ type: 'locate', what, file, line })}>
      {text}
    </button>
  );
  return (
    <p class="frame-note" role="alert">
      <Phrase
        text={t('Not found in this workspace. Looked for {0}.')}
        parts={[<bdi class="code">{shorten(lookedFor, 200)}</bdi>]}
      />{' '}
      {offer(t('Locate File…'), 'file')} {offer(t('Map Folder…'), 'folder')}
    </p>
  );
}

function foldTitle(frames: readonly Frame[]): string {
  const native = frames.filter((frame) => frame.kind === 'native').length;
  if (native === frames.length) return plural(native, '{0} native frame', '{0} native frames');
  return native > 0
    ? plural(frames.length, '{0} library and native frame', '{0} library and native frames')
    : plural(frames.length, '{0} library frame', '{0} library frames');
}

/** Which files they are of, the first few. */
function foldHint(frames: readonly Frame[]): string {
  const files = [...new Set(frames.filter((f) => f.line > 0).map((f) => fileName(f.file)))];
  const shown = files.slice(0, 2).join(', ');
  return shorten(files.length > 2 ? `${shown}, …` : shown, 44);
}

/** The frames of another stack, folded away until asked for, or until `open` is true. */
export function FoldedSection({
  title,
  open,
  children,
}: {
  readonly title: string;
  readonly open: boolean;
  readonly children: () => ComponentChildren;
}): VNode {
  const opened = useSignal(open);
  useLayoutEffect(() => {
    if (open) opened.value = true;
  }, [open, opened]);
  return (
    <section>
      <button
        type="button"
        class="fold section-fold"
        aria-expanded={opened.value}
        onClick={() => {
          opened.value = !opened.value;
        }}
      >
        <Icon name="chevron" />
        <span>{title}</span>
      </button>
      <div class="section-body" hidden={!opened.value}>
        {opened.value && children()}
      </div>
    </section>
  );
}
