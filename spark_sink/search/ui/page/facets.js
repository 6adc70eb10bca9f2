// The list of fields: each opens to its most frequent values in matching lines.

import { button } from "./lines.js";
import { element, setText } from "./elements.js";
import { visible } from "./texts.js";
import { shown } from "./units.js";

const FIELDS = 40;
const VALUES = 12; // of a field

export class Facets {
  /** `counts(field, values, signal)` is a stream; `refine(field, value, isNot)`, `toggleColumn(field)`: actions. */
  constructor(root, { counts, refine, toggleColumn }) {
    this._root = root;
    this._counts = counts;
    this._refine = refine;
    this._toggleColumn = toggleColumn;
    this._facets = new Map(); // by field
    this._more = element("p", { class: "note" });
    root.append(this._more);
  }

  /** Show the first of these fields, in this order, with a button to add a column; remove all others. */
  offer(all, columns) {
    const names = all.slice(0, FIELDS);
    const more = all.length - names.length;
    setText(this._more, more ? `${shown(more, "more fields").text} in opened lines` : "");
    for (const [name, facet] of this._facets) if (!names.includes(name)) this._facets.delete(name) && facet.remove();
    for (const name of names) if (!this._facets.has(name)) this._facets.set(name, this._facet(name));
    const facets = names.map((name) => this._facets.get(name));
    facets.forEach((facet, place) => {
      const before = place ? facets[place - 1] : this._root.firstElementChild;
      if (before.nextElementSibling !== facet) before.after(facet);
      const act = columns.includes(names[place]) ? "remove column" : "add column";
      setText(facet.lastChild, act);
      facet.lastChild.ariaLabel = `${act}: ${visible(names[place])}`;
    });
  }

  /** Count the values of open fields again, for the current query. */
  refresh(signal) {
    this._signal = signal;
    for (const [name, { firstChild }] of this._facets) if (firstChild.open) this._count(name, firstChild, signal);
  }

  _facet(name) {
    const list = element("ul", { "aria-label": `Values of ${visible(name)}` });
    const note = element("p", { class: "note" });
    const facet = element("details", { class: "facet" }, [element("summary", {}, [visible(name)]), list, note]);
    facet.addEventListener("toggle", () => facet.open && this._count(name, facet, this._signal));
    return element("div", { class: "field" }, [facet, button("", () => this._toggleColumn(name))]);
  }

  async _count(name, facet, signal) {
    const [summary, list, note] = facet.children;
    const refine = (value, isNot) => {
      summary.focus(); // the focused button will be replaced
      this._refine(name, value, isNot);
    };
    setText(note, "Counting …");
    try {
      for await (const [kind, counts] of this._counts(name, VALUES, signal)) {
        if (kind !== "counts") continue;
        const about = counts.exact === false ? "about " : "";
        list.replaceChildren(...counts.series.map((value) => valueOf(name, value, about, refine)));
        const { values, rows } = counts.others ?? { rows: 0 };
        const others = rows ? `and ${values ? `${values} other values` : "others"}: ${about}${lines(rows)}` : "";
        const part = counts.read < 1 ? `Counting, ${Math.floor(100 * counts.read)} % …` : "";
        setText(note, part || others || (counts.series.length ? "" : "No matching line has this field."));
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      list.replaceChildren();
      setText(note, error.message);
    }
  }
}

function valueOf(name, { value, rows }, about, refine) {
  const text = value === null ? "(none)" : visible(value);
  return element("li", {}, [
    element("span", { class: "value", title: text }, [text]),
    element("data", { value: rows, title: about + lines(rows) }, [shown(rows, "number").text]),
    element("span", { class: "choices" }, [
      button("only", () => refine(value, false), `only ${name} ${text}`),
      button("not", () => refine(value, true), `not ${name} ${text}`),
    ]),
  ]);
}

function lines(rows) {
  return shown(rows, "lines").exact;
}
