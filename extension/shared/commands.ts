// The commands that act on the active view, which says when it has them. Each is declared where it is done: a row of a
// `commands.ts` in webview/src, or the `palette` of a pane. `npm run contract` writes their names, the manifest and its titles.

import { COMMANDS, type KEY_ACTIONS } from './commands.gen';

export type ViewCommand = keyof typeof COMMANDS;

/** The lists that offer commands in the palette ("Memlens: Show…"). */
export type CommandList = (typeof COMMANDS)[ViewCommand];

/** What keys and menus do in views. */
export type Action = ViewCommand | (typeof KEY_ACTIONS)[number] | `pane${number}`;

// SAFETY: the names of its own properties.
export const VIEW_COMMANDS = Object.keys(COMMANDS) as readonly ViewCommand[];

export type PaneId = NamedBy<'pane'>;

export type PictureId = NamedBy<'picture'>;

/** What the timeline can be grouped by. */
export const AREA_KINDS = ['line', 'function', 'module', 'category', 'file', 'size'] as const;
export type AreaKind = (typeof AREA_KINDS)[number];

/** What commands of a kind name: `liveSet` of `pane.liveSet`. */
type NamedBy<K extends string, C = ViewCommand> = C extends `${K}.${infer Id}` ? Id : never;
