// The list of lines, newest first, and the open line with its fields and context.

import { element, setText } from "./elements.js";
import { fieldsOf, isLevel, isSearchable, isTime, keyOf, levelIn, stateOf, textOf } from "./texts.js";
import { ZONE, marked, pasted, timeOf, visible } from "./texts.js";
import { shown } from "./units.js";

const [CUT, CUT_LINES] = [2000, 8]; // maximum characters and lines of a value in the list
const MAX_WIDTH = 24; // characters of a column
const CONTEXT = 20;
const MAX_CONTEXT = 320;
const KAFKA = new Set(["topic", "partition", "kafka_offset", "kafka_ts"]);
const IN_FILE = "Lines before and after in this file";
const KEPT = "\n\t"; // not escaped

export class Lines {
  /** `actions`: refine(field, value, isNot), toggleColumn(name), opened(key, ts), announce(sentence),
   * context(row, lines), moment(ts). */
  constructor(root, actions) {
    this._root = root;
    this._actions = actions;
    this._head = element("div", { role: "row", class: "head" });
    this._style = new CSSStyleSheet(); // the page's security policy forbids style attributes
    document.adoptedStyleSheets.push(this._style);
    this._known = new Map(); // key to element
    this._rows = new Map(); // element to row
    this._pending = [];
    root.addEventListener("click", (event) => this._click(event));
    addEventListener("resize", () => this._offerScrolling());
  }

  get size() {
    return this._rows.size;
  }

  /** True while new lines on top would move the lines that the user reads, or belong to another list. */
  get isElsewhere() {
    return Boolean(this._open) || this.isOld || this._root.getBoundingClientRect().top < 0;
  }

  /** Begin a list. The old one stays visible until the first row of the new one; with `isMore`, it is extended.
   * `columns` returns the names of the columns, once the first rows are known. */
  begin({ columns, hasTime, words, open, isMore }) {
    this._pending = [];
    this._listed = new Set(); // keys
    this.overlaps = false; // with the list before
    this._place = this._head.nextSibling;
    this.isOld ||= !isMore || this._known.size < this._rows.size;
    Object.assign(this, { _choose: columns, _hasTime: hasTime, _words: words, _toOpen: open });
    this._root.classList.toggle("old", this.isOld);
  }

  /** Show the current columns. */
  setColumns() {
    if (String(this._columns) === String(this._choose())) return;
    const shown = [...this._root.children].slice(1).map((line) => this._rows.get(line));
    const rows = [...shown, ...this._pending];
    const open = this._open && keyOf(this._rows.get(this._open));
    this.begin({ columns: this._choose, hasTime: this._hasTime, words: this._words, open });
    this._pending = rows;
    this.flush();
  }

  add(row) {
    this._pending.push(row);
    this._frame ??= requestAnimationFrame(() => this.flush());
  }

  /** Show the pending rows; at the end of a search, also without any. */
  flush() {
    cancelAnimationFrame(this._frame);
    this._frame = null;
    if (this.isOld) this._clear();
    for (const row of this._pending.splice(0)) {
      const key = keyOf(row);
      const known = this._listed.has(key) ? null : this._known.get(key); // the table may have it twice
      if (key) this._listed.add(key);
      this.overlaps ||= Boolean(known);
      if (known) this._place = known.nextSibling;
      else this._root.insertBefore(this._line(row), this._place);
    }
    this._setWidths();
  }

  /** Add rows on top, the newest last; remove the oldest lines beyond `limit`. */
  addNewest(rows, limit) {
    for (const row of rows) {
      if (this._known.has(keyOf(row))) continue;
      this._root.insertBefore(this._line(row), this._head.nextSibling).classList.add("new");
      if (this.size > limit) this._remove(this._root.lastElementChild);
    }
    this._setWidths();
  }

  _remove(line) {
    this._known.delete(keyOf(this._rows.get(line)));
    this._rows.delete(line);
    line.remove();
    if (line === this._current) this._setCurrent(this._head.nextSibling);
  }

  _clear() {
    this.isOld = false;
    this._columns = this._choose();
    this._known.clear();
    this._rows.clear();
    this._open = this._place = this._current = null;
    this._widths = this._names().map((name) => Math.min(name.length + 3, MAX_WIDTH));
    this._head.replaceChildren(...this._names().map((name) => this._headOf(name)));
    this._root.replaceChildren(this._head);
    this._root.classList.remove("old");
  }

  _names() {
    return this._hasTime ? ["Time", ...this._columns] : this._columns;
  }

  _headOf(name) {
    const isFixed = name === "Time" || this._columns.length === 1;
    const remove = () => this._actions.toggleColumn(name);
    const children = isFixed ? [] : [button("×", remove, `Remove the column ${name}`)];
    const text = name === "Time" ? `Time (${ZONE})` : visible(name);
    return element("span", { role: "columnheader" }, [text, ...children]);
  }

