// Draws a chart as inline SVG, with what it shows as a text and as a table: lines, and what is derived from it (bars).

import { clock, day, measured, tick } from "./units.js";
import { element, svg, setText } from "./elements.js";

const HEIGHT = 140;
const BELOW = 18; // for the times
const ABOVE = 16; // for the uppermost value
const LEFT = 52; // for the values of the axis
const ROOM = 26; // on each side of the middle of a time
const USUAL = 0.8; // the share of the values that an earlier burst must not flatten
const FLATTENED = 10; // times as high as these is a burst: the usual values would have less than a tenth of the height
const RECENT = 15; // the last values, which are always shown in full
const LEAST_SPAN = 60; // seconds
const DAY = 86400;
const TIME_STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200];
const DAYS = [1, 2, 7, 14, 30, 91, 182, 365, 1826, 3652];
const HEADS = ["Series", "Latest", "Lowest", "Mean", "Highest"];

export class Chart {
  constructor(id, { heads = HEADS, height = HEIGHT } = {}) {
    this._height = height;
    this._title = svg("title", { id: `chart-${id}-title` });
    this._text = svg("desc", { id: `chart-${id}-text` });
    this._drawing = svg("g", {});
    this._picture = svg(
      "svg",
      { role: "img", "aria-labelledby": this._title.id, "aria-describedby": this._text.id, height },
      [this._title, this._text, this._drawing],
    );
    this._heading = element("h2", { id: `chart-${id}` });
    this._legend = element("ul", { class: "legend" });
    this._moment = element("li", { class: "moment" });
    this._rows = element("tbody");
    this._head = element("tr", {}, heads.map(columnHead));
    this.root = element("section", { class: "chart", "aria-labelledby": this._heading.id }, [
      element("div", { class: "chart-head" }, [this._heading, this._legend]),
      this._picture,
      element("details", {}, [
        element("summary", {}, ["As a table"]),
        element("div", { class: "scroller" }, [
          element("table", { "aria-labelledby": this._heading.id }, [element("thead", {}, [this._head]), this._rows]),
        ]),
      ]),
    ]);
    this._pointed = null; // where the pointer is, as a share of the width
    this._picture.addEventListener("pointermove", (event) => this._point(event));
    this._picture.addEventListener("pointerleave", () => this._point(null));
    new ResizeObserver(() => this._draw()).observe(this._picture);
  }

  update(chart) {
    this._chart = chart;
    setText(this._heading, chart.title);
    setText(this._title, chart.title);
    setText(this._text, this._described());
    this._list();
    this._draw();
  }

  _point(event) {
    const box = this._picture.getBoundingClientRect();
    this._pointed = event && box.width ? (event.clientX - box.left) / box.width : null;
    this._draw();
  }

  _list() {
    const rows = this._chart.series.map((series, index) =>
      element("tr", {}, [
        element("th", { scope: "row" }, [swatch(series.tone ?? index), series.label]),
        ...this._values(series).map((text) => element("td", { class: "number" }, [text])),
      ]),
    );
    this._rows.replaceChildren(...rows);
  }

  /** The cells of a series in the table, as texts. */
  _values({ values }) {
    const all = known(values);
    const mean = all.length ? all.reduce((sum, value) => sum + value, 0) / all.length : null;
    return [last(values), lowest(all), mean, highest(all)].map((value) => measured(value, this._chart.unit));
  }

  _described() {
    return described(this._chart);
  }

  _plot(width) {
    return new Plot(this._chart, width, this._height);
  }

  /** What the legend has of a series while nothing is pointed at. */
  _figure({ values }) {
    return last(values);
  }

  _draw() {
    const width = Math.round(this._picture.clientWidth);
    if (!this._chart || !width) return;
    const plot = this._plot(width);
    this._picture.setAttribute("viewBox", `0 0 ${width} ${this._height}`);
    const pointed = this._pointed === null ? null : plot.indexAt(this._pointed * width);
    this._drawing.replaceChildren(...plot.grid(), ...plot.marks(), ...plot.pointer(pointed));
    this._label(plot, pointed);
  }

