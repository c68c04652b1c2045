// Zooming a picture of boxes, which is read out as well.

import type { BoxFacts } from './boxes';
import { WHOLE } from './camera';
import type { FlamePlot } from './plot';
import { t } from '../base/l10n';
import { zoomSentence } from './words';

type Hear = (text: string) => void;

/** `figures` are those of the box. */
export function zoomToBox(plot: FlamePlot, facts: BoxFacts, figures: string, hear: Hear): void {
  plot.zoomTo(facts.left, facts.value, facts.depth);
  hear(zoomSentence(facts, plot.names, figures));
}

export function resetZoom(plot: FlamePlot, hear: Hear): void {
  plot.moveTo(WHOLE, true);
  hear(t('Zoom reset'));
}
