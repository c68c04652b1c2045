// The table's row: what its figures come to, and in the settings by what it is grouped and what narrows it.

import { computed, signal, type Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import type { KeptAttribution } from '../shell/attribution';
import { AttributionChoice } from '../shell/attribution-choice';
import { Bar } from '../widgets/bar';
import type { BarRoom } from '../shell/pane';
import { SettingRow, Settings } from '../shell/settings';
import { Dropdown } from '../widgets/choice';
import { debounce } from '../widgets/dom';
import { chargesPlaces, kindText } from './kinds';
import { LINES } from './settings';
import type { GroupKind } from './tree';

const LEVELS = 3;
const APPLY_AFTER_MS = 350;

type Level = GroupKind | '';

interface Status {
  readonly summary: string;
  readonly error: string;
}

export class Controls {
  /** What is chosen for each level; a level can be chosen once the one before it is. */
  private readonly levels: Signal<readonly Level[]>;
  /** By what the table is grouped: another object whenever a level is chosen. */
  readonly by = computed((): readonly GroupKind[] => [
    ...new Set(this.levels.value.flatMap((kind) => (kind === '' ? [] : [kind]))),
  ]);
  /** The filter of this table alone. */
  readonly narrow = signal('');
  private readonly status = signal<Status>({ summary: '', error: '' });

  constructor(
    private readonly can: readonly GroupKind[],
    by: readonly GroupKind[],
    private readonly attribution: KeptAttribution,
  ) {
    this.levels = signal(by.filter((kind) => can.includes(kind)).slice(0, LEVELS));
  }

  readonly View = ({ hidden }: BarRoom): VNode => (
    <Bar class="live-set-controls" label={t('What’s in memory')} hidden={hidden}>
      <this.Row />
    </Bar>
  );

  /** Groups by something else, as if it had been chosen. */
  set(kind: GroupKind): void {
    this.levels.value = withCallers(kind);
  }

  showStatus(summary: string, error: string): void {
    const { value } = this.status;
    if (summary !== value.summary || error !== value.error) this.status.value = { summary, error };
  }

  /** Whether rows are places in code, to which stacks are charged by one of the two rules. */
  get chargesPlaces(): boolean {
    return chargesPlaces(this.by.value);
  }

  private choose(level: number, kind: Level): void {
    const all = [...this.levels.value];
    all[level] = kind;
    if (level === 0 && all.slice(1).every((each) => each === 'caller')) this.levels.value = withCallers(kind);
    else this.levels.value = kind === '' ? all.slice(0, level) : all;
  }

  private readonly Row = (): VNode => {
    const { can, narrow } = this;
    const levels = this.levels.value;
    const { summary, error } = this.status.value;
    return (
      <>
        <span class="live-set-error" role="alert">
          {shorten(error, 2000)}
        </span>
        <span class="live-set-summary" role="status">
          {shorten(summary, 2000)}
        </span>
        {narrow.value !== '' && (
          // takes back what narrows this table alone
          <button
            type="button"
            class="chip"
            title={t('Clear the filter of this table')}
            onClick={() => {
              narrow.value = '';
            }}
          >
            {shorten(narrow.value, 200)} ×
          </button>
        )}
        <Settings label={t('Table settings')}>
          {Array.from({ length: Math.min(levels.length + 1, LEVELS) }, (_, level) => (
            <SettingRow key={level} text={level === 0 ? t('Group by') : t('then by')}>
              <LevelChoice
                can={can}
                level={level}
                value={levels[level] ?? ''}
                change={(kind) => this.choose(level, kind)}
              />
            </SettingRow>
          ))}
          {this.chargesPlaces && <AttributionChoice kept={this.attribution} />}
          <SettingRow text={t('Filter')}>
            <Narrow narrow={narrow} wrong={error !== ''} />
          </SettingRow>
        </Settings>
      </>
    );
  };
}

/** The levels of a grouping by one kind: a line leads to those that called it. */
function withCallers(kind: Level): readonly Level[] {
  if (kind === '') return [];
  return kind === 'line' ? [...LINES] : [kind];
}

interface LevelProps {
  readonly can: readonly GroupKind[];
  readonly level: number;
  readonly value: Level;
  readonly change: (kind: Level) => void;
}

function LevelChoice({ can, level, value, change }: LevelProps): VNode {
  // a profile has no single allocations to be listed
  const none = level > 0 || can.includes('module');
  const nothing = { value: '' as const, text: level === 0 ? t('Nothing') : t('nothing') };
  return (
    <Dropdown<Level>
      label={level === 0 ? t('Group by') : t('Then by (level {0})', level + 1)}
      options={[...(none ? [nothing] : []), ...can.map((kind) => ({ value: kind, text: kindText(kind) }))]}
      value={value}
      change={change}
    />
  );
}

interface NarrowProps {
  readonly narrow: Signal<string>;
  /** What is written isn't a filter. */
  readonly wrong: boolean;
}

function Narrow({ narrow, wrong }: NarrowProps): VNode {
  const input = useRef<HTMLInputElement>(null);
  const apply = (): void => {
    narrow.value = input.current?.value.trim() ?? '';
  };
  const soon = useMemo(() => debounce(APPLY_AFTER_MS, apply), []);
  const text = narrow.value;
  useLayoutEffect(() => {
    if (input.current && input.current.value.trim() !== text) input.current.value = text;
  }, [text]);
  return (
    <input
      ref={input}
      class="live-set-narrow"
      type="search"
      title={t('The same terms as in the filter above, for this table only')}
      aria-label={t('Filter this table')}
      placeholder={t('Filter this table')}
      spellcheck={false}
      aria-invalid={wrong}
      onInput={soon}
      onKeyDown={(event) => {
        if (event.key !== 'Enter') return;
        soon.cancel();
        apply();
      }}
    />
  );
}
