// Checks the legibility of text by WCAG's contrast ratio of computed colours. `poorContrasts` runs in the page.

/** The number of visible texts and icons below selectors, and those under 4.5:1, or 3:1 for large text and icons. */
export function poorContrasts(selectors) {
  const parse = (text) => {
    const [r = 0, g = 0, b = 0, alpha = 1] = (text.match(/-?[\d.]+(?:e-?\d+)?%?/g) ?? []).map((number) =>
      number.endsWith('%') ? Number.parseFloat(number) / 100 : Number(number),
    );
    const unit = text.startsWith('color(') ? 255 : 1;
    return { rgb: [r * unit, g * unit, b * unit], alpha };
  };
  const over = (top, below) => below.map((under, i) => under + (top.rgb[i] - under) * top.alpha);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05);
  };
  /** The colour behind the texts of an element, and its opacity; worked out once for all elements in it. */
  const grounds = new Map([[null, { below: [0, 0, 0], opacity: 1 }]]);
  const groundOf = (element) => {
    if (!grounds.has(element)) {
      const { below, opacity } = groundOf(element.parentElement);
      const style = getComputedStyle(element);
      grounds.set(element, {
        below: over(parse(style.backgroundColor), below),
        opacity: opacity * Number(style.opacity),
      });
    }
    return grounds.get(element);
  };
  const hasText = (element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');

  const poor = [];
  let looked = 0;
  for (const selector of selectors) {
    for (const element of document.querySelectorAll(`${selector}, ${selector} *`)) {
      const icon = element.matches('.icon');
      if (!icon && !hasText(element)) continue;
      if (
        element.closest(':disabled, .sr-only') ||
        !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      )
        continue;
      looked++;
      const style = getComputedStyle(element);
      const { below, opacity } = groundOf(element);
      const ink = parse(style.color);
      ink.alpha *= opacity;
      const size = Number.parseFloat(style.fontSize);
      // signs such as an arrow are graphics
      const sign = icon || !/[\p{L}\p{N}]/u.test(element.textContent);
      const large = sign || size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const found = ratio(over(ink, below), below);
      if (found >= (large ? 3 : 4.5)) continue;
      const what = icon
        ? element.parentElement.getAttribute('aria-label')
        : element.textContent.trim().slice(0, 40);
      const where = `${element.parentElement?.className || ''} > ${element.tagName}.${element.getAttribute('class') ?? ''}`;
      poor.push(`${found.toFixed(2)}:1 "${what}" (${where}, ${style.color} on ${below.map(Math.round)})`);
    }
  }
  return { looked, poor: [...new Set(poor)] };
}
