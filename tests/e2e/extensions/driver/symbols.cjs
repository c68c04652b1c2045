// A language extension that knows a class of a library without source. It answers as that of Java (redhat.java 1.56)
// does: the symbols of classes have the address of a text that it makes and no line, and names with the package if it is
// asked for one with a package.
'use strict';
const vscode = require('vscode');

const SCHEME = 'decompiled';
const CLASS = `// made from bytecode
package java.util;

public class HashMap {

  static class Node {
    Object key;
  }
}
`;
/** A class of the same name in another package comes first. */
const OTHER = 'package org.other;\n\nclass HashMap { class Node {} }\n';
const TEXTS = { '/org.other/HashMap.class': OTHER, '/java.util/HashMap.class': CLASS };

exports.provideSymbols = () => {
  const nowhere = new vscode.Range(0, 0, 0, 0);
  const symbol = (container) => {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${container}/HashMap.class` });
    return new vscode.SymbolInformation(
      `${container}.HashMap`,
      vscode.SymbolKind.Class,
      container,
      new vscode.Location(uri, nowhere),
    );
  };
  return [
    vscode.languages.registerWorkspaceSymbolProvider({
      provideWorkspaceSymbols: (query) =>
        query === 'java.util.HashMap' ? [symbol('org.other'), symbol('java.util')] : [],
    }),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: ({ path }) => TEXTS[path],
    }),
  ];
};
