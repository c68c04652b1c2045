// VS Code's own themes, and switching between them.
import { settledIn } from './settled.mjs';
import { until } from './waiting.mjs';

/** By name: the theme's file, which is a class of the workbench, and the class of webviews. */
export const THEMES = {
  light: { name: 'Light Modern', file: 'light_modern', kind: 'vscode-light' },
  dark: { name: 'Dark Modern', file: 'dark_modern', kind: 'vscode-dark' },
  hc: { name: 'Default High Contrast', file: 'hc_black', kind: 'vscode-high-contrast' },
  'hc-light': {
    name: 'Default High Contrast Light',
    file: 'hc_light',
    kind: 'vscode-high-contrast-light',
  },
};

/** Switches the workbench's theme by its settings, and waits until it is applied. */
export async function colourWorkbench(page, theme, configure) {
  const { name, file } = THEMES[theme];
  await configure({ 'workbench.colorTheme': name });
  await page.locator(`.monaco-workbench.vscode-theme-defaults-themes-${file}-json`).waitFor();
}

/** What VS Code gives a view in each theme: variables and classes, read once in a worker. */
const looks = new Map();

/**
 * Does something in each theme with a view. The view alone is drawn in it, by what VS Code gives views then: a change of
 * the workbench's theme takes much longer.
 * @param {(theme: keyof typeof THEMES) => Promise<void>} act
 */
export async function inThemes(vscode, frame, act) {
  if (looks.size === 0) await readLooks(vscode, frame);
  const own = await frame.evaluate(lookOf);
  for (const [theme, look] of looks) {
    await frame.evaluate(wear, look);
    await settledIn(frame);
    await act(theme);
  }
  await frame.evaluate(wear, own);
  await settledIn(frame);
}

/** Switches the workbench through its themes, and reads what a view gets in each. */
async function readLooks(vscode, frame) {
  const { theme: former } = vscode;
  const own = await frame.evaluate(themeOf);
  const read = new Map();
  for (const theme of Object.keys(THEMES)) {
    await vscode.setTheme(theme);
    read.set(theme, await frame.evaluate(lookOf));
  }
  vscode.theme = former;
  await vscode.configure({ 'workbench.colorTheme': former ? THEMES[former].name : null });
  let now;
  await until(
    async () => (now = await frame.evaluate(themeOf)) === own,
    'the view has its own theme again',
  ).catch(({ message }) => {
    throw new Error(`${message} It had ${own}, and has ${now}.`);
  });
  await settledIn(frame);
  for (const [theme, look] of read) looks.set(theme, look);
}

/** In the page: the theme in which VS Code shows the view. */
const themeOf = () => document.body.dataset.vscodeThemeId;

/** In the page: what VS Code has given the view. */
function lookOf() {
  return {
    variables: document.documentElement.style.cssText,
    names: [...document.body.classList].filter((name) => name.startsWith('vscode-')),
    data: { ...document.body.dataset },
  };
}

/** In the page: gives the view another look. */
function wear({ variables, names, data }) {
  document.documentElement.style.cssText = variables;
  const { classList } = document.body;
  classList.remove(...[...classList].filter((name) => name.startsWith('vscode-')));
  classList.add(...names);
  Object.assign(document.body.dataset, data);
}

/** Waits until a webview has the class of a theme. */
export async function hasTheme(frame, theme) {
  await frame.waitForFunction((kind) => {
    const { classList: names } = document.body;
    // Light high contrast has the class of dark high contrast as well.
    return names.contains(kind) && names.contains(`${kind}-light`) === false;
  }, THEMES[theme].kind);
}
