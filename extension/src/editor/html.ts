/** The parameters of the page; URIs are those of the webview. */
export interface PageParts {
  /** `webview.cspSource` */
  cspSource: string;
  scriptUri: string;
  styleUri: string;
  nonce: string;
}

/**
 * The webview's page. Only the extension's script and styles may be loaded: no network, no images, no inline script,
 * so that a name in a snapshot would be harmless even if it were treated as HTML.
 */
export function page(parts: PageParts): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${parts.nonce}'`,
    `style-src ${parts.cspSource}`,
    "img-src 'none'",
    "font-src 'none'",
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${attribute(parts.styleUri)}">
  <title>Memlens</title>
</head>
<body>
  <main id="memlens"></main>
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
