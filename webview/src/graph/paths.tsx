// An object's shortest paths to roots, as chains of references, and what cutting each of these frees.

import type { ComponentChildren, VNode } from 'preact';
import type { ObjectRow, Path, PathsAnswer, PathStep } from '../../../extension/shared/protocol.gen';
import { bytes, exactBytes } from '../base/format';
import { t } from '../base/l10n';
import { turned } from '../base/latest';
import { shorten, visible } from '../base/text';
import { copyItems } from '../widgets/copy';
import { Done } from '../widgets/done';
import { IconButton } from '../widgets/icon-button';
import { openMenu, openMenuAt, type MenuEntry } from '../widgets/menu';
import { useAsked } from './asked';
import type { GraphSession } from './session';
import { leaveOutItems, type LeaveOut } from './left-out';
import { mayHaveSource, selectionMenu } from './menu';
import { ObjectButton } from './object-button';
import {
  bytesAndNative,
  copiedName,
  copiedObject,
  copiedText,
  holderType,
  objectText,
  referencesText,
  referenceWords,
  rootText,
} from './words';

interface PathsProps {
  readonly found: PathsAnswer;
  /** Looks for more paths to the object; null where that was done. */
  readonly more: ((object: number) => void) | null;
  readonly context: GraphSession;
  readonly leaveOut: LeaveOut;
}

export function Paths({ found, more, context, leaveOut }: PathsProps): VNode {
  const { paths, complete, object, without } = found;
  if (paths.length === 0)
    return (
      <p class="heap-note">
        {without === null || object.distance === null
          ? t('{0} is unreachable.', objectText(object))
          : t(
              'Nothing else holds {0}: it would be freed, with the {1} that it retains.',
              objectText(object),
              bytes(object.retained_bytes),
            )}
      </p>
    );
  return (
    <>
      {paths.map((path, index) => (
        <section key={index} aria-label={t('Path {0}', index + 1)}>
          <h3>
            {index === 0
              ? t('Shortest path: {0}', referencesText(path.length))
              : t('From another root: {0}', referencesText(path.length))}{' '}
            <IconButton icon="copy" label={t('Copy Path')} press={() => context.copy(pathText(path))} />
          </h3>
          <ol class="heap-chain">
            <Link
              row={path.root}
              name=""
              above={null}
              isLast={path.steps.length === 0}
              context={context}
              leaveOut={leaveOut}
            >
              <span class="heap-reference">{rootWords(path)}</span>{' '}
              <ObjectButton row={path.root} context={context} />
            </Link>
            {path.steps.map((step, at) => (
              <Step
                key={at}
                step={step}
                above={path.steps[at - 1]?.object ?? path.root}
                gap={path.left_out > 0 && at === path.steps.length / 2 ? path.left_out : 0}
                isLast={at === path.steps.length - 1}
                context={context}
                leaveOut={leaveOut}
              />
            ))}
          </ol>
        </section>
      ))}
      {!complete && (
        <p class="heap-note muted">
          {t('There may be paths from other roots, too.')}{' '}
          {more && (
            <button type="button" class="link" onClick={() => more(object.object)}>
              {t('Show More')}
            </button>
          )}
        </p>
      )}
    </>
  );
}

interface StepProps {
  readonly step: PathStep;
  /** What has the reference, unless steps are left out before this one. */
  readonly above: ObjectRow;
  readonly gap: number;
  readonly isLast: boolean;
  readonly context: GraphSession;
  readonly leaveOut: LeaveOut;
}

function Step({ step, above, gap, isLast, context, leaveOut }: StepProps): VNode {
  return (
    <>
      {gap > 0 && <li class="muted">… {referencesText(gap)} …</li>}
      <Link
        row={step.object}
        name={ownName(step)}
        above={gap > 0 ? null : above}
        isLast={isLast}
        context={context}
        leaveOut={leaveOut}
      >
        <bdi class="heap-reference">{referenceWords(step)}</bdi>{' '}
        <ObjectButton row={step.object} context={context} />
        <span class="heap-figures" title={t('Retained: {0}', exactBytes(step.object.retained_bytes))}>
          {bytes(step.object.retained_bytes)}
        </span>
        {(step.freed_bytes !== null || gap === 0) && (
          <Cut step={step} above={above.object} context={context} />
        )}
      </Link>
    </>
  );
}

