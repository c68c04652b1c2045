// An object's shortest paths to roots, as chains of references, and what cutting each of these frees.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { CutAnswer, Path, PathsAnswer, PathStep } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { bytes, exactBytes } from '../base/format';
import { t } from '../base/l10n';
import { isCancelled } from '../base/latest';
import { shorten, visible } from '../base/text';
import { IconButton } from '../widgets/icon-button';
import type { GraphContext } from './context';
import { ObjectButton } from './object-button';
import { objectText, referencesText, referenceWords } from './words';

export function Paths({
  found: { paths, complete, object },
  context,
}: {
  readonly found: PathsAnswer;
  readonly context: GraphContext;
}): VNode {
  if (paths.length === 0) return <p class="heap-note">{t('No root reaches {0}.', objectText(object))}</p>;
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
            <li>
              <span class="heap-reference">{rootWords(path)}</span>{' '}
              <ObjectButton row={path.root} context={context} />
            </li>
            {path.steps.map((step, at) => (
              <Step
                key={at}
                step={step}
                above={(path.steps[at - 1]?.object ?? path.root).object}
                gap={path.left_out > 0 && at === path.steps.length / 2 ? path.left_out : 0}
                context={context}
              />
            ))}
          </ol>
        </section>
      ))}
      {!complete && <p class="heap-note muted">{t('There are paths from other roots, too.')}</p>}
    </>
  );
}

function Step({
  step,
  above,
  gap,
  context,
}: {
  readonly step: PathStep;
  /** The object that has the reference, unless steps are left out before this one. */
  readonly above: number;
  readonly gap: number;
  readonly context: GraphContext;
}): VNode {
  return (
    <>
      {gap > 0 && <li class="muted">… {referencesText(gap)} …</li>}
      <li>
        <bdi class="heap-reference">{referenceWords(step)}</bdi>{' '}
        <ObjectButton row={step.object} context={context} />
        <span class="heap-figures" title={t('Retained: {0}', exactBytes(step.object.retained_bytes))}>
          {bytes(step.object.retained_bytes)}
        </span>
        {(step.freed_bytes !== null || gap === 0) && <Cut step={step} above={above} context={context} />}
      </li>
    </>
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
  readonly context: GraphContext;
}): VNode {
  const found = useSignal(step.freed_bytes);
  const pending = useSignal<Pending<CutAnswer> | null>(null);
  useEffect(() => () => pending.peek()?.cancel(), [pending]);
  const freed = found.value;
  const title = t('What would be freed without this reference');
  if (freed !== null)
    return (
      <span class={freed > 0 ? 'heap-cut' : 'heap-cut muted'} title={title}>
        {freed > 0 ? t('cut frees {0}', bytes(freed)) : t('cut frees nothing')}
      </span>
    );
  return (
    <button
      type="button"
      class="link heap-cut"
      title={title}
      onClick={() => {
        if (pending.value) {
          pending.value.cancel();
          pending.value = null;
          return;
        }
        const asked = context.api.request('memlens/heapCut', { source: above, target: step.object.object });
        pending.value = asked;
        asked.answer.then(
          ({ freed_bytes: bytesFreed }) => {
            found.value = bytesFreed;
          },
          (error: unknown) => {
            if (pending.value === asked) pending.value = null;
            if (!isCancelled(error)) context.failed(error);
          },
        );
      }}
    >
      {pending.value ? t('Cancel') : t('cut frees…')}
    </button>
  );
}

function rootWords({ roots }: Path): string {
  const kinds = [...new Set(roots.map(({ kind, detail }) => (detail === '' ? kind : `${kind} ${detail}`)))];
  return visible(shorten(kinds.join(', ') || t('root'), 200));
}

function pathText(path: Path): string {
  const first = `${rootWords(path)}: ${objectText(path.root)}`;
  const steps = path.steps.map((step) => `  ${referenceWords(step)} ${objectText(step.object)}`);
  return [first, ...steps].join('\n');
}
