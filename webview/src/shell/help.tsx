// The list of keys.

import { createRef, Fragment, type VNode } from 'preact';
import { t } from '../base/l10n';
import { BOX_KEYS, FLAME_KEYS, STACK_KEYS } from '../flame/keys';
import type { ListedKeys } from './key-table';
import { GRAPH_KEYS, PROFILE_KEYS, TIMELINE_KEYS, type KeyGroup } from './keys';
import { IconButton } from '../widgets/icon-button';

/** VS Code has the key bindings. */
const HISTORY: ListedKeys = [
  ['Alt ←  Alt →'],
  t('Go back or forward; also the mouse’s fourth and fifth buttons'),
];

const MOUSE: readonly ListedKeys[] = [
  [[t('Wheel')], t('Zoom about the cursor; with Shift the height, with Ctrl or Cmd both')],
  [[t('Drag')], t('Move; with Alt, zoom to a box')],
  [
    [t('Click')],
    t('Select: show its stack, highlight every allocation of that stack, and move the cursor there'),
  ],
  [[t('Shift click or drag')], t('Second cursor: what was allocated, freed or live in between')],
  [[t('Double-click')], t('Zoom to an allocation')],
  [[t('Ctrl or Cmd click')], t('Open the line that allocated it')],
  HISTORY,
];

/** A part of the list: its title, and what each key does. */
export type Part = readonly [title: string, rows: readonly ListedKeys[]];

const flameKeys = (table: typeof FLAME_KEYS): Part => [t('In the flame graph'), table.listed()];

const GROUPS: readonly (readonly [group: KeyGroup, title: string])[] = [
  ['look', t('Move and zoom')],
  ['allocations', t('Allocations')],
  ['cursors', t('Cursors')],
  ['view', t('View')],
];

export function timelineKeys(): readonly Part[] {
  return [
    ...GROUPS.map(([group, title]): Part => [title, TIMELINE_KEYS.listed((row) => row.group === group)]),
    flameKeys(FLAME_KEYS),
    [t('Mouse and history'), MOUSE],
  ];
}

export function profileKeys(): readonly Part[] {
  return [[t('View'), [...PROFILE_KEYS.listed(), HISTORY]], flameKeys(FLAME_KEYS)];
}

/** With `stacks` it is known where objects were allocated. */
export function graphKeys(stacks: boolean): readonly Part[] {
  return [
    [t('View'), [...GRAPH_KEYS.listed(), HISTORY]],
    [t('In the picture'), BOX_KEYS.listed()],
    ...(stacks ? [flameKeys(STACK_KEYS)] : []),
  ];
}

export class Help {
  private readonly root = createRef<HTMLDialogElement>();

  constructor(private readonly parts: readonly Part[]) {}

  readonly View = (): VNode => (
    <dialog
      class="help"
      aria-label={t('Keys')}
      ref={this.root}
      onClick={({ target }) => {
        if (target === this.root.current) this.close();
      }}
    >
      <List parts={this.parts} close={() => this.close()} />
    </dialog>
  );

  get isOpen(): boolean {
    return this.root.current?.open ?? false;
  }

  toggle(): void {
    if (this.isOpen) this.close();
    else this.root.current?.showModal();
  }

  private close(): void {
    this.root.current?.close();
  }
}

function List({ parts, close }: { readonly parts: readonly Part[]; readonly close: () => void }): VNode {
  return (
    <>
      <header>
        <h2>{t('Keys')}</h2>
        <IconButton icon="close" label={t('Close')} press={close} keys="Escape" />
      </header>
      <div class="help-groups">
        {parts.map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map(([keys, text], i) => (
                <Fragment key={i}>
                  <dt>
                    {keys.map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{text}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </>
  );
}
