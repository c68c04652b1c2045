// The list of keys.

import { createRef, Fragment, type VNode } from 'preact';
import { t } from '../base/l10n';
import { FLAME_KEYS, OBJECT_KEYS, type FlameKeyRow } from '../flame/keys';
import { KEYS, keyName, type KeyGroup } from './keys';
import { IconButton } from '../widgets/icon-button';

/** VS Code has the key bindings. */
const HISTORY = ['Alt ←  Alt →', t('Go back or forward; also the mouse’s fourth and fifth buttons')] as const;

const MOUSE: readonly (readonly [string, string])[] = [
  [t('Wheel'), t('Zoom about the cursor; with Shift the height, with Ctrl or Cmd both')],
  [t('Drag'), t('Move; with Alt, zoom to a box')],
  [
    t('Click'),
    t('Select: show its stack, highlight every allocation of that stack, and move the cursor there'),
  ],
  [t('Shift click or drag'), t('Second cursor: what was allocated, freed or live in between')],
  [t('Double-click'), t('Zoom to an allocation')],
  [t('Ctrl or Cmd click'), t('Open the line that allocated it')],
  HISTORY,
];

const PROFILE_KEYS: readonly (readonly [string, string])[] = [
  ['V', t('Next value')],
  ['/', t('Filter everything')],
  ['T', t('Panel')],
  ['?', t('This list')],
  HISTORY,
];

/** A part of the list: its title, and what each key does. */
export type Part = readonly [
  title: string,
  rows: readonly (readonly [keys: readonly string[], text: string])[],
];

const isMac = (): boolean => navigator.userAgent.includes('Mac');

/** The keys of the flame graph, wherever it is shown. */
function flameKeys(title = t('In the flame graph'), keyRows: readonly FlameKeyRow[] = FLAME_KEYS): Part {
  const rows = keyRows.map(
    ({ keys, text }) =>
      [keys.filter((key) => key !== '=').map((key) => keyName(key, isMac())), text] as const,
  );
  return [title, rows];
}

const GROUPS: readonly (readonly [group: KeyGroup, title: string])[] = [
  ['look', t('Move and zoom')],
  ['allocations', t('Allocations')],
  ['cursors', t('Cursors')],
  ['view', t('View')],
];

export function timelineKeys(): readonly Part[] {
  return [
    ...GROUPS.map(([group, title]): Part => [
      title,
      KEYS.filter((row) => row.group === group && row.text).map((row) => [
        row.keys
          .filter((key) => !['=', '_', 'Shift++', 'Shift+?'].includes(key))
          .map((key) => keyName(key, isMac())),
        row.text,
      ]),
    ]),
    flameKeys(),
    [t('Mouse and history'), MOUSE.map(([name, text]) => [[name], text])],
  ];
}

export function profileKeys(): readonly Part[] {
  return [[t('View'), PROFILE_KEYS.map(([key, text]) => [[key], text])], flameKeys()];
}

const GRAPH_KEYS: readonly (readonly [string, string])[] = [
  ['W', t('Why what is selected is alive')],
  ['K', t('Add a bookmark for what is selected, with a note')],
  ['I', t('Details')],
  ['/', t('Filter everything')],
  ['T', t('Panel')],
  [t('1 to 9'), t('Types, dominators, why alive, and the other tabs in their order')],
  ['?', t('This list')],
  HISTORY,
];
/** What of the flame graph's keys the dominator tree has. */
const BOX_ACTIONS: ReadonlySet<string> = new Set([
  ...['above', 'below', 'left', 'right', 'zoom', 'open', 'leave', 'pageUp', 'pageDown', 'whole'],
  ...['zoomIn', 'zoomOut', 'nextMatch', 'previousMatch'],
]);

/** With `stacks` it is known where objects were allocated. */
export function graphKeys(stacks: boolean): readonly Part[] {
  const boxes = FLAME_KEYS.filter(({ action }) => BOX_ACTIONS.has(action)).map((row) =>
    row.action === 'leave' ? { ...row, text: t('Clear the selection, then the zoom') } : row,
  );
  return [
    [t('View'), GRAPH_KEYS.map(([key, text]) => [[key], text])],
    flameKeys(t('In the picture'), boxes),
    ...(stacks ? [flameKeys(undefined, [...FLAME_KEYS, ...OBJECT_KEYS])] : []),
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
