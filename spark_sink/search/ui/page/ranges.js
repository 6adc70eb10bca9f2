// Time ranges: names, input, requests, and descriptions.

import { BOXES } from "./problem.js";
import { Problem } from "./answers.js";
import { timeOf } from "./texts.js";

export const RANGES = { "15m": "15 min", "1h": "1 hour", "24h": "24 hours", "7d": "7 days", all: "All" };
const [RECENT, DAY] = [900, 86400]; // seconds
const DAYS_BACK = new Map([["today", 0], ["yesterday", 1]]);
const AGO = /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$|^\d+(\.\d+)?d$/; // as in moments.py
const TIME = /^(?:(\d{4}-\d\d-\d\d)(?:[T ](?=\d)|$))?(\d\d?:\d\d(?::\d\d(?:\.\d+)?)?)?$/;
const ZONED = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
const ADVICE =
  "Write how long ago (15m, 36h, 7d), a time of day (11:15), a date (2026-11-24), both, now, today or yesterday.";

/** Return the range {since, until} to request; by default one that has lines. Throws Problem. */
export function rangeOf(state, newest) {
  if (state.since === "all") return {};
  const [since, until] = [exact(state.since), exact(state.until)];
  for (const [box, text, time] of [["since", state.since, since], ["until", state.until, until]])
    if (time === null) throw new Problem(`${BOXES[box]}: ${text} is not a time. ${ADVICE}`, 400, box);
  if (ZONED.test(since) && ZONED.test(until) && new Date(since) > new Date(until))
    throw new Problem("From: this is later than Until.", 400, "since");
  if (since || until) return { since, until };
  if (typeof newest !== "number") return {};
  return newest > Date.now() / 1000 - RECENT ? { since: "15m" } : { since: iso(newest - DAY), until: iso(newest + 1) };
}

/** Return the name of a range, "" without one. */
export function nameOf({ since = "all", until }) {
  return !until && since in RANGES ? since : "";
}

/** Return the wider ranges, the next one first, as pairs of name and text. */
export function widerThan(range) {
  const names = Object.keys(RANGES);
  const name = nameOf(range);
  return Object.entries(RANGES).slice(name ? names.indexOf(name) + 1 : names.length - 1);
}

export function iso(seconds) {
  return new Date(seconds * 1000).toISOString();
}

/** Return a time of the server in the form of an address, "" for none. */
export function utc(text) {
  return text ? iso(new Date(text) / 1000) : "";
}

/** Return an entered time with a zone, by default the browser's. Durations stay durations; null for an invalid time. */
export function exact(text) {
  if (text === "" || text === "now" || text in RANGES || AGO.test(text) || ZONED.test(text)) return text;
  const today = new Date();
  today.setHours(0, 0, 0, 0);
  if (DAYS_BACK.has(text)) return new Date(today.setDate(today.getDate() - DAYS_BACK.get(text))).toISOString();
  const [, date = written(today.toISOString()).slice(0, 10), clock = "00:00"] = TIME.exec(text) ?? [null, ""];
  const time = new Date(`${date}T${clock.replace(/^\d:/, "0$&")}`);
  if (Number.isNaN(time.getTime()) || !written(time.toISOString()).startsWith(date)) return null; // 30 February
  return time.toISOString();
}

/** Return a time in the browser's zone, in the form of the input. */
export function written(text = "") {
  if (!/^\d{4}-.*Z$/.test(text)) return text;
  const time = new Date(text);
  return new Date(time - 60_000 * time.getTimezoneOffset()).toISOString().replace("T", " ").replace(/(\.000)?Z$/, "");
}

/** Return a range in words, to follow a noun. */
export function describe(range, isChosen) {
  const name = nameOf(range);
  if (name) return name === "all" ? "at any time" : `in the last ${RANGES[name]}`;
  const shown = (time) => (written(time) === time ? time : timeOf(time).replace(/\.000$/, ""));
  const [since, until] = [range.since, range.until].map(shown);
  const text = `${since ? `from ${since} ` : ""}until ${until || "now"}`;
  return isChosen ? text : `in the day before the newest line (${text})`;
}
