// The page of `spark-sink ui`: a query, which the address contains, and its results: lines, their number over time, and
// the values of their fields. Each part has its own requests; those of a replaced query are aborted.

import { Facets } from "./facets.js";
import { Following } from "./following.js";
import { Histogram } from "./histogram.js";
import { Lines, button } from "./lines.js";
import { Problem, ask, download, stream, takeToken } from "./answers.js";
import { describe, exact, iso, nameOf, rangeOf, utc, widerThan, written } from "./ranges.js";
import { duration, shown, zoneText } from "./units.js";
import { element, setText } from "./elements.js";
import { fieldsOf, isLevel, isSearchable, visible, withTerm, wordsOf } from "./texts.js";
import { listen } from "./controls.js";
import { showProblem } from "./problem.js";

const LIMIT = 200;
const BARS = 120;
const RECOUNT = 15_000; // milliseconds, while new lines land
const ADDRESS = ["table", "q", "where", "since", "until", "by", "columns", "unwrapped", "open"];
const COLUMNS = ["log.level", "reason", "host", "message"]; // if they exist
const NO_FACET = new Set("ts date message doc fields offset length kafka_offset kafka_ts".split(" "));
const UNITS = { lines: "lines", dead_letters: "dead letters", view: "rows" };
const NAMES = { lines: "Lines", dead_letters: "Dead letters" };
const LEVELS = 10; // in the histogram, instead of four values: the worst level is rare

const part = (id) => document.getElementById(id);
const lines = new Lines(part("lines"), { refine, toggleColumn, opened, announce, context, moment });
const split = element("select", { "aria-label": "Bars by field" });
const histogram = new Histogram(split, (since, until) =>
  search({ since: iso(since), until: iso(until) }, { since: state.since, until: state.until, wider: history.state }),
);
const facets = new Facets(part("facets"), {
  refine,
  toggleColumn,
  counts: (by, top, signal) => stream("counts", { ...conditions(), by, top }, signal),
});
const following = new Following(lines, part("waiting"), {
  landed: () => Date.now() > counted + RECOUNT && countAll(),
  again: () => run({ isMore: true }),
});
let server = null; // the response of /tables
let table = null; // the searched one of these
let state = {}; // the values of the address
let address = "";
let range = {}; // since and until of requests
let listing = new AbortController(); // of the lines
let counting = new AbortController(); // of everything else
let counted = 0; // the time when counting began, milliseconds
let total = null; // number of matching lines, once counted
let outcome = null; // the end of the response of /rows
let limit = LIMIT;
let seen = new Map(); // fields of the shown lines, with the number of lines

const conditions = () => ({ table: table.id, q: state.q, where: state.where, ...range });
let searched = {}; // since and until as resolved by the server
let openUntil = ""; // the end of a range that contains the open line
const hasTime = () => table.columns.some(({ name }) => name === "ts");
const nameOfTable = ({ kind, title }) => NAMES[kind] ?? `View ${visible(title)}`;
const rowsText = (number) => shown(number, UNITS[table.kind]).exact;
const rangeText = () => (hasTime() ? ` ${describe(range, state.since || state.until)}` : "");

async function start() {
  takeToken();
  try {
    server = await (await ask("tables")).json();
  } catch (error) {
    return showProblem(error, start);
  }
  part("token-form").hidden = true;
  const dead = server.tables.find(({ kind, rows }) => kind === "dead_letters" && rows);
  setText(part("dead"), dead ? shown(dead.rows, UNITS.dead_letters).exact : "");
  part("dead").value = dead?.id ?? "";
  const meaning = (table) => (table.kind === "dead_letters" ? " (unreadable records)" : "");
  const options = server.tables.map((table) => new Option(nameOfTable(table) + meaning(table), table.id));
  part("table").replaceChildren(...options);
  readAddress();
  run();
}

function readAddress() {
  address = location.search;
  const given = new URLSearchParams(address);
  state = Object.fromEntries(ADDRESS.map((name) => [name, given.get(name) ?? ""]));
  limit = LIMIT;
}

