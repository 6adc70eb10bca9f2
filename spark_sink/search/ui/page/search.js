// The page of `spark-sink ui`: one query, which the address holds, and what it finds: lines, their number over time, and
// the values of their fields. Each part asks the server itself; a query that is replaced is aborted.

import { Facets } from "./facets.js";
import { Histogram } from "./histogram.js";
import { Lines, button } from "./lines.js";
import { Problem, ask, download, keepToken, stream, takeToken } from "./answers.js";
import { listen } from "./controls.js";
import { duration, shown, zoneText } from "./units.js";
import { element, setText } from "./elements.js";
import { fieldsOf, timeOf, withTerm, wordsOf } from "./texts.js";

const LIMIT = 200;
const BARS = 120;
const RANGES = { "15m": "15 min", "1h": "1 hour", "24h": "24 hours", "7d": "7 days", all: "All" };
const ADDRESS = ["table", "q", "where", "since", "until", "by", "columns", "unwrapped", "open"];
const NO_FACET = new Set("ts date message doc fields offset length kafka_offset kafka_ts".split(" "));
const FACETS = 40;
const RECOUNT = 15_000; // milliseconds, while new lines land

const part = (id) => document.getElementById(id);
const lines = new Lines(part("lines"), { refine, toggleColumn, opened, announce, context });
const split = element("select", {});
const histogram = new Histogram(split, (since, until) => search({ since: iso(since), until: iso(until) }, { isZoom: true }));
const facets = new Facets(part("facets"), {
  refine,
  counts: (by, top, signal) => stream("counts", { ...conditions(), by, top }, signal),
});
let address = "";
let server = null; // what /tables has
let state = {};
let range = {}; // since and until as they are asked for
let running = new AbortController();
let counted = 0; // when the count was begun, milliseconds
let total = null; // of the lines that match, as far as they are counted
let outcome = null; // of the lines that are shown, as /rows ended
let limit = LIMIT;
let waiting = []; // lines that landed while the reader is elsewhere
let seen = new Map(); // fields of the lines shown, and how many have each

const table = () => server.tables.find(({ id }) => id === state.table) ?? server.tables[0];
const conditions = () => ({ table: table().id, q: state.q, where: state.where, ...range });
const iso = (seconds) => new Date(seconds * 1000).toISOString();

async function start() {
  takeToken();
  try {
    server = await (await ask("tables")).json();
  } catch (error) {
    return failed(error, start);
  }
  part("token-form").hidden = true;
  setText(part("program"), `spark-sink ${server.version}`);
  part("table").replaceChildren(...server.tables.map(({ id, title }) => new Option(title, id)));
  readAddress();
  run();
}

function readAddress() {
  address = location.search;
  const given = new URLSearchParams(location.search);
  state = Object.fromEntries(ADDRESS.map((name) => [name, given.get(name) ?? ""]));
}

/** Change the query: a step that the browser's way back undoes. */
function search(changes, step = {}) {
  state = { ...state, open: "", ...changes };
  for (const name of ["since", "until"]) state[name] = exact(state[name]);
  limit = LIMIT;
  writeAddress("pushState", step);
  run();
}

function writeAddress(method = "replaceState", step = history.state) {
  const given = Object.entries(state).filter(([, value]) => value !== "");
  history[method](step, "", given.length ? `?${new URLSearchParams(given)}` : location.pathname);
  address = location.search;
}

/** Ask for all parts of the page. */
async function run({ isMore = false } = {}) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  chooseRange();
  drawQuery();
  setText(part("problem"), "");
  part("offers").replaceChildren();
  const columns = columnsShown();
  if (!isMore) [waiting, seen, total] = [[], new Map(), null];
  outcome = null;
  drawWaiting();
  lines.begin({ columns, hasTime: hasTime(), words: wordsOf(state.q), open: state.open, isMore });
  offerFields();
  if (table().error) return failed(new Problem(table().error), start);
  setText(part("status"), "Searching …");
  if (!isMore) count(signal);
  if (!isMore) facets.refresh(signal);
  try {
    if (part("follow").checked) await follow(signal);
    await list(signal);
  } catch (error) {
    failed(error, () => run());
  }
}

async function list(signal) {
  for await (const [kind, value] of stream("rows", { ...conditions(), limit }, signal)) {
    if (kind === "start") setText(part("sql"), value.sql ? `Searched: ${value.sql}` : "");
    if (kind === "row") take(value);
    if (kind === "end") ended(value);
  }
}

function take(row) {
  for (const [name, value] of fieldsOf(row)) if (value !== null) seen.set(name, (seen.get(name) ?? 0) + 1);
  lines.add(row);
}

function ended(end) {
  outcome = end;
  lines.flush();
  offerFields();
  report();
  if (!lines.size) offerWider();
  else if (!end.complete) offerMore(end.rows);
  showLanded();
}

