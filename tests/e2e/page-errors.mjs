// What must not happen in a window: requests to other machines, and errors on the console.

const OWN_SCHEMES = /^(data|blob|vscode-[\w-]+|about):/;
/** Not a host on the network: the webview's service worker answers these from the extension's folder. */
const WEBVIEW_RESOURCE = /^https:\/\/[^/]+\.vscode-resource\.vscode-cdn\.net\//;

/** Errors that the workbench itself logs in a browser without a network. */
const WORKBENCH_NOISE = [
  /open-vsx/,
  /marketplace/i,
  /authentication provider/i,
  /\[Service ?Worker\]/i,
  /Long running operations during shutdown/,
  /Error while loading (the )?(account|default account)/i,
  // The npm package leaves these out.
  /favicon/,
  /\/vsda/,
  /bad HTTP response code \(404\) was received when fetching the script/,
  /\/update\/check/,
  /vscode\.github-authentication/,
  // The workbench's own, when a save took long on a busy machine; Memlens takes no part in saving.
  /Aborted onWillSaveTextDocument-event/,
  // The workbench's own, when the window is reloaded while it reads a workspace's settings.
  /Unable to read file 'vscode-remote:.*\.vscode\/\w+\.json' \(Canceled: Canceled\)/,
  // The workbench's own, when the window is reloaded while it writes what it keeps of these settings.
  /Unable to write file 'vscode-remote:.*\/CachedConfigurations\/.*\.json' \(Canceled: Canceled\)/,
  // The workbench's own, when the window is reloaded while one of its editors or dialogs waits for something.
  /ERR color: #f33 Canceled: Canceled\n[\s\S]*\.onBeforeUnload /,
  // The workbench's own, when the window is reloaded while it writes its log.
  /vscode-log:.*IndexedDB database 'vscode-web-db' is closed/,
  // The workbench's own, when a terminal gets another size while its program ends.
  /Could not find pty \d+ on pty host/,
];

/**
 * Listens to a page and its webviews from now on.
 * @param {import('@playwright/test').Page} page
 * @param {string} authority that of this machine's server
 * @param {(kind: 'foreignRequests' | 'consoleErrors', text: string) => void} tell gets the address of each request
 *   that left it, and each error except the workbench's own
 */
export function noteErrors(page, authority, tell) {
  const own = `http://${authority}`;
  page.on('request', (request) => {
    const url = request.url();
    if (url.startsWith(own) || OWN_SCHEMES.test(url) || WEBVIEW_RESOURCE.test(url)) return;
    tell('foreignRequests', url);
  });
  const note = (text) => {
    if (!WORKBENCH_NOISE.some((noise) => noise.test(text))) tell('consoleErrors', text);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') note(`${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => note(error.stack ?? String(error)));
}
