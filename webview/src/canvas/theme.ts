// Colours for what is drawn on canvases, read from VS Code's theme variables; `styles.css` uses the same directly.

import { computed, signal, type ReadonlySignal } from '@preact/signals';
import type { Palette, PictureStyle } from './palette';
import {
  categoryPalette,
  inkOn,
  luminance,
  mix,
  noStackColour,
  parseColour,
  stackPalette,
  type Rgb,
  type ThemeKind,
} from './colour';

export interface Theme {
  readonly kind: ThemeKind;
  readonly contrast: boolean;
  readonly background: Rgb;
  readonly foreground: Rgb;
  readonly muted: Rgb;
  readonly grid: Rgb;
  readonly focus: Rgb;
  readonly accent: Rgb;
  readonly warning: Rgb;
  readonly picture: PictureStyle;
  readonly font: string;
  readonly stacks: readonly Rgb[];
}

const followed = signal<Theme | null>(null);

/** VS Code's theme as it is now: what is drawn with it is drawn again when it is another. */
export const theme: ReadonlySignal<Theme> = computed(() => followed.value ?? readTheme());

function readTheme(): Theme {
  const style = getComputedStyle(document.body);
  const names = document.body.classList;
  const background = variable(style, '--vscode-editor-background') ?? [30, 30, 30];
  const light = luminance(background) > 0.3;
  const contrast = names.contains('vscode-high-contrast') || names.contains('vscode-high-contrast-light');
  const kind: ThemeKind = contrast ? (light ? 'contrast-light' : 'contrast-dark') : light ? 'light' : 'dark';
  const foreground = variable(style, '--vscode-editor-foreground', background) ?? inkOn(background);
  const muted = contrast
    ? foreground
    : (variable(style, '--vscode-descriptionForeground', background) ?? mix(foreground, background, 0.3));
  const focus = variable(style, '--vscode-focusBorder', background) ?? [0, 120, 212];
  const separator: Rgb = contrast ? background : light ? [255, 255, 255] : [0, 0, 0];
  return {
    kind,
    contrast,
    background,
    foreground,
    muted,
    grid: foreground,
    focus,
    accent: variable(style, '--vscode-textLink-foreground', background) ?? focus,
    warning: variable(style, '--vscode-editorWarning-foreground', background) ?? [204, 167, 0],
    picture: {
      background,
      merged: mix(background, foreground, contrast ? 0.3 : 0.22),
      mergedInk: mix(background, foreground, contrast ? 0.6 : 0.32),
      separator,
      separatorShare: contrast ? 1 : light ? 0.5 : 0.38,
    },
    font: style.getPropertyValue('--vscode-font-family').trim() || 'system-ui, sans-serif',
    stacks: stackPalette(kind),
  };
}

export function paletteOf(theme: Theme, by: 'stack' | 'category', categories: readonly string[]): Palette {
  return {
    by,
    stacks: theme.stacks,
    categories: categoryPalette(categories, theme.kind),
    categoryNames: categories,
    noStack: noStackColour(theme.kind),
    none: mix(theme.background, theme.foreground, 0.4),
    background: theme.background,
    patterns: theme.contrast,
  };
}

/** Follows the theme from here on: VS Code changes it by classes and style of the document. */
export function followTheme(): void {
  const observer = new MutationObserver(() => {
    followed.value = readTheme();
  });
  observer.observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-id'] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
}

function variable(style: CSSStyleDeclaration, name: string, under: Rgb = [0, 0, 0]): Rgb | null {
  return parseColour(style.getPropertyValue(name), under);
}
