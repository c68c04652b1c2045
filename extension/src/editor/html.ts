import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

/** The parameters of the page; URIs are those of the webview. */
export interface PageParts {
  /** `webview.cspSource` */
  cspSource: string;
  scriptUri: string;
  styleUri: string;
  nonce: string;
  /** What the page's texts are in the language of the editor, by the English ones; empty in English. */
  texts: Readonly<Record<string, unknown>>;
  /** The language that they are in, as BCP 47 has it. */
  language: string;
}

/** Shows the extension's page in a webview. */
export function showPage(webview: vscode.Webview, dist: vscode.Uri): void {
  const uri = (name: string): string => String(webview.asWebviewUri(vscode.Uri.joinPath(dist, name)));
  webview.options = { enableScripts: true, enableForms: false, localResourceRoots: [dist] };
  const texts = vscode.l10n.bundle;
  webview.html = page({
    cspSource: webview.cspSource,
    scriptUri: uri('webview.js'),
    styleUri: uri('webview.css'),
    nonce: randomBytes(18).toString('base64'),
    texts: texts ?? {},
    language: texts ? vscode.env.language : 'en',
  });
}

/**
 * The webview's page. Only the extension's script and styles may be loaded: no network, no images, no inline script,
 * so that a name in a snapshot would be harmless even if it were treated as HTML.
 */
export function page(parts: PageParts): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${parts.nonce}'`,
    `style-src ${parts.cspSource} 'nonce-${parts.nonce}'`,
    "img-src 'none'",
    "font-src 'none'",
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ');
  const texts =
    Object.keys(parts.texts).length > 0 ? ` data-texts="${attribute(JSON.stringify(parts.texts))}"` : '';
  return `<!DOCTYPE html>
<html lang="${attribute(parts.language)}">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${attribute(parts.styleUri)}">
  <title>Memlens</title>
</head>
<body>
  <main id="memlens"${texts}></main>
  <script type="module" nonce="${attribute(parts.nonce)}" src="${attribute(parts.scriptUri)}"></script>
</body>
</html>
`;
}

function attribute(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
