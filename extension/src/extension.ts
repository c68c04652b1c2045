// Creates all parts of the extension and connects them.

import type * as vscode from 'vscode';
import { createLogger, messageOf } from './base/logger';
import { changeBookmarks } from './commands/bookmarks';
import { chooseOther, chooseSeries, registerCompareCommands } from './commands/compare';
import { registerFleetCommands } from './commands/fleet';
import { registerLineCommands } from './commands/lines';
import { registerDumpCommand } from './commands/dump';
import { registerRecordCommands } from './commands/record';
import { registerRunCommand } from './commands/run';
import { openAsText, registerOpenCommands } from './commands/open';
import { isLogShown, registerExplainCommand } from './commands/explain';
import { isPageActive, PageOffers } from './commands/pages';
import { registerRedactCommand } from './commands/redact';
import { saveText } from './commands/save';
import { registerServerCommands } from './commands/server';
import { registerViewCommands } from './commands/view';
import { FleetEditorProvider } from './editor/fleet';
import { SnapshotEditorProvider } from './editor/provider';
import { ViewStates } from './editor/states';
import { registerCellHover } from './lines/cellHover';
import { EditTracker } from './lines/edits';
import { LineHeat } from './lines/heat';
import { registerNavigation } from './lines/navigate';
import { copyLink, registerLinks } from './links/open';
import { Server } from './server/client';
import { ServerStatus } from './server/status';
import { ArchivedFiles } from './source/archived';
import { registerDownloadCommand, SourceDownloads } from './source/downloads';
import { LibrarySources } from './source/libraries';
import { SourceOpener } from './source/open';
import { registerTools } from './tools';

let running: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = createLogger();
  const memory = context.workspaceState;
  const server = new Server(context, log);
  running = server;
  const downloads = new SourceDownloads(context.globalStorageUri, server, log);
  const sources = new SourceOpener(server, memory, new LibrarySources(server, log), downloads);
  const editors: SnapshotEditorProvider = new SnapshotEditorProvider(
    context.extension,
    server,
    new ViewStates(memory),
    {
      openSource: (view, file, line, beside) => sources.open(view, file, line, beside),
      openObjectSource: (view, of, beside) => sources.openObject(view, of, beside),
      locate: (view, what, file, line) => sources.locate(view, what, file, line),
      downloadSources: (view) => sources.download(view),
      openAsText,
      chooseOther: (view) => chooseOther(view, editors),
      chooseSeries: (view) => chooseSeries(view),
      saveText: (view, form, text) => saveText(server, view, form, text),
      copyLink: (view, state) => copyLink(context.extension.id, view, state),
      changeBookmarks: (view, change) => changeBookmarks(server, editors, view, change),
    },
    log,
  );
  const edits = new EditTracker(server, log);
  context.subscriptions.push(
    log,
    server,
    new ArchivedFiles(server),
    edits,
    new LineHeat(server, memory, editors, edits, log),
    registerNavigation(server),
    registerCellHover(server),
    new ServerStatus(server),
    editors,
    registerViewCommands(context.extension, editors),
    registerLineCommands(editors, server),
    registerCompareCommands(editors),
    registerDumpCommand(editors, server),
    registerRecordCommands(editors, server),
    registerRunCommand(editors, server, context.extensionPath, log),
    registerDownloadCommand(downloads),
    registerRedactCommand(editors, server),
    registerExplainCommand(server),
    registerLinks(editors),
    registerOpenCommands(context.extensionUri, editors),
    new FleetEditorProvider(context, server, (uri) => editors.open(uri), log),
    registerFleetCommands(context, log),
    registerTools(context.extension, server, editors),
    new PageOffers(editors),
    registerServerCommands(server, memory, context, log),
  );
  // Start now, because whatever activated the extension needs the server soon; the first request waits for it.
  if (!isPageActive() && !isLogShown()) server.start().catch((error: unknown) => log.error(messageOf(error)));
}

export async function deactivate(): Promise<void> {
  await running?.stop();
}
