// The flame graph's row of controls: its form and the search; the rest is in the settings.

import { signal, type Signal } from '@preact/signals';
import { createRef, type ComponentType, type RefObject, type VNode } from 'preact';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import type { KeptAttribution } from '../shell/attribution';
import { AttributionChoice } from '../shell/attribution-choice';
import { Bar } from '../widgets/bar';
import type { BarRoom } from '../shell/pane';
import { SettingChoice, SettingRow, Settings } from '../shell/settings';
import { Dropdown, Toggle } from '../widgets/choice';
import { debounce } from '../widgets/dom';
import { IconButton } from '../widgets/icon-button';
import type { FlameGraph } from './graph';
import type { FlameSettings, Form } from './settings';
import { nameText } from './words';
import { keepTyping } from '../shell/keyboard';

/** What of the graph its controls change. */
type Controlled = Pick<FlameGraph, 'change' | 'goToMatch'> & {
  readonly plot: Pick<FlameGraph['plot'], 'surface'>;
};

type Bound = 'value' | 'order';

const SEARCH_AFTER_MS = 150;

interface Props {
  readonly graph: Controlled;
  readonly settings: FlameSettings;
  /** Boxes have two sides, and are coloured by their change. */
  readonly sided: boolean;
  readonly compared: boolean;
  /** To which box a stack is charged. */
  readonly attribution: KeptAttribution;
  /** Controls that the graph's owner has elsewhere. */
  readonly without: ReadonlySet<Bound>;
  /** What the search found. */
  readonly found: string;
  /** Whether the search box was asked for; a search that is on has it as well. */
  readonly searching: Signal<boolean>;
  readonly input: RefObject<HTMLInputElement | null>;
}

export class FlameToolbar {
  private readonly state = signal<Pick<Props, 'settings' | 'sided'> | null>(null);
  private readonly found = signal('');
  private readonly searching = signal(false);
  private readonly bound = new Set<Bound>();
  private readonly search = createRef<HTMLInputElement>();

  constructor(
    private readonly graph: Controlled,
    private readonly compared: boolean,
    private readonly attribution: KeptAttribution,
    private readonly First?: ComponentType,
  ) {}

  readonly View = ({ hidden }: BarRoom): VNode => {
    const { state, found, searching, bound: without, search: input } = this;
    const { graph, compared, attribution, First } = this;
    return (
      <Bar class="flame-toolbar" label={t('Flame graph')} hidden={hidden}>
        {state.value && (
          <>
            {First && <First />}
            <Toolbar
              {...{ ...state.value, found: found.value }}
              graph={graph}
              compared={compared}
              attribution={attribution}
              without={without}
              searching={searching}
              input={input}
            />
          </>
        )}
      </Bar>
    );
  };

  without(...controls: readonly Bound[]): void {
    for (const each of controls) this.bound.add(each);
  }

  update(settings: FlameSettings, sided: boolean): void {
    this.state.value = { settings: { ...settings }, sided };
  }

  setFound(text: string): void {
    this.found.value = text;
  }

  focusSearch(): void {
    this.searching.value = true;
    this.search.current?.focus();
    this.search.current?.select();
  }
}

function Toolbar(props: Props): VNode {
  const { graph, settings, compared } = props;
  const { form } = settings;
  // each half of the functions' form has its own direction, and no widths to order or to search
  const drawn = form === 'icicle' || form === 'flame';
  return (
    <>
      <Dropdown<Form>
        label={t('Layout')}
        options={[
          { value: 'icicle', text: t('Icicle') },
          { value: 'flame', text: t('Flame') },
          { value: 'table', text: t('Tree') },
          // those of a comparison are in its table
          ...(compared ? [] : [{ value: 'functions' as const, text: t('Functions') }]),
        ]}
        value={form}
        change={(chosen) => graph.change({ form: chosen })}
      />
      {drawn && <Search {...props} />}
      <Chips settings={settings} graph={graph} />
      <Settings label={t('Flame graph settings')}>
        <Rows {...props} drawn={drawn} />
      </Settings>
    </>
  );
}

