// The commands that act on the active view, which says when it has them: a row each, with its title in English, by the list
// that offers it in the palette ("Memlens: Show…"). All of them can get key bindings. `npm run contract` writes the manifest,
// package.nls.json and their names by these rows and by those of the panes, which are in the list `show`.

import type { VIEW_COMMANDS } from './commands.gen';

export const LISTS = {
  show: {
    'picture.stacked': 'Show Timeline',
    'picture.map': 'Show Memory Map over Time',
    'picture.reserved': 'Show Reserved Memory over Time',
    'picture.compare': 'Show Both Timelines',
  },
  groupBy: {
    'group.line': 'Group the Timeline by Line',
    'group.function': 'Group the Timeline by Function',
    'group.module': 'Group the Timeline by Module',
    'group.category': 'Group the Timeline by Category',
    'group.file': 'Group the Timeline by File',
    'group.size': 'Group the Timeline by Size',
    'group.none': 'Use PyTorch Order',
  },
  navigate: {
    fit: 'Reset Zoom',
    peak: 'Go to the Peak',
    zoomIn: 'Zoom In',
    zoomOut: 'Zoom Out',
    zoomToSelection: 'Zoom to Selection',
    toggleHeight: 'Lock Vertical Zoom',
    toggleAxis: 'Switch between Time and Events',
    toggleColour: 'Switch Colours between Stack and Category',
    togglePane: 'Toggle Panel',
    nextDevice: 'Next Device',
    back: 'Go Back',
    forward: 'Go Forward',
    clearSelection: 'Clear Selection',
    addBookmark: 'Add Bookmark…',
    nextBookmark: 'Go to Next Bookmark',
    previousBookmark: 'Go to Previous Bookmark',
  },
  share: {
    copyLink: 'Copy Link',
    copyReport: 'Copy Report as Markdown',
    exportReport: 'Export Report…',
    exportSvg: 'Export Picture as SVG…',
    exportPng: 'Export Picture as PNG…',
    exportBookmarks: 'Export Bookmarks…',
  },
} as const;

export type ViewCommand = (typeof VIEW_COMMANDS)[number];

export type PaneId = NamedBy<'pane'>;

export const PICTURE_IDS = ['stacked', 'map', 'reserved', 'compare'] as const;
export type PictureId = (typeof PICTURE_IDS)[number];

/** What the timeline can be grouped by. */
export const AREA_KINDS = ['line', 'function', 'module', 'category', 'file', 'size'] as const;
export type AreaKind = (typeof AREA_KINDS)[number];

/** What commands of a kind name: `liveSet` of `pane.liveSet`. */
type NamedBy<K extends string, C = ViewCommand> = C extends `${K}.${infer Id}` ? Id : never;