  _label(plot, pointed) {
    const items = this._chart.series.map((series, index) => {
      const value = pointed === null ? this._figure(series) : series.values[pointed];
      return element("li", {}, [swatch(series.tone ?? index), `${series.label} `, element("b", {}, [measured(value, this._chart.unit)])]);
    });
    setText(this._moment, pointed === null ? "" : plot.timeText(pointed));
    this._legend.replaceChildren(...items, ...(pointed === null ? [] : [this._moment]));
  }
}

/** The scales of a chart, and what is drawn with them. */
export class Plot {
  constructor(chart, width, height) {
    this._chart = chart;
    this._width = width;
    this._base = height - BELOW;
    this._count = Math.max(0, ...chart.series.map((series) => series.values.length));
    this._until = chart.until;
    this._span = Math.max(LEAST_SPAN, (this._count - 1) * chart.step_seconds);
    [this._top, this._step] = scale(this._highest() ?? 0, chart.unit);
  }

  _highest() {
    return shownHighest(this._chart);
  }

  timeOf(index) {
    return this._chart.until - (this._count - 1 - index) * this._chart.step_seconds;
  }

  timeText(index) {
    return `at ${clock(this.timeOf(index))}`;
  }

  indexAt(x) {
    const time = this._until - ((this._width - x) / (this._width - LEFT)) * this._span;
    const index = this._nearest((time - this.timeOf(0)) / this._chart.step_seconds);
    return this._count ? Math.min(Math.max(index, 0), this._count - 1) : null;
  }

  _nearest(steps) {
    return Math.round(steps);
  }

  *grid() {
    for (let value = 0; value <= this._top * 1.001; value += this._step) {
      const y = this._y(value);
      yield svg("line", { class: value ? "rule" : "axis", x1: LEFT, x2: this._width, y1: y, y2: y });
      yield svg("text", { class: "label value", x: LEFT - 6, y: y + 4 }, [tick(value, this._chart.unit)]);
    }
    for (const [time, text] of this._times()) {
      const x = this._xOf(time);
      if (x < LEFT || x > this._width - ROOM) continue;
      yield svg("line", { class: "axis", x1: x, x2: x, y1: this._base, y2: this._base + 4 });
      yield svg("text", { class: "label time", x, y: this._base + BELOW - 3 }, [text]);
    }
  }

  /** The times of the axis with their texts: round ones of the browser's zone, midnight as its day. */
  *_times() {
    const fits = (seconds) => this._span / seconds <= (this._width - LEFT) / 90;
    const step = TIME_STEPS.find(fits) ?? DAY * (DAYS.find((days) => fits(days * DAY)) ?? 36525);
    const zone = -60 * new Date(this._until * 1000).getTimezoneOffset();
    for (let local = Math.ceil((this._until - this._span + zone) / step) * step; local <= this._until + zone; local += step) {
      const isDay = local % DAY === 0 && this._span > DAY / 8;
      yield [local - zone, isDay ? day(local - zone, step > 60 * DAY) : clock(local - zone, step < 60)];
    }
  }

  *marks() {
    yield* this.lines();
    yield* this.names();
    yield* this.cutMark();
  }

  *lines() {
    for (const [index, series] of this._chart.series.entries()) {
      const runs = [...runsOf(series.values)];
      if (index === 0) yield svg("path", { class: "area", d: runs.map((run) => this._area(run)).join("") });
      yield svg("path", { class: `line series-${index}`, d: runs.map((run) => this._line(run)).join("") });
    }
  }

  /** The name of each line beside its end, where there is more than one. */
  *names() {
    const ends = [...this._chart.series.entries()]
      .filter(([, series]) => this._chart.series.length > 1 && last(series.values) !== null)
      .map(([index, series]) => ({ index, label: series.label, y: this._y(last(series.values)) - 5 }))
      .sort((one, other) => other.y - one.y); // from the lowest up, each above the one before
    let free = this._base + BELOW;
    for (const { index, label, y } of ends) {
      free = Math.min(y, free);
      yield svg("text", { class: `label name name-${index}`, x: this._width - 2, y: free }, [label]);
      free -= 13;
    }
  }