  _line(row) {
    const fields = fieldsOf(row);
    const toggle = element("button", { type: "button", tabindex: this._current ? "-1" : "0", "aria-expanded": "false" });
    const cells = this._columns.map((name, index) => this._cell(name, fields.get(name), index + Number(this._hasTime)));
    if (this._hasTime) {
      const time = timeOf(row.ts);
      this._widths[0] = Math.max(this._widths[0], time.length);
      toggle.append(element("time", { datetime: row.ts ?? "", title: row.ts ?? "" }, [time]));
      cells.unshift(element("span", { role: "cell", class: "time" }, [toggle]));
    } else {
      toggle.append(...cells[0].childNodes);
      cells[0].append(toggle);
    }
    const state = stateOf(levelOf(row, fields)) ?? "";
    const line = element("div", { role: "row", class: "entry", "data-state": state }, cells);
    this._current ??= line;
    this._rows.set(line, row);
    const key = keyOf(row);
    if (key) this._known.set(key, line);
    if (key && key === this._toOpen) queueMicrotask(() => this.open(line));
    return line;
  }

  _cell(name, value, index) {
    const text = isTime(value) ? timeOf(value) : textOf(value);
    const kept = text.split("\n", CUT_LINES).join("\n").slice(0, CUT);
    const kind = name === "message" ? "message" : isLevel(name) ? "level" : "value";
    const nodes = marked(kept, kind === "message" ? this._words : null, KEPT);
    const lines = text.split("\n").length - kept.split("\n").length;
    const rest = lines ? shown(lines, "more lines") : shown(text.length - kept.length, "more characters");
    if (kept !== text) nodes.push(element("i", {}, [` … ${rest.exact}: open`]));
    if (kind !== "message") this._widths[index] = Math.min(Math.max(this._widths[index], text.length), MAX_WIDTH);
    const title = kind === "value" && text.length > MAX_WIDTH ? visible(text.slice(0, CUT)) : "";
    return element("span", { role: "cell", class: kind, title }, nodes);
  }

  /** Set the columns to the width of their values; the message, or else the last column, takes the rest. */
  _setWidths() {
    const names = this._names();
    const wide = names.includes("message") ? names.indexOf("message") : names.length - 1;
    const sizes = this._widths.map((width, index) => (index === wide ? "minmax(24ch, 1fr)" : `${width + 0.5}ch`));
    const least = this._widths.reduce((sum, width, index) => sum + (index === wide ? 24 : width + 2.5), 3);
    const rules = `@media (min-width: 45rem) {
      #lines > * { grid-template-columns: ${sizes.join(" ")}; min-width: ${least}ch; }
    }`;
    if (rules === this._rules) return;
    this._style.replaceSync((this._rules = rules));
    this._offerScrolling();
  }

  /** Keep the head visible, unless the lines scroll sideways. */
  _offerScrolling() {
    this._root.classList.toggle("fits", this._root.scrollWidth <= this._root.clientWidth);
  }

  _click(event) {
    const line = event.target.closest(".entry");
    if (!line || event.target.closest(".panel") || (getSelection().toString() && !event.target.closest("button"))) return;
    this.toggle(line);
  }

  toggle(line) {
    const isOpen = line === this._open;
    this.close();
    if (!isOpen) this.open(line);
  }

  open(line) {
    this._open = line;
    this._focus(line);
    toggleOf(line).setAttribute("aria-expanded", "true");
    line.append(this._panel(this._rows.get(line)));
    this._actions.opened(keyOf(this._rows.get(line)), this._rows.get(line).ts);
  }

  close() {
    if (!this._open) return;
    this._open.querySelector(".panel").remove();
    toggleOf(this._open).setAttribute("aria-expanded", "false");
    this._focus(this._open);
    this._open = null;
    this._actions.opened(null);
  }

  /** Go to the next line, or with -1 to the previous one. */
  move(step) {
    const isInside = document.activeElement.closest(".entry");
    const line = !isInside ? this._current : step > 0 ? this._current.nextSibling : this._current.previousSibling;
    if (line && line !== this._head) this._focus(line);
  }

  /** Make one line reachable with the Tab key, instead of thousands. */
  _setCurrent(line) {
    toggleOf(this._current).setAttribute("tabindex", "-1");
    this._current = line;
    toggleOf(line).setAttribute("tabindex", "0");
  }

  _focus(line) {
    this._setCurrent(line);
    toggleOf(line).focus({ preventScroll: true });
    line.scrollIntoView({ block: "nearest" });
  }

