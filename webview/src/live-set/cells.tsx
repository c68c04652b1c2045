// The cells of the live set's table.

import type { VNode } from 'preact';
import type { AllocationSummary, Group } from '../../../extension/shared/protocol.gen';
import { exactFigure, figure } from '../base/figure';
import { categoryName, codeClass, count, hasSource, nameOf, share, stateName, time } from '../base/format';
import { said, t } from '../base/l10n';
import { shortName } from '../base/symbols';
import { shorten } from '../base/text';
import { css, type Rgb } from '../canvas/colour';
import { addTerm } from '../shell/filter-terms';
import { categoriesOf } from '../shell/model';
import type { ViewContext } from '../shell/context';
import { IconButton } from '../widgets/icon-button';
import { ShareBar } from '../widgets/share-bar';
import type { GridCell } from '../widgets/grid';
import type { GroupKind, GroupNode } from './tree';

export class LiveCells {
  constructor(private readonly context: ViewContext) {}

  /** `whole` is what the set comes to; `kind` what groups of the first level are, where this is one. */
  group({ group }: GroupNode, whole: number, kind: GroupKind | null): readonly GridCell[] {
    const label = shortName(said(group.name), 90);
    // the colour that the picture has for it; none where that isn't grouped by the same
    const colour = kind && this.context.timeline?.colourOfGroup(group, kind);
    return [
      [
        ...(colour ? [<Swatch colour={colour} />] : []),
        hasSource(group.place) || group.declared !== '' ? (
          <bdi class="code place-link" title={t('Open {0}', shorten(openedBy(group), 300))}>
            <PlaceName text={label} />
          </bdi>
        ) : (
          <bdi class={group.place === null ? '' : 'code'}>{label}</bdi>
        ),
        ...(group.detail.text === '' ? [] : [<bdi class="muted">{shorten(said(group.detail), 90)}</bdi>]),
        ...(group.filter === '' ? [] : [<FilterTo filter={group.filter} context={this.context} />]),
      ],
      [sized(group.bytes)],
      shareCell(group.bytes, whole),
      [group.count === null ? '–' : count(group.count)],
      [group.largest_bytes === null ? '–' : sized(group.largest_bytes)],
    ];
  }

  private swatch(allocation: AllocationSummary): readonly VNode[] {
    const colour = this.context.timeline?.colourOf(allocation);
    return colour ? [<Swatch colour={colour} />] : [];
  }

  /** An allocation within a group. */
  leaf(allocation: AllocationSummary, whole: number): readonly GridCell[] {
    const { lifetime_us: life } = allocation;
    const state = stateOf(allocation);
    return [
      [
        ...this.swatch(allocation),
        <bdi>{t('Allocation {0}', count(allocation.allocation))}</bdi>,
        <span class="muted">{life === null ? state : t('held {0}, {1}', time(life), state)}</span>,
      ],
      [sized(allocation.size_bytes)],
      shareCell(allocation.size_bytes, whole),
      [],
      [],
    ];
  }

  /** An allocation in a plain list. */
  plain(allocation: AllocationSummary, whole: number): readonly GridCell[] {
    const { title, place } = nameOf(allocation);
    const { category, lifetime_us: life } = allocation;
    return [
      [
        ...this.swatch(allocation),
        <bdi class={codeClass(allocation)}>{shortName(title, 70)}</bdi>,
        ...(place === null
          ? []
          : [
              <bdi class="place place-link" title={t('Open {0}', shorten(place, 300))}>
                {shorten(place, 60)}
              </bdi>,
            ]),
      ],
      [sized(allocation.size_bytes)],
      shareCell(allocation.size_bytes, whole),
      [life === null ? '–' : time(life)],
      [<span class="code">{shorten(allocation.address, 40)}</span>],
      [stateOf(allocation)],
      ...(categoriesOf(this.context.info).length > 0
        ? [[category === null ? '–' : shorten(categoryName(category), 40)]]
        : []),
    ];
  }
}

/** What a group opens: a declaration, or a line. */
function openedBy({ declared, place }: Group): string {
  return declared || `${place?.file ?? ''}:${place?.line ?? 0}`;
}

/** A file and its line: where there is too little room, the file's name is cut off and the line is not. */
function PlaceName({ text }: { readonly text: string }): VNode {
  const [, file = text, line = ''] = /^(.+)(:\d+)$/su.exec(text) ?? [];
  return (
    <>
      <span class={line === '' ? '' : 'cut-file'}>{file}</span>
      {line}
    </>
  );
}

function Swatch({ colour }: { readonly colour: Rgb }): VNode {
  return <span class="swatch" style={{ background: css(colour) }} />;
}

function sized(value: number): VNode {
  return <span title={exactFigure(value)}>{figure(value)}</span>;
}

function shareCell(part: number, whole: number): GridCell {
  return [<ShareBar part={part} whole={whole} />, share(part, whole)];
}

interface FilterToProps {
  readonly filter: string;
  readonly context: ViewContext;
}

function FilterTo({ filter, context }: FilterToProps): VNode {
  return (
    // reached by its key; thousands of tab stops would help no one
    <IconButton
      icon="filter"
      label={t('Filter to this')}
      keys="f"
      tabIndex={-1}
      press={(event) => {
        event.stopPropagation();
        addTerm(context, filter);
      }}
    />
  );
}

function stateOf(allocation: AllocationSummary): string {
  const state = stateName(allocation.state);
  return allocation.before_trace ? t('{0}, allocated before recording', state) : state;
}
