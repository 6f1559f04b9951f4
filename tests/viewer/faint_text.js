// Text whose contrast with its ground is under 4.5 (WCAG 2.2, success criterion 1.4.3): the first few.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  function rgba(color) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  }

  function luminance(color) {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function ground(element) {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255];
  }

  function contrast(element) {
    const [a, b] = [rgba(getComputedStyle(element).color), ground(element)].map(luminance);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  function hasText(element) {
    return [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  }

  return [...document.querySelectorAll("main *, header *, footer *")]
    .filter((element) => hasText(element) && !element.closest("svg, .unseen, option"))
    .filter((element) => element.checkVisibility() && contrast(element) < 4.5)
    .map((element) => `${element.tagName}.${element.className}: ${contrast(element).toFixed(2)}`)
    .slice(0, 5);
}
