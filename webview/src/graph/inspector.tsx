// What is selected in a heap dump, in the details: an object with its fields and references, a type, or a group.

import { signal, type Signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import type { HeapSelection } from '../../../extension/shared/messages';
import type {
  GroupAnswer,
  InstancesAnswer,
  ObjectAnswer,
  ReferenceRow,
} from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { bytes } from '../base/format';
import { plural, said, t } from '../base/l10n';
import { Latest, turned } from '../base/latest';
import { atLine } from '../base/paths';
import { shorten, visible } from '../base/text';
import { asMarkdown, markdownText, type CopiedCell } from '../widgets/copy';
import { IconButton } from '../widgets/icon-button';
import type { PanelRoom } from '../shell/frame';
import { Note } from './bookmarks';
import type { Session } from '../shell/session';
import type { GraphSession } from './session';
import type { Icicle } from './icicle';
import { located } from './groups';
import { GroupDetails, ObjectDetails, TypeDetails } from './details';
import { bytesAndNative, copiedName, copiedText, idText, objectText } from './words';

type Answer =
  | { readonly is: 'object'; readonly found: ObjectAnswer }
  | { readonly is: 'type'; readonly found: InstancesAnswer }
  | { readonly is: 'group'; readonly found: GroupAnswer };

export class Inspector {
  private readonly root = createRef<HTMLElement>();
  private readonly answer = signal<Answer | null>(null);
  /** What was tried for the source, which wasn't found. */
  private readonly missing = signal<MissingSource | null>(null);
  private readonly asking = new Latest();
  private of = '';

  constructor(
    private readonly context: GraphSession & Pick<Session, 'arrange' | 'whileShown'>,
    private readonly picture: Pick<Icicle, 'focus' | 'outline'>,
  ) {
    context.whileShown(() => {
      this.asking.cancel();
    });
  }

  readonly View = ({ hidden, style }: PanelRoom): VNode => {
    const { answer, missing, context, picture } = this;
    const close = (): void => {
      context.arrange({ panelOpen: false });
      picture.focus();
    };
    return (
      <aside
        class="panel heap-details"
        aria-label={t('Details')}
        hidden={hidden}
        style={style}
        ref={this.root}
      >
        <Details answer={answer} missing={missing} context={context} close={close} />
      </aside>
    );
  };

  /** Follows what is selected, and what decides what is said of it. */
  show(): void {
    const { filter, state } = this.context;
    const { selection } = state;
    const of = JSON.stringify([selection, filter, state.grouped, state.tree]);
    if (of === this.of) return;
    this.of = of;
    this.missing.value = null;
    this.asking.cancel();
    if (!selection) {
      this.answer.value = null;
      return;
    }
    this.asking.ask(
      this.request(selection),
      (answer) => {
        this.answer.value = answer;
        this.root.current?.querySelector('.panel-body')?.scrollTo(0, 0);
        this.context.say(titleOf(answer));
        // of the tree in view
        if (answer.is === 'object') this.picture.outline(answer.found.group);
      },
      (error) => this.context.failed(error),
    );
  }

  /** The source of what is shown wasn't found. */
  sourceMissing(missing: MissingSource): void {
    this.missing.value = missing;
  }

  private request(selection: HeapSelection): Pending<Answer> {
    const { api, filter, state } = this.context;
    switch (selection.is) {
      case 'object':
        return turned(
          api.request('memlens/heapObject', {
            object: selection.object,
            by: state.grouped,
            tree: state.tree,
          }),
          (found) => ({ is: 'object', found }),
        );
      case 'type':
        return turned(api.request('memlens/heapType', { kind: selection.kind }), (found) => ({
          is: 'type',
          found,
        }));
      case 'group':
        return turned(api.request('memlens/heapGroup', { group: selection.group, filter }), (found) => ({
          is: 'group',
          found,
        }));
    }
  }
}

function selectionOf({ is, found }: Answer): HeapSelection {
  switch (is) {
    case 'object':
      return { is, object: found.object.object };
    case 'type':
      return { is, kind: found.type.number };
    case 'group':
      return { is, group: found.node.node };
  }
}

function titleOf({ is, found }: Answer): string {
  switch (is) {
    case 'object': {
      const {
        retained_bytes: retained,
        shallow_bytes: shallow,
        native_retained_bytes: native,
      } = found.object;
      const figures = [objectText(found.object), bytes(retained), bytes(shallow)] as const;
      return native === null || native === 0
        ? t('{0}: {1} retained, {2} shallow', ...figures)
        : t('{0}: {1} retained, {2} shallow, {3} retained outside of the heap', ...figures, bytes(native));
    }
    case 'type':
      return plural(found.type.count, '{1}: {0} instance', '{1}: {0} instances', found.type.type);
    case 'group': {
      const { node, type, objects, total_bytes: total, native_total_bytes: native } = found.node;
      const [name, size] = [said(type), bytesAndNative(total, native)];
      const isOfPaths = located(node).tree === 'paths';
      // the roots together, and all that is unreachable, are no objects
      if (objects === 0)
        return isOfPaths ? t('{0}: {1} in total', name, size) : t('{0}: {1} retained', name, size);
      return isOfPaths
        ? plural(objects, '{1}: {0} object, {2} in total', '{1}: {0} objects, {2} in total', name, size)
        : plural(objects, '{1}: {0} object, {2} retained', '{1}: {0} objects, {2} retained', name, size);
    }
  }
}

/** The heading: whether it is an object, a type or a group. */
function headingOf(shown: Answer | null): string {
  switch (shown?.is) {
    case 'object':
      return t('Object');
    case 'type':
      return t('Type');
    case 'group':
      return t('Group');
    default:
      return t('Details');
  }
}

/** A sentence on a source that wasn't found, what was looked for and where, and what can be done. */
interface MissingSource {
  readonly text: string;
  readonly lookedFor: readonly string[];
  readonly advice: string;
  /** Whether a build tool can download it perhaps. */
  readonly downloadable: boolean;
}

interface MissingProps extends MissingSource {
  readonly download: () => void;
}

function Missing({ text, lookedFor, advice, downloadable, download }: MissingProps): VNode {
  return (
    <div class="heap-missing">
      <p>{lookedFor.length === 0 ? text : `${text} ${t('Memlens looked for:')}`}</p>
      {lookedFor.length > 0 && (
        <ul>
          {lookedFor.map((place, index) => (
            <li key={index}>
              <bdi>{visible(shorten(place, 600))}</bdi>
            </li>
          ))}
        </ul>
      )}
      {advice !== '' && <p>{visible(advice)}</p>}
      {downloadable && (
        <div class="heap-actions">
          <button type="button" class="button" onClick={download}>
            {t('Download Sources…')}
          </button>
        </div>
      )}
    </div>
  );
}

interface DetailsProps {
  readonly answer: Signal<Answer | null>;
  readonly missing: Signal<MissingSource | null>;
  readonly context: GraphSession;
  readonly close: () => void;
}

function Details({ answer, missing, context, close }: DetailsProps): VNode {
  const shown = answer.value;
  return (
    <>
      <header>
        <h2>{headingOf(shown)}</h2>
        <div class="panel-buttons">
          {shown && (
            <IconButton
              icon="copy"
              label={t('Copy as Markdown')}
              press={() => context.copy(markdownOf(shown))}
            />
          )}
          <IconButton icon="close" label={t('Close')} press={close} />
        </div>
      </header>
      <div class="panel-body">
        {shown !== null && <Note selection={selectionOf(shown)} context={context} />}
        {shown !== null && missing.value !== null && (
          <Missing {...missing.value} download={() => context.api.post({ type: 'downloadSources' })} />
        )}
        {shown === null ? (
          <p class="hint">{t('Select a box, a type or an object.')}</p>
        ) : shown.is === 'object' ? (
          <ObjectDetails key={shown.found.object.object} found={shown.found} context={context} />
        ) : shown.is === 'type' ? (
          <TypeDetails key={shown.found.type.number} found={shown.found} context={context} />
        ) : (
          <GroupDetails key={shown.found.node.node} found={shown.found} context={context} />
        )}
      </div>
    </>
  );
}

/** What is shown as Markdown. */
function markdownOf(shown: Answer): string {
  const figure = (value: number): CopiedCell => ({ shown: bytes(value), exact: value });
  const title = markdownText(titleOf(shown));
  if (shown.is !== 'object') {
    const rows = shown.is === 'type' ? shown.found.instances : shown.found.largest;
    const table = asMarkdown({
      heads: [t('Object'), t('Retained')],
      rows: rows.map((each) => [copiedText(each), figure(each.retained_bytes)]),
    });
    return `${title}\n\n${table}`;
  }
  const { object, references, referrers } = shown.found;
  const place = object.file === null ? [] : [t('Defined at {0}', atLine(object.file, object.line ?? 0))];
  const list = (of: string, rows: readonly ReferenceRow[]): string[] => [
    ...['', of, ''],
    asMarkdown({
      heads: [t('Name'), t('Object'), t('Retained')],
      rows: rows.map((each) => [
        copiedName(each),
        copiedText(each.object),
        figure(each.object.retained_bytes),
      ]),
    }),
  ];
  return [
    title,
    ...place.map((text) => markdownText(`${text}  (${idText(object)})`)),
    ...list(t('Refers to:'), references),
    ...list(t('Referred to by:'), referrers),
  ].join('\n');
}
