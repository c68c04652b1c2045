// How a comparison is shown, and what of both is compared.

import type { VNode } from 'preact';
import type { ProfileValue } from '../../../extension/shared/protocol.gen';
import { figureIn } from '../base/figure';
import { said, t } from '../base/l10n';
import { AttributionChoice } from '../shell/attribution-choice';
import type { Compare, CompareContext } from './comparison';
import { categoriesOf, never } from '../shell/model';
import type { ChoiceOption } from '../widgets/choice';
import { SettingChoice, Settings } from '../shell/settings';
import type { SavedComparison } from '../base/saved';
import type { By } from './sums';

interface SettingsProps {
  readonly context: Pick<CompareContext, 'compare' | 'attribution'>;
  readonly form: SavedComparison;
  /** The table is what is shown. */
  readonly tabled: boolean;
  readonly show: (form: SavedComparison) => void;
}

export function CompareSettings({ context, form, tabled, show }: SettingsProps): VNode {
  const { compare, attribution } = context;
  return (
    <Settings label={t('Comparison settings')}>
      {/* a profile's flame graph of both is the picture */}
      {compare.own.model !== 'profile' && (
        <SettingChoice<SavedComparison>
          label={t('Show')}
          value={form}
          options={[
            { value: 'table', text: t('Table') },
            {
              value: 'graph',
              text: t('Flame graph'),
              title: t('Both as one call tree, coloured by the difference'),
            },
          ]}
          change={show}
        />
      )}
      {tabled && (
        <>
          <SettingChoice<By>
            label={t('Rows')}
            value={compare.settings.by}
            options={rowsOf(compare)}
            change={(by) => compare.set({ by })}
          />
          <SettingChoice
            label={t('Figures')}
            value={compare.settings.measure}
            options={[
              { value: 'own', text: t('Self'), title: t('What it allocated itself: the rows add up') },
              { value: 'inclusive', text: t('Inclusive'), title: t('With what it called') },
            ]}
            change={(measure) => compare.set({ measure })}
          />
          <AttributionChoice kept={attribution} />
        </>
      )}
      <Compared context={context} />
    </Settings>
  );
}

/** What rows may be: categories where both traces have any. */
function rowsOf({ own, other }: Compare): readonly ChoiceOption<By>[] {
  const infos = other?.is === 'open' ? [other.info] : [];
  const haveCategories =
    own.model === 'timeline' && [own.info, ...infos].every((info) => categoriesOf(info).length > 0);
  return [
    ...(haveCategories ? [{ value: 'category', text: t('Category') } as const] : []),
    { value: 'line', text: t('Line') },
    { value: 'function', text: t('Function') },
    { value: 'file', text: t('File') },
    ...(own.model === 'timeline' ? [{ value: 'module', text: t('Module') } as const] : []),
    ...(own.model === 'profile' ? [{ value: 'package', text: t('Package') } as const] : []),
    { value: 'stack', text: t('Stack') },
  ];
}

/** What of both is compared. */
function Compared({ context: { compare } }: Pick<SettingsProps, 'context'>): VNode | null {
  switch (compare.own.model) {
    case 'timeline':
      return (
        <>
          <SettingChoice
            list
            label={t('Compare at')}
            value={compare.settings.mine}
            options={[
              { value: 'set', text: t('Chosen moment') },
              { value: 'end', text: t('End') },
            ]}
            change={(mine) => compare.set({ mine })}
          />
          <SettingChoice
            list
            label={t('Other at')}
            value={compare.settings.theirs}
            options={[
              { value: 'same', text: t('Same moment') },
              { value: 'peak', text: t('Its peak') },
              { value: 'end', text: t('Its end') },
            ]}
            change={(theirs) => compare.set({ theirs })}
          />
        </>
      );
    case 'profile':
      return <Values compare={compare} />;
    case 'graph':
      return null;
    default:
      return never(compare.own);
  }
}

/** The values to choose from, of profiles: those that both have, and the other's that may stand beside it. */
function Values({ compare }: { readonly compare: Compare }): VNode | null {
  const { ownProfile: own } = compare;
  if (!own) return null;
  const shared = compare.sharedValues;
  const mine = own.info.values.indexOf(own.value);
  // what is shown may be a value that the other hasn't
  const known = shared.some((each) => each.mine === mine);
  const others = compare.otherValues.map((value) => ({ value: value.name, text: titled(value) }));
  const { value: chosen } = compare.settings;
  return (
    <>
      <SettingChoice
        list
        label={t('Value')}
        value={String(mine)}
        options={[
          ...(known ? [] : [{ value: String(mine), text: t('{0}, only here', said(own.value.title)) }]),
          ...shared.map(({ value, mine: number }) => ({ value: String(number), text: titled(value) })),
        ]}
        change={(number) => own.setValue(Number(number))}
      />
      <SettingChoice
        list
        label={t('Other value')}
        value={others.some(({ value }) => value === chosen) ? chosen : ''}
        options={[{ value: '', text: known ? t('The same') : t('Choose…') }, ...others]}
        change={(name) => compare.set({ value: name === '' ? null : name })}
      />
    </>
  );
}

function titled({ title, total, unit }: ProfileValue): string {
  return `${said(title)} · ${figureIn(total, unit)}`;
}
