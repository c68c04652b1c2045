import * as vscode from 'vscode';
import type { Settings } from '../shared/protocol.gen';

export const SECTION = 'memlens';

/** The extension that knows Java, and decompiles its classes. */
export const JAVA_EXTENSION = 'redhat.java';

const REMEMBERED_KEY = 'memlens.rememberedPaths';
const BYTES_PER_GB = 2 ** 30;

/** The setting; VS Code ignores its value in an untrusted workspace (`capabilities` in package.json). */
export function interpreterSetting(): string {
  return configuration().get('interpreter', '').trim();
}

/** The server's settings. A value of the wrong type counts as not set. */
export function readSettings(memory: vscode.Memento): Settings {
  const settings = configuration();
  return {
    path_mappings: strings(settings.get('pathMappings')),
    remembered_paths: rememberedPaths(memory),
    findings: lineFindings(),
    code_lens: settings.get('codeLens') === true,
    hover: settings.get('hover') !== false,
    measure: measure(),
    attribution: settings.get('lines.attribution') === 'any' ? 'any' : 'mine',
    cache_limit_bytes: gigabytes(settings.get('cache.limit'), 10),
    memory_limit_bytes: gigabytes(settings.get('memory.limit'), 0),
    cache_directory: settings.get('cache.directory', ''),
    libraries: texts(settings.get('libraries')),
    source_archives: texts(settings.get('sourceArchives')),
    // VS Code opens files in views.
    snapshots: [],
    fleets: texts(settings.get('fleet.folders')),
    fleet_figures: settings.get('fleet.figures') !== false,
    symbol_folders: texts(settings.get('symbols.folders')),
  };
}

/** Which figure is shown beside source lines: bytes live at the peak, or all bytes ever allocated. */
export function measure(): 'peak' | 'total' {
  return configuration().get('lines.measure') === 'total' ? 'total' : 'peak';
}

/** Whether lines with findings are marked, and say above them what these say. */
export function lineFindings(): boolean {
  return configuration().get('lines.findings') !== false;
}

/** Whether figures are shown after the lines while their heat is shown. */
export function lineTotals(): boolean {
  return configuration().get('lines.totals') !== false;
}

/** Whether letters, digits and signs by themselves are keys of views. */
export function singleKeys(): boolean {
  return configuration().get('singleKeys') !== false;
}

/** The files that the user chose for paths in snapshots, in this workspace. */
function rememberedPaths(memory: vscode.Memento): Record<string, string> {
  return strings(memory.get(REMEMBERED_KEY));
}

export async function rememberPath(memory: vscode.Memento, file: string, path: string): Promise<void> {
  await memory.update(REMEMBERED_KEY, { ...rememberedPaths(memory), [file]: path });
}

/** Add where a folder of snapshots is here to the settings: of the workspace, where it may have them. */
export async function mapPaths(prefix: string, folder: string): Promise<void> {
  const settings = configuration();
  const known = settings.inspect('pathMappings');
  const inWorkspace = vscode.workspace.isTrusted && vscode.workspace.workspaceFolders !== undefined;
  const mappings = strings(inWorkspace ? known?.workspaceValue : known?.globalValue);
  const target = inWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await settings.update('pathMappings', { ...mappings, [prefix]: folder }, target);
}

export async function forgetPaths(memory: vscode.Memento): Promise<void> {
  await memory.update(REMEMBERED_KEY, undefined);
}

function gigabytes(value: unknown, fallback: number): number {
  return Math.round((typeof value === 'number' && value >= 0 ? value : fallback) * BYTES_PER_GB);
}

function configuration(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : [];
}

function strings(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
