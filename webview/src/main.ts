import { connect } from './api';
import { App } from './app';

const root = document.getElementById('memlens');
if (root) new App(connect(), root).start();

// VS Code's own menu has Cut, Copy and Paste: where text is written or selected, and nowhere else.
document.addEventListener('contextmenu', (event) => {
  const { target } = event;
  const isText = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  if (!isText && (getSelection()?.isCollapsed ?? true)) event.preventDefault();
});