/** With an open line, the range is absolute, so that it still contains the line later. */
function writeAddress(method = "replaceState", step = history.state) {
  const fixed = state.open && hasTime() ? { since: searched.since, until: searched.until || openUntil } : {};
  const given = Object.entries({ ...state, ...fixed }).filter(([, value]) => value !== "");
  const query = given.length ? `?${new URLSearchParams(given)}` : "";
  history[query === location.search ? "replaceState" : method](step, "", query || location.pathname);
  address = location.search;
}

/** Change the query, as a step of the browser's history. `wider`: the range that contains the new one. */
function search(changes, wider = null) {
  const before = state;
  state = { ...state, open: "", ...changes };
  for (const name of ["since", "until"]) state[name] = exact(state[name]) ?? state[name];
  limit = LIMIT;
  if (state.until) part("follow").checked = false; // the range has no new lines
  const isSameRange = before.since === state.since && before.until === state.until;
  writeAddress("pushState", isSameRange ? history.state : wider);
  if (part("lines").contains(document.activeElement)) part("lines").focus(); // the focused line will be replaced
  scrollTo({ top: 0 });
  run();
}

function widen() {
  const { since, until, wider } = history.state;
  search({ since, until }, wider);
}

function refine(field, value, isNot) {
  search({ q: withTerm(state.q, field, value, isNot) });
}

/** Request all parts of the page, or more lines of the same query. */
async function run({ isMore = false } = {}) {
  listing.abort();
  listing = new AbortController();
  if (!isMore) following.forget();
  chooseTable();
  lines.begin({ columns: columnsShown, hasTime: hasTime(), words: wordsOf(state.q), open: state.open, isMore });
  part("main").hidden = false;
  try {
    if (hasTime()) range = rangeOf(state, table.newest);
    if (!following.lost) begin();
    if (table.error) throw new Problem(table.error);
    if (!isMore) countAll();
    if (part("follow").checked) await follow();
    await list(listing.signal);
  } catch (error) {
    failed(error);
  }
}

function begin() {
  drawQuery();
  showProblem(null);
  part("offers").replaceChildren();
  outcome = null;
  announce("Searching …");
}

function chooseTable() {
  const chosen = server.tables.find(({ id }) => id === state.table) ?? server.tables[0];
  if (chosen !== table) {
    [table, seen] = [chosen, new Map()];
    offerFields();
  }
  range = hasTime() ? { since: state.since, until: state.until } : {}; // as entered, until it is resolved
}

async function list(signal) {
  let fields = null;
  for await (const [kind, value] of stream("rows", { ...conditions(), limit }, signal)) {
    if (kind === "start") {
      setText(part("sql"), value.sql ? `Searched: ${visible(value.sql)}` : "");
      searched = { since: utc(value.since), until: utc(value.until) };
    }
    if (kind === "end") ended(value);
    if (kind !== "row") continue;
    if (!fields) seen = fields = new Map(); // only now: until the first line, the previous fields stay
    for (const [name, field] of fieldsOf(value))
      if (field !== null && field.length !== 0) fields.set(name, (fields.get(name) ?? 0) + 1);
    lines.add(value);
  }
}

function ended(end) {
  outcome = end;
  lines.flush();
  lines.setColumns();
  offerFields();
  report();
  if (!lines.size) offerWider();
  else if (!end.complete) offerMore(end.rows);
  following.show();
  if (!following.lost) return;
  if (!end.complete && !lines.overlaps) return run(); // else lines in between would be missing
  following.lost = "";
  showProblem(null);
  countAll();
}

/** Announce the result: when the lines are complete, and again when they are counted. */
function report() {
  const { complete, files, seconds } = outcome;
  const all = total === null ? "" : ` of ${shown(total, "").exact}`;
  const which = complete ? `All ${rowsText(lines.size)}` : `The newest ${rowsText(lines.size)}${all}`;
  const found = lines.size ? which : `No ${UNITS[table.kind].slice(0, -1)} matches`;
  const next = part("follow").checked ? " New ones are added on top." : "";
  announce(`${found}${rangeText()}. ${shown(files, "files").text} read in ${duration(seconds)}.${next}`);
}

