// Draws one table of the status document. Rows and cells are kept and filled again, so that a selection, the focus and
// the place of a scroller survive.

import { shown } from "./units.js";
import { element, setAttribute, setText } from "./elements.js";

const WIDE = 5; // columns: a table with more takes the whole width
const LONG = new Set(["path", "message", "reason", "example", "table"]);
const PROSE = new Set(["what"]);
const LEVELS = { warn: "degraded", warning: "degraded", error: "failing", critical: "failing" };
const STATES = { failed: "failing", down: "failing", waiting: "degraded", running: "ok", up: "ok" };

/** Let narrow tables that follow each other share a line; one without a neighbour takes all of it. */
export function arrange(tables) {
  for (let index = 0; index < tables.length; index += 1) {
    const isPair = !tables[index].isWide && index + 1 < tables.length && !tables[index + 1].isWide;
    tables[index].root.classList.toggle("wide", !isPair);
    if (isPair) tables[(index += 1)].root.classList.remove("wide");
  }
}

export class Table {
  constructor(id) {
    this._heading = element("h2", { id: `table-${id}` });
    this._number = element("span", { class: "note" });
    this._hint = element("span", { class: "note hint" });
    this._empty = element("p", { class: "empty" });
    this._head = element("tr");
    this._body = element("tbody");
    this._table = element("table", { "aria-labelledby": this._heading.id }, [
      element("thead", {}, [this._head]),
      this._body,
    ]);
    this._scroller = element("div", { class: "scroller" }, [this._table]);
    this.root = element("section", { "aria-labelledby": this._heading.id }, [
      element("div", { class: "table-head" }, [this._heading, this._number, this._hint]),
      this._scroller,
      this._empty,
    ]);
    this._columns = "";
    new ResizeObserver(() => this._offerScrolling()).observe(this._scroller);
  }

  update(table) {
    setText(this._heading, table.title);
    setText(this._number, table.rows.length > 1 ? String(table.rows.length) : "");
    setText(this._empty, table.rows.length ? "" : table.empty);
    this._scroller.hidden = !table.rows.length;
    this._empty.hidden = Boolean(table.rows.length);
    this.isWide = table.rows.length > 0 && table.columns.length > WIDE;
    this._setColumns(table.columns);
    while (this._body.rows.length > table.rows.length) this._body.lastChild.remove();
    for (const [index, row] of table.rows.entries()) this._setRow(index, row, table.columns);
    this._offerScrolling();
  }

  _setColumns(columns) {
    const columnsNow = JSON.stringify(columns);
    if (columnsNow === this._columns) return;
    this._columns = columnsNow;
    const heads = columns.map(({ label, kind, id }) => element("th", { scope: "col", class: classOf(kind, id) }, [label]));
    this._head.replaceChildren(...heads);
    this._body.replaceChildren();
  }

  _setRow(index, row, columns) {
    if (index === this._body.rows.length) {
      const cells = columns.map(({ kind, id }, place) => cell(place === 0 && kind === "text", classOf(kind, id), kind));
      this._body.append(element("tr", {}, cells));
    }
    const cells = this._body.rows[index].cells;
    for (const [place, { kind, id }] of columns.entries()) fill(cells[place].firstChild, row[place], kind, id);
  }

  /** A scroller is a stop of the keyboard only while there is something to scroll, and says so then. */
  _offerScrolling() {
    const isWide = this._scroller.scrollWidth > this._scroller.clientWidth;
    setText(this._hint, isWide ? "scroll sideways →" : "");
    setAttribute(this._scroller, "tabindex", isWide ? "0" : null);
    setAttribute(this._scroller, "role", isWide ? "region" : null);
    setAttribute(this._scroller, "aria-labelledby", isWide ? this._heading.id : null);
  }
}

function classOf(kind, id) {
  if (kind === "text") return LONG.has(id) ? "long" : PROSE.has(id) ? "prose" : "";
  return kind === "time" ? "moment" : "number";
}

function cell(isHead, className, kind) {
  const inner = kind === "text" ? "span" : kind === "time" ? "time" : "data";
  return element(isHead ? "th" : "td", { class: className, scope: isHead ? "row" : "" }, [element(inner)]);
}

function fill(target, value, kind, id) {
  const { text, exact } = shown(value, kind);
  setText(target, text);
  if (kind === "text") {
    const states = id === "level" ? LEVELS : id === "state" ? STATES : {};
    setAttribute(target, "data-state", states[text.toLowerCase()] ?? null);
    return;
  }
  setAttribute(target, "title", exact);
  if (kind === "time") setAttribute(target, "datetime", exact === "unknown" ? null : exact);
  else setAttribute(target, "value", value === null ? null : String(value));
}
