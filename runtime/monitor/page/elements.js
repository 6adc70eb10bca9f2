// Makes elements. All text goes in as text nodes: what logs and names of files contain is never taken for markup.

const SVG = "http://www.w3.org/2000/svg";

/** Return a new element of HTML; children that are strings become text. */
export function element(tag, attributes = {}, children = []) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same of SVG. */
export function svg(tag, attributes = {}, children = []) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== "") made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** Set the text if it differs: an element that does not change keeps a selection, and is not announced again. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Set the attribute if it differs, and remove it where the value is null. */
export function setAttribute(target, name, value) {
  if (value === null) target.removeAttribute(name);
  else if (target.getAttribute(name) !== value) target.setAttribute(name, value);
}