/** Say what was found: once when the lines are there, and again when they are counted. */
function report() {
  const { complete, files, seconds } = outcome;
  const number = shown(lines.size, "lines").exact;
  const known = total === null ? "" : ` of ${shown(total, "").exact}`;
  const which = complete ? `${number}, all that match` : `The newest ${number}${known}`;
  const read = `${shown(files, "files").text} read in ${duration(seconds)}`;
  announce(lines.size ? `${which}, ${rangeText()}. ${read}.` : `No line matches, ${rangeText()}. ${read}.`);
}

function offerMore(rows) {
  const most = server.max_rows;
  if (limit >= most || rows < limit)
    return part("offers").replaceChildren(
      `This page shows no more than ${shown(rows, "lines").exact} of this search. Choose a shorter range, add words, or download them.`,
    );
  const more = () => {
    limit = Math.min(2 * limit, most);
    run({ isMore: true });
  };
  part("offers").replaceChildren(button(`Show up to ${shown(Math.min(2 * limit, most), "lines").exact}`, more));
}

function offerWider() {
  const wider = Object.entries(RANGES).slice(Object.keys(RANGES).indexOf(range.since ?? "all") + 1);
  const [since, label] = (range.since ?? "all") in RANGES && !range.until ? (wider[0] ?? []) : ["all", "All"];
  const offers = [];
  if (since) offers.push(button(since === "all" ? "Search all times" : `Search the last ${label}`, () => search({ since, until: "" })));
  if (state.where) offers.push(button("Search without the SQL condition", () => search({ where: "" })));
  if (state.q) offers.push(button("Search without the words", () => search({ q: "" })));
  part("offers").replaceChildren(...(offers.length ? ["Try this: ", ...offers] : ["The table has no line."]));
}

/** Count the lines over time. */
async function count(signal) {
  const place = part("histogram");
  counted = Date.now();
  try {
    for await (const [kind, counts] of stream("counts", { ...conditions(), by: state.by, bars: hasTime() ? BARS : "" }, signal)) {
      if (kind !== "counts") continue;
      total = counts.total;
      offerDownload();
      place.classList.toggle("no-time", !hasTime() || !total);
      if (!place.contains(histogram.root)) place.replaceChildren(histogram.root);
      const progress = counts.read < 1 ? `, counting: ${Math.floor(100 * counts.read)} %` : "";
      histogram.show(counts, state.by, shown(total, "lines").exact + progress);
    }
    if (outcome) report();
  } catch (error) {
    if (error.name !== "AbortError" && error.status !== 400) place.replaceChildren(`The lines are not counted: ${error.message}`);
  }
}

/** Follow the table; return once it is followed, so that no line is lost between this and what is found. */
async function follow(signal) {
  const { table, q, where } = conditions();
  const rows = stream("follow", { table, q, where }, signal);
  await rows.next();
  (async () => {
    for await (const [kind, value] of rows) {
      if (kind === "row") landed(value);
      if (kind === "warning") setText(part("problem"), value);
    }
  })().catch((error) => {
    part("follow").checked = false;
    failed(error, () => run());
  });
}

function landed(row) {
  waiting.push(row);
  if (waiting.length > server.max_rows) waiting.shift();
  if (waiting.length === 1) requestAnimationFrame(showLanded);
  else drawWaiting();
}

function isElsewhere() {
  return lines.isOpen || lines.isOld || part("lines").getBoundingClientRect().top < 0;
}

function showLanded() {
  if (waiting.length && !isElsewhere()) {
    lines.addNewest(waiting.splice(0), server.max_rows);
    announce(`Following: ${shown(lines.size, "lines").exact} shown.`);
    if (Date.now() > counted + RECOUNT) count(running.signal);
  }
  drawWaiting();
}

function drawWaiting() {
  part("waiting").hidden = !waiting.length;
  const most = waiting.length === server.max_rows ? "More than " : "";
  setText(part("waiting"), `${most}${shown(waiting.length, "new lines").exact}: show`);
}

/** Where nothing is chosen, choose a range that has lines. */
function chooseRange() {
  const { since, until } = state;
  const { newest } = table();
  if (since === "all" || !hasTime()) range = {};
  else if (since || until) range = { since, until };
  else if (newest === null || newest === undefined) range = {};
  else if (newest > Date.now() / 1000 - 900) range = { since: "15m" };
  else range = { since: iso(newest - 86400), until: iso(newest + 1) };
}