  _panel(row) {
    const around = element("div", { class: "context" });
    const json = () => visible(JSON.stringify(row));
    const buttons = [
      button("Copy as text", () => this._copy(pasted(row), "text")),
      button("Copy as JSON", () => this._copy(json(), "JSON")),
      ...(row.file_id ? [button(IN_FILE, (event) => this._context(row, around, event.target))] : []),
      ...(row.ts ? [button("All hosts, 10 s around", () => this._actions.moment(row.ts))] : []),
      button("Close", () => this.close()),
    ];
    const sorted = [...fieldsOf(row)].sort(([one], [other]) => KAFKA.has(one) - KAFKA.has(other)); // Kafka's fields last
    const fields = sorted.flatMap(([name, value]) =>
      name === "message" ? [] : Array.isArray(row[name]) ? row[name].map((one) => [name, one]) : [[name, value]],
    );
    return element("div", { role: "cell", class: "panel" }, [
      element("div", { class: "actions" }, buttons),
      ...(textOf(row.message) ? [element("pre", { tabindex: "0" }, marked(textOf(row.message), this._words, KEPT))] : []),
      around,
      element("table", { class: "fields", "aria-label": "Fields" }, [
        element("tbody", {}, fields.map(([name, value]) => this._field(name, value))),
      ]),
    ]);
  }

  _field(name, value) {
    const isMoment = isTime(value);
    const text = isMoment ? `${timeOf(value)} (${ZONE})` : visible(textOf(value));
    const { refine, toggleColumn } = this._actions;
    const column = this._columns.includes(name) ? "remove column" : "add column";
    return element("tr", {}, [
      element("th", { scope: "row" }, [visible(name)]),
      element("td", { class: "value", title: isMoment ? value : "" }, [value === null ? "–" : text]),
      element("td", { class: "choices" }, [
        ...(isSearchable(name, value) ? [false, true] : []).map((isNot) => {
          const label = isNot ? "not these" : "only these";
          return button(label, () => refine(name, value, isNot), `${label}: ${name} ${text.slice(0, 80)}`);
        }),
        button(column, () => toggleColumn(name), `${column}: ${name}`),
      ]),
    ]);
  }

  async _copy(text, kind) {
    let isCopied = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch { // without TLS, except on localhost, there is no clipboard API
      const [focused, area] = [document.activeElement, element("textarea", {}, [text])];
      document.body.append(area);
      area.select();
      isCopied = document.execCommand("copy");
      area.remove();
      focused.focus();
    }
    this._actions.announce(isCopied ? `Copied as ${kind}.` : "Cannot copy: the browser denies access.");
  }

  async _context(row, around, asked, count = CONTEXT) {
    asked.disabled = true;
    const note = element("p", { class: "note" }, [`Searching ${count} lines before and after …`]);
    around.append(note);
    try {
      const { before, after } = await this._actions.context(row, count);
      const next = button(`Show ${2 * count} on each side`, () => this._context(row, around, next, 2 * count));
      const isCut = before.length === count || after.length === count;
      const rows = [...before, row, ...after];
      const limit = isCut && count === MAX_CONTEXT ? ", the maximum of the page" : "";
      setText(note, shown(rows.length, "lines").exact + limit);
      const head = element("div", { class: "actions" }, [element("h2", {}, [IN_FILE]), note]);
      if (isCut && count < MAX_CONTEXT) head.append(next);
      around.replaceChildren(head, contextTable(rows, row));
      (next.isConnected ? next : asked).focus();
      around.querySelector("[aria-current]").scrollIntoView({ block: "center" });
    } catch (error) {
      setText(note, `Cannot find the lines before and after: ${error.message}`);
    }
    asked.disabled = false;
  }
}

/** Return the lines around a row as a table, with a file column if they are in several files. */
function contextTable(rows, row) {
  const isRotated = rows.some((other) => other.file_id !== row.file_id || other.path !== row.path);
  const hasLevel = rows.some((other) => levelOf(other));
  const cell = (name, text) => element("td", { class: name }, [visible(text, KEPT)]);
  const lines = rows.map((other) => {
    const file = textOf(other.path) + (other.file_id === row.file_id ? "" : " (rotated)");
    const state = stateOf(levelOf(other)) ?? "";
    return element("tr", { "data-state": state, "aria-current": other === row ? "true" : "" }, [
      cell("time", timeOf(other.ts)),
      ...(hasLevel ? [cell("level", levelOf(other))] : []),
      ...(isRotated ? [cell("file", file)] : []),
      cell("message", textOf(other.message)),
    ]);
  });
  return element("table", { "aria-label": IN_FILE }, [element("tbody", {}, lines)]);
}

function levelOf(row, fields = fieldsOf(row)) {
  return textOf(fields.get("log.level") ?? fields.get("level") ?? levelIn(textOf(row.message)));
}

function toggleOf(line) {
  return line.querySelector("button");
}

/** Return a button; `name` replaces its text for screen readers. */
export function button(text, act, name = "") {
  const made = element("button", { type: "button", class: "quiet", "aria-label": visible(name) }, [text]);
  made.addEventListener("click", act);
  return made;
}
