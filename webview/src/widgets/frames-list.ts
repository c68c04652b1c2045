// A stack's frames: one's own code in full, runs of library frames folded.

import { plural, t } from '../base/l10n';
import type { Frame, StackAnswer } from '../../../extension/shared/protocol.gen';
import { exactly } from '../shell/filter-terms';
import { openMenu, type MenuEntry } from './menu';
import { element, icon, iconButton, replace } from './dom';
import { hasSource, placeOf } from '../base/format';
import { fileName } from '../base/paths';
import { shorten, visible } from '../base/text';

export type OpenSource = (frame: Frame, beside: boolean) => void;

export type Locate = (what: 'file' | 'folder', file: string, line: number) => void;

export interface FrameActions {
  readonly open: OpenSource;
  /** Narrows every view by one more term. */
  readonly narrow: (term: string) => void;
  /** Lets the user say where a file is that was not found. */
  readonly locate: Locate;
  readonly copy: (text: string) => void;
}

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

export class FrameList {
  readonly root = element('ol', { class: 'frames' });
  private readonly rows: { frame: Frame; row: HTMLElement; unfold: (() => void) | null }[] = [];

  constructor(
    private readonly frames: readonly Frame[],
    private readonly label: Frame | null,
    private readonly actions: FrameActions,
  ) {
    this.root.addEventListener('contextmenu', (event) => {
      event.preventDefault();
      event.stopPropagation();
      openMenu(this.menu(event.target), event.clientX, event.clientY);
    });
    // With no user frame anywhere everything would be folded, and nothing would be seen.
    const hasUser = frames.some((frame) => frame.kind === 'user');
    for (const run of foldFrames(frames)) {
      if (!run.folded || (!hasUser && frames.length < 12)) {
        for (const frame of run.frames) this.root.append(this.row(frame, null));
        continue;
      }
      const inner = element('ol', { class: 'frames', hidden: true });
      const toggle = element(
        'button',
        { class: 'fold', type: 'button', attributes: { 'aria-expanded': 'false' } },
        icon('chevron'),
        element('span', {}, foldTitle(run.frames)),
        element('bdi', { class: 'muted' }, foldHint(run.frames)),
      );
      const set = (opened: boolean): void => {
        inner.hidden = !opened;
        toggle.setAttribute('aria-expanded', String(opened));
      };
      toggle.addEventListener('click', () => {
        set(toggle.getAttribute('aria-expanded') !== 'true');
      });
      for (const frame of run.frames) {
        inner.append(
          this.row(frame, () => {
            set(true);
          }),
        );
      }
      this.root.append(element('li', { class: 'fold-item' }, toggle, inner));
    }
  }

  private menu(target: EventTarget | null): readonly MenuEntry[] {
    const item = (text: string, copied: string): MenuEntry => ({
      ...{ text, key: '' },
      run: () => {
        this.actions.copy(copied);
      },
    });
    const frame = this.rows.find(({ row }) => target instanceof Node && row.contains(target))?.frame;
    const words = (each: Frame): string => `${each.function} ${pathOf(each)}`.trim();
    return [
      ...(frame ? [item(t('Copy Name'), frame.function), item(t('Copy Path'), pathOf(frame))] : []),
      item(t('Copy Stack'), this.frames.map(words).join('\n')),
    ];
  }

  /** Says beside a frame that its file was not found. False when the frame is not in this stack. */
  missing(file: string, line: number, lookedFor: string): boolean {
    const found = this.rows.filter(({ frame }) => frame.file === file && frame.line === line);
    for (const { frame, row, unfold } of found) {
      unfold?.();
      row.querySelector('.frame-note')?.remove();
      row.append(missingNote(frame, lookedFor, this.actions.locate));
    }
    found[0]?.row.scrollIntoView({ block: 'nearest' });
    return found.length > 0;
  }