/** A time without a zone is one of the browser's. */
function exact(text) {
  if (!/^\d{4}-\d\d-\d\d([ T][\d:.]+)?$/.test(text)) return text;
  const time = new Date(text.length > 10 ? text.replace(" ", "T") : `${text}T00:00`);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** Return a time as it is written in the browser's zone. */
function written(text = "") {
  if (!/^\d{4}-.*Z$/.test(text)) return text;
  const time = new Date(text);
  return new Date(time - 60_000 * time.getTimezoneOffset()).toISOString().replace("T", " ").replace(/(\.000)?Z$/, "");
}

function rangeText() {
  const name = RANGES[range.since];
  if (name && !range.until) return `of the last ${name}`;
  const [since, until] = [range.since, range.until].map((time) => (/^\d{4}-/.test(time) ? timeOf(time).replace(/\.000$/, "") : time));
  const text = since || until ? `${since ? `from ${since} ` : ""}${until ? `until ${until}` : "until now"}` : "of all times";
  return state.since || state.until || !range.until ? text : `of the day before the newest line (${text})`;
}

function hasTime() {
  return table().columns.some(({ name }) => name === "ts");
}

function columnsShown() {
  if (state.columns) return state.columns.split(",");
  const { columns, fields } = table();
  const names = columns.map(({ name }) => name);
  if (!names.includes("message")) return names.filter((name) => name !== "ts");
  return ["log.level", "host", "message"].filter((name) => names.includes(name) || fields.includes(name));
}

function toggleColumn(name) {
  const columns = columnsShown();
  const others = columns.filter((other) => other !== name);
  if (others.length === columns.length) others.splice(others.includes("message") ? others.indexOf("message") : others.length, 0, name);
  state.columns = others.join(",");
  writeAddress();
  lines.setColumns(columnsShown());
}

function refine(field, value, isNot) {
  search({ q: withTerm(state.q, field, value, isNot) });
}

function opened(key) {
  state.open = key ?? "";
  writeAddress();
  if (key === null) showLanded();
}

async function context(row, count) {
  const { ts, host, path, file_id, offset } = row;
  return (await ask("context", { table: table().id, ts, host, path, file_id, offset, lines: count }, running.signal)).json();
}

function offerDownload() {
  const most = server.max_download;
  setText(part("download"), total > most ? `Download the newest ${shown(most, "").exact} as` : "Download as");
}

async function save(format) {
  const controller = new AbortController();
  part("cancel").hidden = false;
  part("cancel").onclick = () => controller.abort();
  const most = server.max_download;
  const which = total > most ? `the newest ${shown(most, "lines").exact} of ${shown(total, "").exact}` : "all lines that match";
  try {
    announce(`Downloading ${which} …`);
    const bytes = (number) => setText(part("cancel"), `${shown(number, "bytes").text}: cancel`);
    await download({ ...conditions(), format }, `${table().id}.${format}`, controller.signal, bytes);
    announce(`Downloaded ${which}.`);
  } catch (error) {
    if (error.name === "AbortError") announce("The download is cancelled.");
    else failed(error, () => save(format));
  }
  part("cancel").hidden = true;
}

function drawQuery() {
  for (const name of ["q", "where"]) if (part(name).value !== state[name]) part(name).value = state[name];
  const isNamed = (state.since || "all") in RANGES && !state.until;
  part("range").hidden = !hasTime();
  for (const name of ["since", "until"]) part(name).value = range.until || !isNamed ? written(range[name]) : "";
  part("table").value = table().id;
  part("wrap").checked = !state.unwrapped;
  part("lines").classList.toggle("unwrapped", Boolean(state.unwrapped));
  const name = range.until ? "" : (range.since ?? "all");
  for (const one of part("ranges").children) one.setAttribute("aria-pressed", String(one.value === name));
  part("back").hidden = isNamed || !history.state?.isZoom;
  const query = [state.q, state.where].filter(Boolean).join(" | ");
  document.title = `${query || "All"}: ${table().title}${hasTime() ? ` ${rangeText()}` : ""}`;
}

/** The table's own fields first, then those of the lines that are shown, the most frequent first. */
function offerFields() {
  const own = table().fields;
  const columns = table().columns.map(({ name }) => name);
  const names = [...seen].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  const others = [...names, ...columns].filter((name) => !own.includes(name) && !NO_FACET.has(name));
  const fields = [...own, ...new Set(others)].slice(0, FACETS);
  facets.offer(fields);
  split.replaceChildren(...["", ...fields].map((name) => new Option(name || "nothing", name)));
  split.value = state.by;
}

function announce(sentence) {
  setText(part("status"), sentence);
}

/** Show what went wrong with the way to try again; a missing token is asked for. */
function failed(error, again) {
  if (error.name === "AbortError") return;
  part("token-form").hidden = error.status !== 401;
  if (error.status === 401) part("token").focus();
  lines.flush();
  announce("");
  part("problem").replaceChildren(error.message, ...(error.status === 400 ? [] : [" ", button("Try again", again)]));
}

function setView(changes) {
  Object.assign(state, changes);
  writeAddress();
  drawQuery();
}

addEventListener("popstate", () => {
  if (location.search === address) return; // a link within the page
  readAddress();
  run();
});
setText(part("zone"), zoneText());
listen(lines, RANGES, { search, setView, save, showLanded, run, start, keepToken });
start();
