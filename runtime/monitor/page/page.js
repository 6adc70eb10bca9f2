// The page of a running shipper or sink: it asks /status every two seconds, and draws what it gets. Where it gets
// nothing, it keeps the last values, marked as stale, with the time since when.

import { Chart } from "./chart.js";
import { Table, arrange } from "./table.js";
import { clock, duration, moment, shown, zoneText } from "./units.js";
import { element, setAttribute, setText } from "./elements.js";

const INTERVAL = 2000; // milliseconds
const PATIENCE = 5000;
const FIGURE_WIDTH = 168; // pixels
const STATES = { ok: "OK", degraded: "Degraded", failing: "Failing", starting: "Starting" };
const MARKS = { ok: "●", degraded: "▲", failing: "■", starting: "○" };

const part = (id) => document.getElementById(id);
const charts = new Map();
const tables = new Map();
const figures = new Map();
const figuresStyle = new CSSStyleSheet(); // a style attribute would be against the policy of the page
document.adoptedStyleSheets = [figuresStyle];
let answered = null; // when the last answer came, by the browser's clock, milliseconds
let failure = ""; // why there was none since
let status = null;
let timer = 0;
let arrangement = ""; // of the figures

async function poll() {
  clearTimeout(timer);
  try {
    status = await ask();
    answered = Date.now();
    draw(status);
    failure = "";
  } catch (error) {
    failure = error instanceof NoAnswer ? error.message : `this page cannot show its answer (${error.message})`;
  }
  drawConnection();
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(poll, INTERVAL);
}

class NoAnswer extends Error {}

/** Return the status document. Throws NoAnswer with the reason. */
async function ask() {
  let answer;
  try {
    answer = await fetch("status", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (answer.ok) return await answer.json();
  } catch (error) {
    if (error.name === "TimeoutError") throw new NoAnswer("it does not answer in time");
    throw new NoAnswer(error instanceof SyntaxError ? "its answer is not JSON" : "there is no connection");
  }
  throw new NoAnswer(`it answers with HTTP status ${answer.status}`);
}

function draw({ program, version, name, host, started, now, health, configuration, ...rest }) {
  setText(part("name"), name);
  const place = host === name ? "" : ` on ${host}`;
  setText(part("program"), `${program} ${version}${place}, up ${duration(now - started)}`);
  setText(part("updated"), `as of ${clock(now)}`);
  setText(part("state-text"), health.text);
  setAttribute(part("health"), "data-state", health.state);
  for (const figure of rest.figures) drawFigure(figure);
  arrangeFigures();
  drawAll(rest.charts, charts, Chart, part("charts"));
  drawAll(rest.tables, tables, Table, part("tables"));
  arrange([...tables.values()]);
  part("configuration").hidden = !configuration;
  setText(part("configuration-text"), configuration ?? "");
}

function drawAll(documents, known, Kind, parent) {
  for (const one of documents) {
    if (!known.has(one.id)) {
      known.set(one.id, new Kind(one.id));
      parent.append(known.get(one.id).root);
    }
    known.get(one.id).update(one);
  }
}

/** Share the figures out to rows of equal length; the last one takes what is left of its row. */
function arrangeFigures() {
  const fitting = Math.max(2, Math.floor(part("figures").clientWidth / FIGURE_WIDTH));
  const rows = Math.ceil(figures.size / fitting);
  const columns = Math.ceil(figures.size / rows) || 1;
  const rest = rows * columns - figures.size;
  const rules = `.figures { grid-template-columns: repeat(${columns}, minmax(0, 1fr)); }
    .figures > :last-child { grid-column: span ${rest + 1}; }`;
  if (rules !== arrangement) figuresStyle.replaceSync((arrangement = rules));
}

function drawFigure({ id, label, value, unit, rate, seconds }) {
  if (!figures.has(id)) {
    const made = { label: element("dt"), value: element("data"), rate: element("data", { class: "rate" }) };
    figures.set(id, made);
    part("figures").append(element("div", {}, [made.label, element("dd", {}, [made.value, made.rate])]));
  }
  const made = figures.get(id);
  setText(made.label, label);
  fill(made.value, value, unit, "");
  if (typeof rate === "number") fill(made.rate, rate, unit, "/s");
  else if (typeof seconds === "number") fill(made.rate, seconds, "seconds", "");
  else setText(made.rate, "");
}

function fill(target, value, unit, each) {
  const { text, exact } = shown(value, unit);
  setText(target, text + each);
  setAttribute(target, "title", each ? `${exact} a second, mean of the last 10 seconds` : exact);
  setAttribute(target, "value", value === null ? null : String(value));
}

function drawConnection() {
  const isStale = failure !== "";
  document.body.classList.toggle("stale", isStale);
  const program = status ? status.program : "program";
  if (!isStale) setText(part("connection"), "");
  else if (answered === null) setText(part("connection"), `Cannot reach the ${program}: ${failure}. Trying every 2 seconds.`);
  else {
    const since = clock(answered / 1000);
    setText(part("connection"), `Cannot reach the ${program} since ${since}: ${failure}. The values below are of that time.`);
    setText(part("updated"), `stale for ${duration(Math.round((Date.now() - answered) / 1000))}`);
  }
  if (status) drawState(isStale);
}

/** Draw the state where it is read first, and in the title, which is all that is seen of a tab behind others. */
function drawState(isStale) {
  const { health, name, program } = status;
  const word = STATES[health.state] ?? health.state;
  setText(part("state"), isStale ? `Last known: ${word}` : word);
  setText(part("state-since"), described(health));
  const title = `${isStale ? "✕ unreachable" : `${MARKS[health.state] ?? "?"} ${word}`}: ${name}, ${program}`;
  if (document.title !== title) document.title = title;
}

function described({ since, warnings }) {
  const open = warnings ? `, ${warnings} open warning${warnings > 1 ? "s" : ""}` : "";
  return since ? `since ${moment(since)}${open}` : open.slice(2);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) poll();
});
new ResizeObserver(arrangeFigures).observe(part("figures"));
setText(part("zone"), zoneText());
poll();
