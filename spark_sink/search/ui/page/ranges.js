// Ranges of time: by name, as they are written, as they are asked for, and in words.

import { timeOf } from "./texts.js";

export const RANGES = { "15m": "15 min", "1h": "1 hour", "24h": "24 hours", "7d": "7 days", all: "All" };
const [RECENT, DAY] = [900, 86400]; // seconds

/** Return the range {since, until} to ask for. Where none is chosen it is one that has lines. */
export function rangeOf({ since, until }, newest) {
  if (since === "all") return {};
  if (since || until) return { since, until };
  if (typeof newest !== "number") return {};
  return newest > Date.now() / 1000 - RECENT ? { since: "15m" } : { since: iso(newest - DAY), until: iso(newest + 1) };
}

/** Return the name of a range, "" for one that has none. */
export function nameOf({ since = "all", until }) {
  return !until && since in RANGES ? since : "";
}

/** Return the ranges that are wider, the next one first, as pairs of name and text. */
export function widerThan(range) {
  const names = Object.keys(RANGES);
  const name = nameOf(range);
  return Object.entries(RANGES).slice(name ? names.indexOf(name) + 1 : names.length - 1);
}

export function iso(seconds) {
  return new Date(seconds * 1000).toISOString();
}

/** Return a written time with its zone: one without is of the browser's. What is no date is left to the server. */
export function exact(text) {
  if (!/^\d{4}-\d\d-\d\d([ T][\d:.]+)?$/.test(text)) return text;
  const time = new Date(text.length > 10 ? text.replace(" ", "T") : `${text}T00:00`);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** Return a time as one writes it in the browser's zone. */
export function written(text = "") {
  if (!/^\d{4}-.*Z$/.test(text)) return text;
  const time = new Date(text);
  return new Date(time - 60_000 * time.getTimezoneOffset()).toISOString().replace("T", " ").replace(/(\.000)?Z$/, "");
}

export function describe(range, isChosen) {
  const name = nameOf(range);
  if (name) return name === "all" ? "of all times" : `of the last ${RANGES[name]}`;
  const shown = (time) => (written(time) === time ? time : timeOf(time).replace(/\.000$/, ""));
  const [since, until] = [range.since, range.until].map(shown);
  const text = `${since ? `from ${since} ` : ""}until ${until || "now"}`;
  return isChosen ? text : `of the day before the newest (${text})`;
}
