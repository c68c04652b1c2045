// The list of keys.

import { createRef, Fragment, type VNode } from 'preact';
import { t } from '../base/l10n';
import type { ListedKeys } from './key-table';
import { IconButton } from '../widgets/icon-button';

/** VS Code has the key bindings. */
export const HISTORY: ListedKeys = [
  ['Alt ←  Alt →'],
  t('Go back or forward; also the mouse’s fourth and fifth buttons'),
];

/** A part of the list: its title, and what each key does. */
export type Part = readonly [title: string, rows: readonly ListedKeys[]];

export class Help {
  private readonly root = createRef<HTMLDialogElement>();

  constructor(private readonly parts: readonly Part[]) {}

  readonly View = (): VNode => (
    <dialog
      class="help"
      aria-label={t('Keys')}
      ref={this.root}
      onClick={({ target }) => {
        if (target === this.root.current) this.close();
      }}
    >
      <List parts={this.parts} close={() => this.close()} />
    </dialog>
  );

  get isOpen(): boolean {
    return this.root.current?.open ?? false;
  }

  toggle(): void {
    if (this.isOpen) this.close();
    else this.root.current?.showModal();
  }

  private close(): void {
    this.root.current?.close();
  }
}

function List({ parts, close }: { readonly parts: readonly Part[]; readonly close: () => void }): VNode {
  return (
    <>
      <header>
        <h2>{t('Keys')}</h2>
        <IconButton icon="close" label={t('Close')} press={close} keys="Escape" />
      </header>
      <div class="help-groups">
        {parts.map(([title, rows]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {rows.map(([keys, text], i) => (
                <Fragment key={i}>
                  <dt>
                    {keys.map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{text}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </>
  );
}
