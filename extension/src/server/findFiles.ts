import * as vscode from 'vscode';
import type { FindFilesParams, FindFilesResult } from '../../shared/protocol.gen';

const MOST = 5_000;
// `findFiles` leaves out what `files.exclude` does, but not what is only excluded from searches.
const EXCLUDED = '{**/node_modules/**,**/__pycache__/**,**/site-packages/**,**/.git/**}';

/** Answers the server: workspace files with one of these base names, or whose name ends so. */
export async function findFiles(
  params: FindFilesParams,
  token: vscode.CancellationToken,
): Promise<FindFilesResult> {
  // an ending is the server's own word, without anything that means something in a glob
  const glob = params.ending === '' ? globFor(params.names) : `**/*${params.ending}`;
  if (glob === null) return { paths: [] };
  const found = await vscode.workspace.findFiles(glob, EXCLUDED, MOST, token);
  return { paths: found.filter((uri) => uri.scheme === 'file').map((uri) => uri.fsPath) };
}

/**
 * A glob for any of the names, whatever their case, since a path may come from a file system that makes no difference.
 * What means something in a glob matches any character; the server looks again.
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
