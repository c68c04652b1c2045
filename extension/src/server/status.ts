import * as vscode from 'vscode';
import { Disposable } from '../base/disposable';
import type { Server } from './client';

/** The language status item that shows the state of the server. */
export class ServerStatus extends Disposable {
  readonly #item = this.own(vscode.languages.createLanguageStatusItem('memlens.server', { scheme: 'file' }));
  #open = 0;

  constructor(private readonly server: Server) {
    super();
    this.#item.name = 'Memlens';
    this.own(
      server.onDidChangeHealth(() => {
        this.#show();
      }),
    );
    this.own(
      server.onDidChangeOpen((open) => {
        this.#open = open;
        this.#show();
      }),
    );
    this.#show();
  }

  #show(): void {
    const item = this.#item;
    const health = this.server.health;
    item.busy = health === 'starting';
    item.severity =
      health === 'failed' ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    item.text = {
      starting: vscode.l10n.t('Memlens: starting'),
      running:
        this.#open === 1
          ? vscode.l10n.t('Memlens: 1 snapshot open')
          : vscode.l10n.t('Memlens: {0} snapshots open', this.#open),
      failed: vscode.l10n.t('Memlens: not running'),
      stopped: vscode.l10n.t('Memlens: stopped'),
    }[health];
    item.command =
      health === 'failed' || health === 'stopped'
        ? { command: 'memlens.restartServer', title: vscode.l10n.t('Restart') }
        : { command: 'memlens.showLog', title: vscode.l10n.t('Show Log') };
  }
}