function offerMore(rows) {
  const most = Math.min(2 * limit, server.max_rows);
  const more = () => {
    limit = most;
    run({ isMore: true });
  };
  if (limit < most && rows === limit) part("offers").replaceChildren(button(`Show up to ${rowsText(most)}`, more));
  else setText(part("offers"), `The maximum is ${rowsText(rows)}. Shorten the range, add words, or download them.`);
}

function offerWider() {
  const [since, text] = widerThan(range)[0] ?? [];
  const offers = [];
  const offer = (label, changes) => offers.push(button(label, () => search(changes)));
  if (since) offer(since === "all" ? "Search all times" : `Search the last ${text}`, { since, until: "" });
  if (state.where) offer("Search without the SQL condition", { where: "" });
  if (state.q) offer("Search without the words", { q: "" });
  part("offers").replaceChildren(...(offers.length ? ["Try this: ", ...offers] : ["The table is empty."]));
}

function countAll() {
  counting.abort();
  counting = new AbortController();
  counted = Date.now();
  total = null;
  setText(part("download"), "Download as");
  count(counting.signal);
  facets.refresh(counting.signal);
}

async function count(signal) {
  const place = part("histogram");
  const bars = hasTime() ? BARS : "";
  const asked = { ...conditions(), by: state.by, bars, top: isLevel(state.by) ? LEVELS : "" };
  try {
    for await (const [kind, counts] of stream("counts", asked, signal)) {
      if (kind !== "counts") continue;
      const isAll = counts.read === 1;
      place.classList.toggle("no-time", !bars || !counts.total);
      if (!histogram.root.isConnected) place.replaceChildren(histogram.root);
      const progress = isAll ? "" : `, counting: ${Math.floor(100 * counts.read)} %`;
      histogram.show(counts, state.by, rowsText(counts.total) + progress);
      total = isAll ? counts.total : null;
    }
    const some = total > server.max_download ? `${shown(server.max_download, "").exact} of ` : "";
    setText(part("download"), `Download ${some}${rowsText(total)} as`);
    if (outcome) report();
  } catch (error) {
    const isShown = error.name === "AbortError" || part("problem").textContent;
    if (!isShown) place.replaceChildren(`Cannot count the lines: ${error.message}`);
  }
}

function follow() {
  const fail = (error) => {
    if (survives(error)) return;
    part("follow").checked &&= error.name === "AbortError";
    showProblem(error, () => part("follow").click());
  };
  const warn = (text) => setText(part("problem"), visible(text));
  return following.begin(conditions(), server.max_rows, listing.signal, { warn, fail });
}

/** Keep the shown lines until the connection is restored; return false if it is not lost, or nothing is followed. */
function survives(error) {
  if (!part("follow").checked || !following.lose(error)) return false;
  listing.abort();
  counting.abort();
  setText(part("problem"), `Connection lost at ${following.lost}. Reconnecting …`);
  return true;
}

function columnsShown() {
  if (state.columns) return state.columns.split(",");
  const names = table.columns.map(({ name }) => name);
  if (!names.includes("message")) return names.filter((name) => name !== "ts");
  return COLUMNS.filter((name) => names.includes(name) || seen.has(name));
}

function toggleColumn(name) {
  const columns = columnsShown();
  const others = columns.filter((other) => other !== name);
  const place = others.includes("message") ? others.indexOf("message") : others.length;
  if (others.length === columns.length) others.splice(place, 0, name);
  setView({ columns: others.join(",") });
  lines.setColumns();
  offerFields();
}

/** Change the view in the address, without a step in the history or a search. */
function setView(changes) {
  Object.assign(state, changes);
  writeAddress();
  drawQuery();
}

