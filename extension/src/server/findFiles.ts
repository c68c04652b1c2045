import * as vscode from 'vscode';
import type { FindFilesParams, FindFilesResult } from '../../shared/protocol.gen';

const MOST = 5_000;
// `findFiles` applies `files.exclude`, but not what is only excluded from searches.
const EXCLUDED = '{**/node_modules/**,**/__pycache__/**,**/site-packages/**,**/.git/**}';

/** Answers the server's request for workspace files with one of these base names, or with this ending. */
export async function findFiles(
  params: FindFilesParams,
  token: vscode.CancellationToken,
): Promise<FindFilesResult> {
  // an ending is a constant of the server, without special characters of globs
  const glob = params.ending === '' ? globFor(params.names) : `**/*${params.ending}`;
  if (glob === null) return { paths: [] };
  const files = await vscode.workspace.findFiles(glob, EXCLUDED, MOST, token);
  return { paths: files.filter((uri) => uri.scheme === 'file').map((uri) => uri.fsPath) };
}

/**
 * Returns a glob for any of the names in any case, since a path may come from a case-insensitive file system.
 * Special characters are replaced by ones that match any character; the server checks the results.
 */
export function globFor(names: string[]): string | null {
  const literal = names.map((name) =>
    name
      .replace(/[[\]{}*?,!\\/]/g, '?')
      .replace(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`),
  );
  if (literal.length === 0) return null;
  return literal.length === 1 ? `**/${literal[0] ?? ''}` : `**/{${literal.join(',')}}`;
}