/** A button that becomes the box, as long as there is something in it or it has the focus. */
function Search({ graph, settings, found, searching, input }: Props): VNode {
  const { search } = settings;
  const shown = searching.value || search !== '';
  useLayoutEffect(() => {
    if (searching.value) input.current?.focus();
  }, [shown, searching]);
  const soon = useMemo(
    () => debounce(SEARCH_AFTER_MS, () => graph.change({ search: input.current?.value.trim() ?? '' })),
    [graph],
  );
  useLayoutEffect(() => {
    if (input.current && input.current !== document.activeElement) input.current.value = search;
  }, [search]);
  if (!shown)
    return (
      <IconButton
        icon="search"
        label={t('Search the flame graph')}
        keys="/"
        press={() => {
          searching.value = true;
        }}
      />
    );
  return (
    <span class="flame-searching">
      <input
        ref={input}
        class="flame-search"
        type="search"
        placeholder={t('Search function or file')}
        aria-label={t('Search the flame graph')}
        maxLength={200}
        onInput={soon}
        onBlur={({ currentTarget }) => {
          if (currentTarget.value === '') searching.value = false;
        }}
        onKeyDown={(event) => {
          keepTyping(event);
          if (event.key === 'Enter') graph.goToMatch(event.shiftKey ? -1 : 1);
          else if (event.key === 'Escape') {
            if (event.currentTarget.value === '') graph.plot.surface.focus();
            event.currentTarget.value = '';
            soon();
          } else return;
          event.preventDefault();
        }}
      />
      <span class="flame-matches" hidden={search === ''}>
        <IconButton icon="up" label={t('Previous match')} press={() => graph.goToMatch(-1)} />
        <IconButton icon="down" label={t('Next match')} press={() => graph.goToMatch(1)} />
        <span class="flame-found muted" role="status">
          {shorten(found, 200)}
        </span>
      </span>
    </span>
  );
}

/** What was done to single frames; a press takes it back. */
function Chips({ settings, graph }: Pick<Props, 'settings' | 'graph'>): VNode {
  const { focus, hidden, packages } = settings;
  const chips: readonly (readonly [string, Partial<FlameSettings>])[] = [
    ...(focus ? [[t('Only {0}', nameText(focus)), { focus: null }] as const] : []),
    ...hidden.map(
      (name) =>
        [t('Hidden: {0}', nameText(name)), { hidden: hidden.filter((other) => other !== name) }] as const,
    ),
    ...packages.map(
      (name) => [t('{0} collapsed', name), { packages: packages.filter((other) => other !== name) }] as const,
    ),
  ];
  return (
    <span class="flame-chips">
      {chips.map(([text, undo]) => (
        <button key={text} type="button" class="chip" title={t('Clear')} onClick={() => graph.change(undo)}>
          <bdi>{shorten(text, 42)}</bdi> ×
        </button>
      ))}
    </span>
  );
}

function Rows(props: Props & { readonly drawn: boolean }): VNode {
  const { graph, settings, sided, attribution, without, drawn } = props;
  const set = (part: Partial<FlameSettings>): void => graph.change(part);
  return (
    <>
      {settings.form !== 'functions' && (
        <SettingChoice
          label={t('Direction')}
          options={[
            {
              value: 'top_down',
              text: t('Top-down'),
              title: t('From the outermost caller to where memory is allocated'),
            },
            {
              value: 'bottom_up',
              text: t('Bottom-up'),
              title: t('From where memory is allocated to its callers'),
            },
          ]}
          value={settings.direction}
          change={(direction) => set({ direction })}
        />
      )}
      <SettingChoice
        list
        label={t('Merge by')}
        options={[
          { value: 'function', text: t('Function') },
          { value: 'line', text: t('Line') },
        ]}
        value={settings.merge}
        change={(merge) => set({ merge })}
      />
      {!without.has('value') && (
        <SettingChoice
          list
          label={t('Width')}
          options={[
            { value: 'bytes', text: t('Bytes') },
            { value: 'count', text: t('Allocations') },
            { value: 'total', text: t('Bytes, whole run') },
          ]}
          value={settings.value}
          change={(value) => set({ value })}
        />
      )}
      {!without.has('order') && (
        <SettingChoice
          list
          label={t('Order')}
          options={[
            { value: 'value', text: t('Largest first') },
            { value: 'time', text: t('Oldest first') },
          ]}
          value={settings.order}
          change={(order) => set({ order })}
        />
      )}
      {drawn && !sided && (
        <SettingChoice
          list
          label={t('Colours')}
          options={[
            { value: 'package', text: t('Package') },
            { value: 'value', text: t('Value') },
          ]}
          value={settings.colour}
          change={(colour) => set({ colour })}
        />
      )}
      {settings.form !== 'functions' && (
        <SettingRow text={t('Libraries')}>
          <Toggle
            text={t('Collapse libraries')}
            title={t('Frames of a library that follow each other are one box')}
            on={settings.collapse}
            change={(collapse) => set({ collapse })}
          />
        </SettingRow>
      )}
      <SettingRow text={t('Recursion')}>
        <Toggle
          text={t('Fold recursion')}
          title={t('A function that calls itself is one box')}
          on={settings.fold}
          change={(fold) => set({ fold })}
        />
      </SettingRow>
      <SettingRow text={t('Files')}>
        <Toggle
          text={t('Full paths')}
          title={t('Full paths of files, not the shortest end that distinguishes them')}
          on={settings.wholePaths}
          change={(wholePaths) => set({ wholePaths })}
        />
      </SettingRow>
      {/* tables say what boxes have of their own; the details of a box that is drawn say by which rule */}
      {!drawn && <AttributionChoice kept={attribution} />}
    </>
  );
}
