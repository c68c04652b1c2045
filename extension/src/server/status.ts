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
      starting: 'Memlens: starting',
      running: `Memlens: ${this.#open} ${this.#open === 1 ? 'snapshot' : 'snapshots'} open`,
      failed: 'Memlens: not running',
      stopped: 'Memlens: stopped',
    }[health];
    item.command =
      health === 'failed' || health === 'stopped'
        ? { command: 'memlens.restartServer', title: 'Restart' }
        : { command: 'memlens.showLog', title: 'Show Log' };
  }
}
