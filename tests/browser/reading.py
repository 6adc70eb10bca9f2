"""JavaScript that reads the page, and the comparison of what it reads with the document."""

import re
from typing import Any

FIGURES = """
Object.fromEntries([...document.querySelectorAll('#figures > div')].map(figure => [
  figure.querySelector('dt').textContent,
  [...figure.querySelectorAll('data')].map(data => data.getAttribute('value'))]))
"""
ROWS = """
[...document.querySelectorAll('#tables section')].map(section => ({
  title: section.querySelector('h2').textContent,
  columns: [...section.querySelectorAll('thead th')].map(head => head.textContent),
  rows: [...section.querySelectorAll('tbody tr')].map(row => [...row.cells].map(({firstChild: cell}) =>
    cell.getAttribute('value') ?? cell.getAttribute('datetime') ?? cell.textContent))}))
"""
FOCUSED = """
(({tagName, className, textContent, parentElement}) => tagName === 'DIV'
  ? className + ' of ' + parentElement.querySelector('h2').textContent : textContent.trim())(document.activeElement)
"""
# The contrast of each text with what is behind it, as WCAG 2 computes it; the lowest first.
CONTRASTS = r"""
(() => {
  const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map(value => value / 255)
      .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = rgb(getComputedStyle(one).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255];
  };
  return [...document.body.querySelectorAll('*')]
    .filter(one => one.checkVisibility() && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
    .map(one => {
      const style = getComputedStyle(one);
      const color = one.ownerSVGElement ? style.fill : style.color;
      const [light, dark] = [luminance(rgb(color)), luminance(behind(one))].sort((a, b) => b - a);
      const name = one.className.baseVal ?? one.className;
      return [(light + 0.05) / (dark + 0.05), `${one.tagName}.${name}: ${one.textContent}`];
    }).sort(([a], [b]) => a - b);
})()
"""


def number(text: str) -> float:
    return float(text)


def equal(cell: str, value: Any, kind: str) -> bool:
    if kind == "text":
        return str(value) == cell
    if kind == "time":
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", cell))
    return number(cell) == float(value)
