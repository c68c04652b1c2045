import * as vscode from 'vscode';
import { askWarning, pick } from '../base/window';

/** Whether a heap dump's report quotes what the program held; undefined if the user changed their mind. */
export async function askForContents(form: 'html' | 'markdown'): Promise<boolean | undefined> {
  const items = [
    {
      label: vscode.l10n.t('Without Contents'),
      detail: vscode.l10n.t(
        'Names of types, fields, functions and files, and figures. No text that the program held.',
      ),
      values: false,
    },
    {
      label: vscode.l10n.t('With Contents'),
      detail: vscode.l10n.t(
        'Also quotes the most copied texts. They may be passwords, keys or customers’ data, and whoever gets the report reads them.',
      ),
      values: true,
    },
  ];
  const title = form === 'html' ? vscode.l10n.t('Export Report') : vscode.l10n.t('Copy Report as Markdown');
  return (await pick(items, { title }))?.values;
}

/** Whether rows of a query that reads contents may leave the editor. */
export async function mayTakeContents(how: 'copy' | 'save'): Promise<boolean> {
  const take = how === 'copy' ? vscode.l10n.t('Copy with Contents') : vscode.l10n.t('Save with Contents');
  const chosen = await askWarning(
    vscode.l10n.t('These rows may have what objects contain.'),
    vscode.l10n.t(
      'The query reads texts of strings or values of fields. They may be passwords, keys or customers’ data, and whoever gets the rows reads them. Rows of a query without them are taken without a question.',
    ),
    take,
  );
  return chosen === take;
}
