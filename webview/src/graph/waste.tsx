// What is wasted in what something retains: the findings about that alone.

import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { ComponentAnswer } from '../../../extension/shared/protocol.gen';
import { bytes } from '../base/format';
import { t } from '../base/l10n';
import { Finding } from '../shell/headline';
import { useAsked } from './asked';
import { sameSelection } from './selected';
import type { GraphSession } from './session';
import { Section } from './details-parts';
import { Waiting } from './waiting';
import { objectsText } from './words';

interface WasteProps {
  readonly selection: HeapSelection;
  readonly context: GraphSession;
}

export function Waste({ selection, context }: WasteProps): VNode {
  const of = {
    object: selection.is === 'object' ? selection.object : null,
    kind: selection.is === 'type' ? selection.kind : null,
    group: selection.is === 'group' ? selection.group : null,
  };
  const { found, isPending, done, ask, drop } = useAsked(context, () =>
    context.api.request('memlens/heapFindings', of),
  );
  const wanted = context.wasteOf.value;
  useEffect(() => {
    if (wanted === null || !sameSelection(wanted, selection)) return;
    context.wasteOf.value = null;
    ask();
  }, [wanted]);
  if (isPending) return <Waiting text={t('Looking for waste…')} done={done} cancel={drop} />;
  if (found) return <Found found={found} context={context} />;
  return (
    <p class="hint">
      <button type="button" class="link" onClick={ask}>
        {t('Find Waste')}
      </button>
    </p>
  );
}

function Found({
  found,
  context,
}: {
  readonly found: ComponentAnswer;
  readonly context: GraphSession;
}): VNode {
  if (found.retained_objects === 0)
    return <p class="hint">{t('No root holds any of them: they may be freed anyway.')}</p>;
  const retained = t('{0} in {1} retained', bytes(found.retained_bytes), objectsText(found.retained_objects));
  return (
    <Section title={t('Waste')}>
      <p class="muted" role="status">
        {found.findings.length === 0 ? t('{0}: nothing found', retained) : t('Of {0}:', retained)}
      </p>
      <ol class="heap-waste">
        {found.findings.map((finding, index) => (
          <li key={index}>
            <Finding
              finding={finding}
              session={context}
              copy={() => context.copy(`**${finding.title}:** ${finding.text}`)}
            />
          </li>
        ))}
      </ol>
    </Section>
  );
}
