import { connect } from './api';
import { App } from './app';
import { followTheme } from './canvas/theme';
import { isWritten } from './shell/keyboard';
import { openTableMenu } from './widgets/table-menu';

const root = document.getElementById('memlens');
const api = connect();
followTheme();
if (root) new App(api, root).start();

// VS Code's own menu has Cut, Copy and Paste: where text is written or selected, and nowhere else.
document.addEventListener('contextmenu', (event) => {
  if (event.defaultPrevented || isWritten(event.target) || !(getSelection()?.isCollapsed ?? true)) return;
  event.preventDefault();
  openTableMenu(api, event);
});
