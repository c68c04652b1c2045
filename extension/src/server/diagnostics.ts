import { execFile } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';
import { pythonEnvironment } from '../python/environment';
import { findInterpreter, type Interpreter, NoInterpreterError, withHome } from '../python/interpreter';
import { readSettings, SECTION } from '../settings';
import type { Server } from './client';

const LIMIT_MS = 60_000;
/** Shorter words than this aren't taken for the name of a person. */
const SHORTEST_NAME = 3;
/** Names of accounts that say nothing about a person and occur in other words. */
const NOBODY = new Set(['root', 'user', 'admin', 'administrator', 'memlens', 'vscode', 'code']);
// A name of Windows may have blanks.
const HOMES =
  /(?:\/home|\/Users)\/(?!Shared\b)[^/\s:;,'"]+|[A-Za-z]:[\\/]Users[\\/](?!Public\b)(?:[^\\/:;,'"\n]+(?=[\\/])|[^\\/\s:;,'"]+)/g;

/**
 * What a bug report needs to say about this installation, in English: what VS Code knows, which Python was found and why,
 * and what `memlens diagnostics` prints there. It has no name of a person, and nothing of any file.
 */
export async function diagnostics(
  context: vscode.ExtensionContext,
  server: Server,
  log: Logger,
): Promise<string> {
  const lines = [...aboutEditor(context, server), ...(await aboutPython(context, log))];
  return anonymous(lines.join('\n'));
}

function aboutEditor(context: vscode.ExtensionContext, server: Server): string[] {
  const { version } = context.extension.packageJSON as { version: string };
  const where = vscode.env.uiKind === vscode.UIKind.Web ? 'in a browser' : 'on the desktop';
  const remote = vscode.env.remoteName === undefined ? '' : `, remote by ${vscode.env.remoteName}`;
  const trusted = vscode.workspace.isTrusted ? 'trusted' : 'not trusted';
  return [
    `extension: Memlens ${version}`,
    `editor: ${vscode.env.appName} ${vscode.version} ${where}${remote}, in ${vscode.env.language}`,
    `extension host: ${os.type()} ${os.release()}, ${process.platform}-${process.arch}, Node.js ${process.versions.node}`,
    `workspace: ${trusted}, folders: ${vscode.workspace.workspaceFolders?.length ?? 0}`,
    `settings: ${changedSettings(context).join(', ') || 'none is changed'}`,
    `server: ${server.health}, open snapshots: ${server.open}`,
    `log: ${context.logUri.fsPath}`,
  ];
}

/** The names of the settings that the user or the workspace has changed; their values may name places and people. */
function changedSettings(context: vscode.ExtensionContext): string[] {
  // SAFETY: package.json declares the settings.
  const { contributes } = context.extension.packageJSON as {
    contributes: { configuration: { properties: Record<string, unknown> } };
  };
  const settings = vscode.workspace.getConfiguration();
  return Object.keys(contributes.configuration.properties).filter((name) => {
    const found = settings.inspect(name);
    const values = [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue];
    return name.startsWith(`${SECTION}.`) && values.some((value) => value !== undefined);
  });
}

async function aboutPython(context: vscode.ExtensionContext, log: Logger): Promise<string[]> {
  const { extensionPath, globalStorageUri } = context;
  try {
    const found = await findInterpreter({ extensionPath, storagePath: globalStorageUri.fsPath }, log);
    const chosen = [found.command, ...found.args].join(' ');
    const rejected = found.rejected.map((why) => `not this Python: ${why}`);
    return [`this Python: ${chosen} (${found.from})`, ...rejected, await printed(found, context)];
  } catch (error) {
    const tried = error instanceof NoInterpreterError ? error.tried : [];
    return [messageOf(error), ...tried.map((why) => `not this Python: ${why}`)];
  }
}

/** What `memlens diagnostics` prints, or why it prints nothing. */
function printed(python: Interpreter, context: vscode.ExtensionContext): Promise<string> {
  const { cache_directory, cache_limit_bytes } = readSettings(context.workspaceState);
  const folder = withHome(cache_directory.trim());
  const cache = [
    ...(path.isAbsolute(folder) ? ['--cache-dir', folder] : []),
    ...(cache_limit_bytes > 0 ? ['--cache-limit', String(cache_limit_bytes)] : []),
  ];
  const args = [...python.args, '-m', 'memlens', 'diagnostics', ...cache];
  const { extensionPath } = context;
  const options = {
    cwd: extensionPath,
    env: pythonEnvironment(extensionPath),
    timeout: LIMIT_MS,
    windowsHide: true,
  };
  return new Promise((resolve) => {
    execFile(python.command, args, options, (error, stdout, stderr) => {
      resolve(
        error === null ? stdout.trimEnd() : `memlens diagnostics failed: ${stderr.trim() || error.message}`,
      );
    });
  });
}

/** Replaces home folders and the name of the account by `~`. */
export function anonymous(text: string, home = os.homedir(), account = accountName()): string {
  let shown = home === '' || home === '/' ? text : text.replaceAll(within(home), '~');
  shown = shown.replace(HOMES, '~');
  if (account.length < SHORTEST_NAME || NOBODY.has(account.toLowerCase())) return shown;
  return shown.replaceAll(within(account), '~');
}

/** A text as a word or a whole path, and no part of a longer one. */
function within(text: string): RegExp {
  const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\w])${escaped}(?![\\w.-])`, process.platform === 'win32' ? 'gi' : 'g');
}

function accountName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return ''; // the account has no entry
  }
}
