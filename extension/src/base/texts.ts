// Texts that come from elsewhere, for lists that VS Code shows.

/** VS Code would draw `$(name)` as an icon. */
export function withoutIcons(text: string): string {
  return text.replaceAll('$(', '\\$(');
}
