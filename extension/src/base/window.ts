// The one place from which texts reach VS Code's own windows: notifications, progress, prompts, picks, dialogs, the status
// bar and code lenses. VS Code draws `[text](command:…)` in them as a link that runs a command, and `$(name)` as an icon.
// Names come from files and pages of strangers, so every text is made plain here; the linter forbids the calls elsewhere.

import * as vscode from 'vscode';

/** The longest text that is shown, in UTF-16 code units: a name from a file may have megabytes. */
export const MOST_SHOWN = 1_000;

/** An invisible character without width, which keeps its neighbours from being read as syntax. */
const JOINER = '\u2060';

// Control characters but the line feed, and those that change the direction of what follows them.
// oxlint-disable-next-line no-control-regex
const INVISIBLE = /[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Marks above or below a letter, more than any language has: they would be drawn over the lines around. */
const STACKED = /(\p{M}{4})\p{M}+/gu;

/** Returns a text without what changes how its surroundings look; for blocks of code, which have no links. */
export function steady(text: string): string {
  return text.replace(INVISIBLE, '\ufffd').replace(STACKED, '$1\ufffd');
}

/** Returns a text in which nothing is a link or an icon; long texts are cut off. */
export function plain(text: string): string {
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 1)}…` : text;
  return steady(shown).replaceAll('](', `]${JOINER}(`).replaceAll('$(', `$${JOINER}(`);
}

/** A link of Memlens's own that runs a command; only `withProgress` takes it. */
export class CommandLink {
  readonly markdown: string;

  constructor(label: string, command: `memlens.${string}`, ...args: readonly unknown[]) {
    // what encodeURIComponent leaves alone would end the link
    const query = encodeURIComponent(JSON.stringify(args)).replaceAll('(', '%28').replaceAll(')', '%29');
    this.markdown = `[${plain(label).replace(/[[\]]/g, '')}](command:${command}?${query})`;
  }
}

interface Show {
  (message: string, ...items: readonly string[]): Thenable<string | undefined>;
  (
    message: string,
    options: vscode.MessageOptions,
    ...items: readonly string[]
  ): Thenable<string | undefined>;
}

/** Shows a message and resolves with the button that was pressed, as it was given. */
async function show(
  by: Show,
  message: string,
  options: vscode.MessageOptions,
  items: readonly string[],
): Promise<string | undefined> {
  const labels = items.map(plain);
  const chosen = await (options.modal === true
    ? by(plain(message), options, ...labels)
    : by(plain(message), ...labels));
  return chosen === undefined ? undefined : items[labels.indexOf(chosen)];
}

export function showError(message: string, ...items: readonly string[]): Promise<string | undefined> {
  return show(vscode.window.showErrorMessage, message, {}, items);
}

export function showWarning(message: string, ...items: readonly string[]): Promise<string | undefined> {
  return show(vscode.window.showWarningMessage, message, {}, items);
}

export function showInformation(message: string, ...items: readonly string[]): Promise<string | undefined> {
  return show(vscode.window.showInformationMessage, message, {}, items);
}

/** Asks a question that has to be answered before anything else. Returns the button, or undefined for Cancel. */
export function ask(
  question: string,
  detail: string,
  ...items: readonly string[]
): Promise<string | undefined> {
  return show(vscode.window.showInformationMessage, question, { modal: true, detail: plain(detail) }, items);
}

/** The same as a warning. */
export function askWarning(
  question: string,
  detail: string,
  ...items: readonly string[]
): Promise<string | undefined> {
  return show(vscode.window.showWarningMessage, question, { modal: true, detail: plain(detail) }, items);
}

/** Shows a text in the status bar for a while. */
export function showStatus(message: string, milliseconds: number): void {
  vscode.window.setStatusBarMessage(plain(message), milliseconds);
}

export interface Step {
  readonly message?: string | CommandLink;
  readonly increment?: number;
}

export interface Progress {
  report(step: Step): void;
}

/** Shows the progress of a task until it ends. */
export function withProgress<T>(
  options: vscode.ProgressOptions,
  task: (progress: Progress, token: vscode.CancellationToken) => Thenable<T>,
): Thenable<T> {
  const { title } = options;
  return vscode.window.withProgress(
    { ...options, ...(title === undefined ? {} : { title: plain(title) }) },
    (progress, token) =>
      task(
        {
          report: ({ message, ...step }) => {
            const shown = message instanceof CommandLink ? message.markdown : message && plain(message);
            progress.report(shown === undefined ? step : { ...step, message: shown });
          },
        },
        token,
      ),
  );
}

/**
 * Lets the user pick any number of items. It stays when something else gets the focus, as the editor does when the list
 * closes that it was chosen from.
 */
export async function pickMany<T extends vscode.QuickPickItem>(
  items: readonly T[],
  options: vscode.QuickPickOptions = {},
): Promise<T[] | undefined> {
  const shown = items.map((item) => ({ item, ...plainItem(item) }));
  const chosen = await vscode.window.showQuickPick(shown, {
    ...plainOptions(options),
    canPickMany: true,
    ignoreFocusOut: true,
  });
  return chosen?.map(({ item }) => item);
}

/** Lets the user pick one of some items. Returns the item, as it was given. */
export async function pick<T extends vscode.QuickPickItem>(
  items: readonly T[],
  options: vscode.QuickPickOptions = {},
): Promise<T | undefined> {
  const shown = items.map((item) => ({ item, ...plainItem(item) }));
  return (await vscode.window.showQuickPick(shown, plainOptions(options)))?.item;
}

function plainItem(item: vscode.QuickPickItem): vscode.QuickPickItem {
  return {
    ...item,
    label: plain(item.label),
    ...(item.description === undefined ? {} : { description: plain(item.description) }),
    ...(item.detail === undefined ? {} : { detail: plain(item.detail) }),
  };
}

/** Lets the user write a text. What it begins with isn't changed: it is shown as it is and comes back. */
export function input(options: vscode.InputBoxOptions): Thenable<string | undefined> {
  return vscode.window.showInputBox(plainOptions(options));
}

/** Lets the user choose where something is saved. */
export function saveDialog(options: vscode.SaveDialogOptions): Thenable<vscode.Uri | undefined> {
  return vscode.window.showSaveDialog(plainOptions(options));
}

/** Lets the user choose files or a folder. */
export function openDialog(options: vscode.OpenDialogOptions): Thenable<vscode.Uri[] | undefined> {
  return vscode.window.showOpenDialog(plainOptions(options));
}

const SHOWN_OPTIONS = ['title', 'prompt', 'placeHolder', 'saveLabel', 'openLabel'];

function plainOptions<T extends object>(options: T): T {
  const texts = Object.entries(options).filter(
    (entry): entry is [string, string] => SHOWN_OPTIONS.includes(entry[0]) && typeof entry[1] === 'string',
  );
  return { ...options, ...Object.fromEntries(texts.map(([key, text]) => [key, plain(text)])) };
}

/** An item of the status bar, with an icon before its text. */
export class StatusItem {
  readonly #item: vscode.StatusBarItem;

  constructor(id: string, name: string, command: vscode.Command) {
    this.#item = vscode.window.createStatusBarItem(id, vscode.StatusBarAlignment.Left);
    this.#item.name = plain(name);
    this.#item.command = command;
    this.#item.show();
  }

  show(icon: string, text: string, tooltip: string, spoken: string): void {
    this.#item.text = `$(${icon}) ${plain(text)}`;
    this.#item.tooltip = plain(tooltip);
    this.#item.accessibilityInformation = { label: plain(spoken) };
  }

  dispose(): void {
    this.#item.dispose();
  }
}

/** Returns code lenses whose titles have no icons. */
export function plainLenses(lenses: vscode.CodeLens[]): vscode.CodeLens[] {
  for (const lens of lenses)
    if (lens.command !== undefined) lens.command = { ...lens.command, title: plain(lens.command.title) };
  return lenses;
}
