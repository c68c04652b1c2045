import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type * as vscode from 'vscode';
import { placesOf } from '../../extension/src/source/libraries';
import { Uri } from './vscode';

/** A symbol as language extensions answer it; they have more. */
function symbol(name: string, containerName: string, path: string): vscode.SymbolInformation {
  return { name, containerName, location: { uri: Uri.from({ scheme: 'jdt', path }) } } as never;
}

function paths(...found: vscode.SymbolInformation[]): string[] {
  return placesOf('java.util.HashMap', found).map(({ path }) => path);
}

describe('symbols of language extensions', () => {
  it('are those of the name, with or without package and type parameters', () => {
    assert.deepEqual(
      paths(
        symbol('java.util.HashMap', 'java.util', '/qualified'),
        symbol('HashMap', 'java.util', '/bare'),
        symbol('HashMap<K,V>', 'java.util', '/generic'),
        symbol('HashMapper', 'java.util', '/longer'),
        symbol('java.util.HashMap.Node', 'java.util.HashMap', '/inner'),
        symbol('org.other.HashMap', 'org.other', '/other'),
      ),
      ['/qualified', '/bare', '/generic'],
    );
  });

  it('are looked at in the order of how well the package fits, each text once', () => {
    const found = [
      symbol('HashMap', 'org.other', '/other'),
      symbol('HashMap', 'java.util', '/own'),
      symbol('HashMap', 'java.util', '/own'),
    ];
    assert.deepEqual(paths(...found), ['/own', '/other']);
  });
});
