// Opens the lines that allocated.

import { t } from '../base/l10n';
import type { AllocationSummary, Frame } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { Selection } from './selection';
import { hasSource } from '../base/format';

const NO_FRAME = t('The file has no Python frame for this allocation.');

export class Sources {
  constructor(
    private readonly api: Api,
    private readonly say: (text: string) => void,
  ) {}

  openSelected(selection: Pick<Selection, 'answer' | 'line'>, beside: boolean): void {
    const { answer, line } = selection;
    const label = answer?.allocation.label ?? null;
    if (hasSource(label)) this.open(label, beside);
    else if (line) this.open(line, beside);
    else if (answer) this.say(NO_FRAME);
  }

  openLabel(allocation: AllocationSummary): void {
    if (hasSource(allocation.label)) this.open(allocation.label, false);
    else this.say(NO_FRAME);
  }

  open({ file, line }: Pick<Frame, 'file' | 'line'>, beside: boolean): void {
    this.api.post({ type: 'openSource', file, line, beside });
  }
}
