// A table's rows as one stop for Tab; arrows go on from there.

export function rovingRows(body: HTMLTableSectionElement): void {
  const rows = [...body.querySelectorAll<HTMLTableRowElement>(':scope > tr')];
  const stop = rows.find((row) => row.tabIndex === 0) ?? rows[0];
  for (const row of rows) row.tabIndex = row === stop ? 0 : -1;
  body.onkeydown = (event) => {
    const here = event.target instanceof Element ? event.target.closest('tr') : null;
    if (!here) return;
    const next =
      event.key === 'ArrowDown'
        ? here.nextElementSibling
        : event.key === 'ArrowUp'
          ? here.previousElementSibling
          : event.key === 'Home'
            ? body.firstElementChild
            : event.key === 'End'
              ? body.lastElementChild
              : null;
    if (!(next instanceof HTMLElement)) return;
    event.preventDefault();
    here.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
}