interface LinkProps {
  readonly row: ObjectRow;
  /** The reference to it. */
  readonly name: string;
  readonly above: ObjectRow | null;
  /** Whether it is what is explained, and so holds nothing here. */
  readonly isLast: boolean;
  readonly context: GraphSession;
  readonly leaveOut: LeaveOut;
  readonly children: ComponentChildren;
}

/** The name by which a reference is left out: V8's own may have the name of a property. */
function ownName({ name, kind }: PathStep): string {
  return kind === 'internal' && name !== '' ? `${name} (internal)` : name;
}

/** A link of a chain: its menu, also by a button that shows when the link has the focus, leaves out who holds. */
function Link({ row, name, above, isLast, context, leaveOut, children }: LinkProps): VNode {
  const link = {
    above: above ? holderType(above) : '',
    name,
    ...(isLast ? { object: null, type: null } : { object: row, type: row.type }),
  };
  const items = leaveOutItems(link, context.state.without, leaveOut);
  const entries = (): readonly MenuEntry[] => [
    ...items,
    ...(items.length > 0 ? [null] : []),
    ...selectionMenu(context, { is: 'object', object: row.object }, '', mayHaveSource(context, row)),
    ...copyItems(context.api, copiedObject(row), null),
  ];
  return (
    <li
      onContextMenu={(event) => {
        // of selected text VS Code's own menu has Copy
        if (!(getSelection()?.isCollapsed ?? true)) return;
        event.preventDefault();
        openMenu(entries(), event.clientX, event.clientY);
      }}
    >
      {children}
      {items.length > 0 && (
        <IconButton
          icon="more"
          class="heap-leave-out"
          label={t('Leave Out…')}
          press={({ currentTarget }) => {
            if (currentTarget instanceof HTMLElement) openMenuAt(currentTarget, items, t('Leave Out…'));
          }}
        />
      )}
    </li>
  );
}

/** What cutting a reference frees; a button asks for it where that takes a walk through much of the heap. */
function Cut({
  step,
  above,
  context,
}: {
  readonly step: PathStep;
  readonly above: number;
  readonly context: GraphSession;
}): VNode {
  const { object } = step.object;
  const asked = useAsked(
    context,
    () =>
      turned(
        context.api.request('memlens/heapCut', {
          source: above,
          target: object,
          without: [...context.state.without],
        }),
        ({ freed_bytes: heap, freed_native_bytes: native }) => ({ heap, native }),
      ),
    step.freed_bytes === null ? null : { heap: step.freed_bytes, native: step.freed_native_bytes },
  );
  const title =
    context.state.without.length > 0
      ? t('Additional bytes freed by also cutting this reference')
      : t('Bytes freed by cutting this reference');
  const freed = asked.found;
  if (freed !== null)
    return (
      <span class={freed.heap > 0 ? 'heap-cut' : 'heap-cut muted'} title={title}>
        {freed.heap > 0
          ? t('freed if cut: {0}', bytesAndNative(freed.heap, freed.native))
          : t('freed if cut: nothing')}
      </span>
    );
  return (
    <button
      type="button"
      class="link heap-cut"
      title={title}
      onClick={asked.isPending ? asked.drop : asked.ask}
    >
      {asked.isPending ? t('Cancel') : t('freed if cut…')}
      {asked.done !== null && <Done text={title} done={asked.done} />}
    </button>
  );
}

function rootWords({ roots }: Path): string {
  const kinds = [...new Set(roots.map(rootText))];
  return visible(shorten(kinds.join(', ') || t('root'), 200));
}

function pathText(path: Path): string {
  const first = `${rootWords(path)}: ${copiedText(path.root)}`;
  const steps = path.steps.map(
    (step) => `  ${referenceWords({ ...step, name: copiedName(step) })} ${copiedText(step.object)}`,
  );
  return [first, ...steps].join('\n');
}
