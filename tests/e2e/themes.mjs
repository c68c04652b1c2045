// VS Code's own themes, and switching between them.
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

/** Waits until a webview has the class of a theme. */
export async function hasTheme(frame, theme) {
  await frame.waitForFunction((kind) => {
    const { classList: names } = document.body;
    // Light high contrast has the class of dark high contrast as well.
    return names.contains(kind) && names.contains(`${kind}-light`) === false;
  }, THEMES[theme].kind);
}
