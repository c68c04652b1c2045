// What is charged to a line or a function itself: by which rule the view's tables count.

import { signal, type Signal } from '@preact/signals';
import { t } from '../base/l10n';
import type { Branch } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { ChoiceOption } from '../widgets/choice';

export type Attribution = Branch['attribution'];

const ATTRIBUTIONS: Readonly<
  Record<Attribution, { readonly name: string; readonly title: string; readonly rule: string }>
> = {
  mine: {
    name: t('my code'),
    title: t('My code'),
    rule: t(
      'A stack is charged to its innermost frame of your own code, else of a library, else of native code. Functions without a name, allocators (malloc, operator new) and functions that start programs and threads (__libc_start_call_main) are charged only where a stack has nothing else.',
    ),
  },
  any: {
    name: t('any code'),
    title: t('Any code'),
    rule: t(
      'A stack is charged to its innermost frame, no matter whose code it is. Functions without a name, allocators (malloc, operator new) and functions that start programs and threads (__libc_start_call_main) are charged only where a stack has nothing else; in a trace of Python so is C++.',
    ),
  },
};

/** The rule that one view goes by, kept when it is reloaded. */
export class KeptAttribution {
  private readonly kept: Signal<Attribution>;

  constructor(private readonly api: Pick<Api, 'saved' | 'keep'>) {
    this.kept = signal(api.saved()?.kept?.attribution === 'any' ? 'any' : 'mine');
  }

  get value(): Attribution {
    return this.kept.value;
  }

  set(value: Attribution): void {
    this.api.keep({ attribution: value });
    this.kept.value = value;
  }

  /** "Self" is what is charged to a place: by which rule, in a sentence. */
  get rule(): string {
    return ATTRIBUTIONS[this.value].rule;
  }

  get name(): string {
    return ATTRIBUTIONS[this.value].name;
  }

  /** Both rules, as they are offered. */
  get options(): readonly ChoiceOption<Attribution>[] {
    return (['mine', 'any'] as const).map((value) => {
      const { title, rule } = ATTRIBUTIONS[value];
      return { value, text: title, title: rule };
    });
  }
}