  /** How high the highest value is, above its place, where the chart cuts it off. */
  *cutMark() {
    const peak = highest(known(this._chart.series.flatMap((series) => series.values))) ?? 0;
    if (peak <= this._top * 1.001) return;
    const place = Math.max(...this._chart.series.map((series) => series.values.indexOf(peak)));
    const x = this._xOf(this.timeOf(place));
    const isRight = x > this._width / 2;
    const text = `↑ ${measured(peak, this._chart.unit)}, cut off`;
    yield svg("text", { class: isRight ? "label name" : "label", x: isRight ? x : Math.max(x - 4, LEFT), y: ABOVE - 5 }, [text]);
  }

  *pointer(index) {
    if (index === null) return;
    const x = this._xOf(this.timeOf(index));
    yield svg("line", { class: "pointer", x1: x, x2: x, y1: ABOVE, y2: this._base });
  }

  _line(run) {
    const points = run.map(([index, value]) => `${this._x(index)} ${this._y(value)}`);
    return `M${points.join("L")}${run.length === 1 ? "h.1" : ""}`; // a single point is a dot
  }

  _area(run) {
    const base = this._y(0);
    return `${this._line(run)}L${this._x(run[run.length - 1][0])} ${base}L${this._x(run[0][0])} ${base}Z`;
  }

  _x(index) {
    return this._xOf(this.timeOf(index));
  }

  _xOf(time) {
    return round(this._width - ((this._until - time) / this._span) * (this._width - LEFT));
  }

  _y(value) {
    return round(ABOVE + (1 - Math.min(value / this._top, 1)) * (this._base - ABOVE));
  }
}

/** Yield the stretches without an unknown value, as pairs of index and value. */
function* runsOf(values) {
  let run = [];
  for (const [index, value] of values.entries()) {
    if (value !== null) run.push([index, value]);
    else if (run.length) {
      yield run;
      run = [];
    }
  }
  if (run.length) yield run;
}

function known(values) {
  return values.filter((value) => value !== null);
}

/** Return the highest value that is shown in full: all but a burst that is over, which would flatten the rest. */
function shownHighest({ series }) {
  const values = known(series.flatMap(({ values }) => values)).sort((one, other) => one - other);
  const usual = values[Math.floor((values.length - 1) * USUAL)] ?? 0;
  const enough = Math.max(usual, ...known(series.flatMap(({ values }) => values.slice(-RECENT))));
  return enough > 0 && highest(values) > FLATTENED * enough ? enough : highest(values);
}

/** Return the value at the top of a chart, and that of a step: two to four round steps of the unit. */
function scale(most, unit) {
  if (most <= 0) return [1, 1];
  const base = unit.startsWith("bytes") ? 1024 ** Math.floor(Math.log(most) / Math.log(1024)) : 1;
  const rough = most / base / 3.5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999) * power * base;
  return [step * Math.ceil((most / step) * 0.999), step];
}

function described(chart) {
  const seconds = Math.max(0, ...chart.series.map((series) => (series.values.length - 1) * chart.step_seconds));
  const texts = chart.series.map((series) => {
    const all = known(series.values);
    if (!all.length) return `${series.label}: unknown.`;
    const [latest, least, most] = [last(series.values), lowest(all), highest(all)].map((value) =>
      measured(value, chart.unit),
    );
    return `${series.label}: latest ${latest}, lowest ${least}, highest ${most}.`;
  });
  return `The last ${measured(seconds, "seconds")}. ${texts.join(" ")}`;
}

function columnHead(label, index) {
  return element("th", { scope: "col", class: index ? "number" : "" }, [label]);
}

/** `tone`: the number of the series, or a name for its colour. */
function swatch(tone) {
  return svg("svg", { class: "swatch", viewBox: "0 0 16 8", "aria-hidden": "true" }, [
    svg("path", { class: `line series-${tone}`, d: "M0 4H16" }),
  ]);
}

function last(values) {
  return values.length ? values[values.length - 1] : null;
}

function lowest(values) {
  return values.length ? Math.min(...values) : null;
}

function highest(values) {
  return values.length ? Math.max(...values) : null;
}

function round(value) {
  return Math.round(value * 10) / 10;
}