  private row(frame: Frame, unfold: (() => void) | null): HTMLElement {
    const isLabel =
      this.label !== null &&
      frame.file === this.label.file &&
      frame.line === this.label.line &&
      frame.function === this.label.function &&
      frame.source === this.label.source;
    const name = element('bdi', { class: 'code frame-function' }, shorten(frame.function || '?', 90));
    const classes = `frame ${frame.kind}${isLabel ? ' label' : ''}`;
    const row = element('li', { class: classes });
    if (hasSource(frame)) {
      const place = placeOf(frame);
      row.append(
        element(
          'button',
          {
            type: 'button',
            title: `${visible(frame.file)}:${frame.line}`,
            attributes: { 'aria-keyshortcuts': 'f Shift+f' },
            on: {
              click: (event) => {
                this.actions.open(frame, event.ctrlKey || event.metaKey);
              },
              keydown: (event) => {
                if (this.narrowKey(event, frame)) return;
                // A button clicks by Enter itself, but would lose what was held with it.
                if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
                event.preventDefault();
                this.actions.open(frame, true);
              },
            },
          },
          name,
          element('bdi', { class: 'place' }, shorten(place, 60)),
        ),
      );
    } else {
      const place = frame.file === '' ? t('no file') : shorten(fileName(frame.file), 60);
      row.append(
        element(
          'div',
          {
            class: 'no-source',
            title: visible(frame.file),
            tabIndex: 0,
            attributes: { 'aria-keyshortcuts': 'f' },
            on: {
              keydown: (event) => {
                this.narrowKey(event, frame);
              },
            },
          },
          name,
          element('bdi', { class: 'muted' }, place),
        ),
      );
    }
    if (termOf(frame, false) !== '') row.append(this.filterButton(frame));
    this.rows.push({ frame, row, unfold });
    return row;
  }

  private filterButton(frame: Frame): HTMLButtonElement {
    const hasLine = hasSource(frame);
    const button = iconButton(
      'filter',
      hasLine
        ? t('Filter every view to this line, with Shift to its function')
        : t('Filter every view to this function'),
      (event) => {
        this.actions.narrow(termOf(frame, event.shiftKey));
      },
      'f',
    );
    button.classList.add('frame-filter');
    // The row has the key for it, and one stop for Tab is enough.
    button.tabIndex = -1;
    return button;
  }

  private narrowKey(event: KeyboardEvent, frame: Frame): boolean {
    if (event.key.toLowerCase() !== 'f' || event.ctrlKey || event.metaKey || event.altKey) return false;
    event.preventDefault();
    this.actions.narrow(termOf(frame, event.shiftKey));
    return true;
  }
}

/** The term of the filter that finds what has a frame on its stack: by its line, or by its function. */
function termOf(frame: Frame, byFunction: boolean): string {
  if (hasSource(frame) && !byFunction) return `file:${exactly(`${frame.file}:${frame.line}`)}`;
  return frame.function === '' ? '' : `function:${exactly(frame.function)}`;
}

function pathOf({ file, line }: Frame): string {
  return line > 0 ? `${file}:${line}` : file;
}

export function missingNote(
  { file, line }: Pick<Frame, 'file' | 'line'>,
  lookedFor: string,
  locate: Locate,
): HTMLElement {
  const offer = (text: string, what: 'file' | 'folder'): HTMLElement =>
    element(
      'button',
      {
        ...{ type: 'button', class: 'link' },
        on: {
          click: () => {
            locate(what, file, line);
          },
        },
      },
      text,
    );
  return element(
    'p',
    { class: 'frame-note', role: 'alert' },
    t('Not found in this workspace. Looked for '),
    element('bdi', { class: 'code' }, shorten(lookedFor, 200)),
    '. ',
    offer(t('Locate File…'), 'file'),
    ' ',
    offer(t('Map Folder…'), 'folder'),
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

/** The frames of another stack, folded away until asked for. */
export function foldedSection(title: string, list: () => HTMLElement): HTMLElement {
  const body = element('div', { class: 'section-body', hidden: true });
  const toggle = element(
    'button',
    { class: 'fold section-fold', type: 'button', attributes: { 'aria-expanded': 'false' } },
    icon('chevron'),
    element('span', {}, title),
  );
  toggle.addEventListener('click', () => {
    if (body.childElementCount === 0) replace(body, list());
    body.hidden = !body.hidden;
    toggle.setAttribute('aria-expanded', String(!body.hidden));
  });
  return element('section', {}, toggle, body);
}