function opened(key, ts) {
  openUntil = iso(Math.max(Date.now(), new Date(ts ?? 0)) / 1000 + 1);
  setView({ open: key ?? "" });
  if (key === null) following.show();
}

async function context({ ts, host, path, file_id, offset }, count) {
  const answer = await ask("context", { table: table.id, ts, host, path, file_id, offset, lines: count });
  const found = await answer.json();
  if (found.error) throw new Problem(found.error, 400);
  return found;
}

/** Search all lines around this time. */
function moment(ts) {
  const seconds = new Date(ts) / 1000;
  search({ q: "", where: "", since: iso(seconds - 10), until: iso(seconds + 10) });
}

async function save(format) {
  const controller = new AbortController();
  part("cancel").hidden = false;
  part("cancel").onclick = () => controller.abort();
  const bytes = (number) => setText(part("cancel"), `${shown(number, "bytes").text}: cancel`);
  announce("Downloading …");
  try {
    const name = `${table.id}.${format}`;
    const saved = await download({ ...conditions(), format }, name, controller.signal, bytes);
    const size = format === "ndjson" ? rowsText(saved.lines) : shown(saved.bytes, "bytes").text;
    announce(`Downloaded: ${size} as ${name}`);
  } catch (error) {
    announce("No file is downloaded.");
    showProblem(error, () => save(format));
  }
  part("cancel").hidden = true;
}

function drawQuery() {
  for (const name of ["q", "where"]) if (part(name).value !== state[name]) part(name).value = state[name];
  const name = nameOf(range);
  part("range").hidden = !hasTime();
  for (const end of ["since", "until"]) part(end).value = name ? "" : written(range[end]);
  for (const choice of part("ranges").children) choice.setAttribute("aria-pressed", String(choice.value === name));
  part("back").hidden = !history.state;
  part("table").value = table.id;
  part("table").title = visible(table.title);
  part("dead").hidden = !part("dead").value || table.kind === "dead_letters";
  const path = table.kind === "view" ? "" : `${visible(table.title)} · `;
  setText(part("program"), `${path}spark-sink ${server.version}`);
  split.value = state.by;
  part("wrap").checked = !state.unwrapped;
  part("lines").classList.toggle("unwrapped", Boolean(state.unwrapped));
  const query = [state.q, state.where].filter(Boolean).join(" | ");
  document.title = visible(`${query || "All"}: ${nameOfTable(table)}${rangeText()}`);
}

/** Offer the table's fields first, then members of shown lines by frequency, then other columns. */
function offerFields() {
  const names = new Set(table.columns.map(({ name }) => name));
  const own = table.fields.filter((name) => names.has(name) || seen.has(name));
  const byNumber = [...seen].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  const members = byNumber.filter((name) => !names.has(name) && isSearchable(name));
  const columns = table.columns.flatMap(({ name, type }) => (/binary|struct/.test(type) ? [] : [name]));
  const fields = [...new Set([...own, ...members, ...columns])].filter((name) => !NO_FACET.has(name));
  facets.offer(fields, columnsShown());
  const options = [...new Set(["", ...fields, state.by])].map((name) => new Option(visible(name) || "nothing", name));
  split.replaceChildren(...options);
  split.value = state.by;
}

function announce(sentence) {
  setText(part("status"), sentence);
}

/** Show the failure of the query in place of the previous result. */
function failed(error) {
  if (error.name === "AbortError") return;
  if (survives(error)) return;
  counting.abort();
  lines.flush();
  drawQuery();
  part("histogram").replaceChildren();
  part("main").hidden = !lines.size; // an interrupted response has lines
  if (!lines.size) setText(part("sql"), "");
  announce("");
  showProblem(error, () => (table.error ? start() : run()));
}

addEventListener("popstate", () => {
  if (location.search === address) return; // a link within the page
  readAddress();
  run();
});
setText(part("zone"), zoneText());
listen(lines, { search, widen, setView, save, following, run, start });
start();
