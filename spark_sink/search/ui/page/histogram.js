// The number of lines over time as stacked bars. A range is selected by dragging, or by Shift, arrow keys and Enter.

import { Chart, Plot } from "./chart.js";
import { clock, day, shown } from "./units.js";
import { element, setAttribute, svg } from "./elements.js";
import { isLevel, rankOf, visible } from "./texts.js";

const HEIGHT = 104;
const KEYS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
const NAME = "Lines over time: arrow keys move between bars, Shift selects several, Enter searches the selected range";

export class Histogram extends Chart {
  /** `split`: selects the field of the series. `choose` is called with the bounds of the selected range, in seconds. */
  constructor(split, choose) {
    super("counts", { heads: ["Series", "Lines", "Largest bar"], height: HEIGHT });
    this._heading.after(element("label", {}, ["Split by: ", split]));
    this.root.querySelector("summary").textContent = "Totals";
    this._choose = choose;
    this._anchor = null; // the bar at the other end of the range
    const picture = this._picture;
    picture.removeAttribute("aria-labelledby");
    for (const [name, value] of Object.entries({ role: "slider", "aria-label": NAME, tabindex: "0" }))
      picture.setAttribute(name, value);
    picture.addEventListener("pointerdown", (event) => this._press(event));
    picture.addEventListener("pointerup", () => this._anchor !== null && this._take());
    picture.addEventListener("keydown", (event) => this._key(event));
    for (const end of ["blur", "pointercancel"]) picture.addEventListener(end, () => this._rest());
  }

  /** `counts`: those of the server; `by`: the field of its series. Each level has a fixed colour and place in a bar. */
  show({ start, span, series, others }, by, title) {
    const drawn = series.map(({ value, rows, bars }, index) => {
      const label = by ? visible(value ?? `no ${by}`) : "all";
      return { label, rows, values: bars, tone: isLevel(by) ? `level-${rankOf(value ?? "")}` : index };
    });
    if (isLevel(by)) drawn.sort((one, other) => (one.tone + one.label < other.tone + other.label ? -1 : 1));
    if (others?.rows) {
      const label = `${others.values ?? ""} others`.trim();
      drawn.push({ label, rows: others.rows, values: others.bars, tone: "others" });
    }
    const count = drawn[0]?.values.length ?? 0;
    this.update({ title, unit: "", start, step_seconds: span, until: start + count * span, series: drawn });
  }

  _plot(width) {
    const plot = new Bars(this._chart, width, this._height);
    const index = this._pointed === null ? null : plot.indexAt(this._pointed * width);
    if (index !== null) plot.range = [Math.min(index, this._anchor ?? index), Math.max(index, this._anchor ?? index)];
    return plot;
  }

  _values({ rows, values }) {
    return [rows, Math.max(0, ...values)].map((value) => shown(value, "number").text);
  }

  _figure({ rows }) {
    return rows;
  }

  _described() {
    return this._chart.series.map(({ label, rows }) => `${label}: ${shown(rows, "lines").exact}`).join(", ");
  }

  /** The legend, and the same for a screen reader. */
  _label(plot, pointed) {
    super._label(plot, pointed);
    this._legend.hidden = pointed === null && this._chart.series.length < 2;
    const [index, most] = [pointed ?? plot.last, plot.last];
    const text = index < 0 ? "no lines" : `${plot.timeText(index)}: ${shown(plot.sums[index], "lines").exact}`;
    for (const [name, value] of Object.entries({ min: 0, max: most, now: index, text }))
      setAttribute(this._picture, `aria-value${name}`, String(value));
  }

  _press(event) {
    if (event.button !== 0 || !this._chart.series.length) return;
    this._picture.setPointerCapture(event.pointerId);
    this._point(event);
    [this._anchor] = this._plot(this._picture.clientWidth).range;
  }

  _key(event) {
    const width = this._picture.clientWidth;
    const plot = this._plot(width);
    if (event.key === "Escape") this._rest();
    else if (event.key === "Enter" && plot.range) this._take();
    else if (event.key in KEYS && plot.last >= 0) {
      const from = plot.range ? plot.indexAt(this._pointed * width) : plot.last;
      const index = Math.min(Math.max(from + KEYS[event.key], 0), plot.last);
      this._anchor = event.shiftKey ? (this._anchor ?? from) : null;
      this._pointed = plot.middleOf(index) / width;
      this._draw();
    } else return;
    event.preventDefault();
  }

  _take() {
    const { start, step_seconds: span } = this._chart;
    const [from, to] = this._plot(this._picture.clientWidth).range;
    this._rest();
    this._choose(start + from * span, start + (to + 1) * span);
  }

  _rest() {
    this._anchor = this._pointed = null;
    this._draw();
  }
}

class Bars extends Plot {
  constructor(chart, width, height) {
    super(chart, width, height);
    this._span = this._count * chart.step_seconds || 1;
    this._step = Math.ceil(this._step); // whole lines
    this._top = this._step * Math.max(1, Math.ceil(this._highest() / this._step));
    this.last = this._count - 1;
    this.range = null; // the first and the last selected bar
  }

  get sums() {
    const { series } = this._chart;
    return (series[0]?.values ?? []).map((_, index) => series.reduce((sum, { values }) => sum + values[index], 0));
  }

  _highest() {
    return Math.max(0, ...this.sums);
  }

  timeOf(index) {
    return this._chart.start + index * this._chart.step_seconds;
  }

  timeText(index) {
    const span = this._chart.step_seconds;
    const [from, to] = this.range ?? [index, index];
    const text = (time) => `${this._span > 43200 ? `${day(time)} ` : ""}${clock(time, span < 60)}`;
    return `${text(this.timeOf(from))} to ${text(this.timeOf(to + 1))}`;
  }

  middleOf(index) {
    return this._xOf(this.timeOf(index + 0.5));
  }

  _nearest(steps) {
    return Math.floor(steps);
  }

  *marks() {
    const heights = Array(this._count).fill(0);
    for (const { values, tone } of this._chart.series) {
      const bars = values.map((value, place) => this._bar(place, heights[place], (heights[place] += value)));
      yield svg("path", { class: `fill series-${tone}`, d: bars.join("") });
    }
  }

  *pointer() {
    if (!this.range) return;
    const [left, right] = [this._xOf(this.timeOf(this.range[0])), this._xOf(this.timeOf(this.range[1] + 1))];
    yield svg("rect", { class: "chosen", x: left, width: right - left, y: 0, height: this._base });
  }

  _bar(place, from, to) {
    if (from === to) return "";
    const [left, right] = [this._xOf(this.timeOf(place)), this._xOf(this.timeOf(place + 1))];
    const gap = right - left > 4 ? 1 : 0;
    return `M${left} ${this._y(from)}H${right - gap}V${Math.min(this._y(to), this._y(from) - 1)}H${left}Z`;
  }
}
