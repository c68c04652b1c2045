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
  // The workbench's own, when a terminal gets another size while its program ends.
  /Could not find pty \d+ on pty host/,
];

/**
 * What the workbench logs while its window is reloaded: each thing that it was reading, writing or waiting for then is
 * canceled, or finds its database closed.
 */
const OF_RELOADING = /Canceled|is closed|disposed|ECONNRESET|net::ERR_(ABORTED|FAILED|CONNECTION)/i;

/**
 * Listens to a page and its webviews from now on.
 * @param {import('@playwright/test').Page} page
 * @param {string} authority that of this machine's server
 * @param {() => boolean} reloading whether a test is reloading the page
 * @param {(kind: 'foreignRequests' | 'consoleErrors', text: string) => void} tell gets the address of each request
 *   that left it, and each error except the workbench's own
 */
export function noteErrors(page, authority, reloading, tell) {
  const own = `http://${authority}`;
  page.on('request', (request) => {
    const url = request.url();
    if (url.startsWith(own) || OWN_SCHEMES.test(url) || WEBVIEW_RESOURCE.test(url)) return;
    tell('foreignRequests', url);
  });
  const note = (text) => {
    if (reloading() && OF_RELOADING.test(text)) return;
    if (!WORKBENCH_NOISE.some((noise) => noise.test(text))) tell('consoleErrors', text);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') note(`${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => note(error.stack ?? String(error)));
}
