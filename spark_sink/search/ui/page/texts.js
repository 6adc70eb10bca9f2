// A row as text: its fields and time, escaped control characters, and the words of a query.

import { clock, day, zoneText } from "./units.js";
import { element } from "./elements.js";

// Control characters, also those of text direction, and lone surrogates. As in visible.py.
const HIDDEN = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu;
export const [ZONE] = /UTC[^.]*/.exec(zoneText());
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const FIELD = /^[A-Za-z_@][\w@./-]*$/;
const TERM = /-?(?:[A-Za-z_@][\w@./-]*:(?=[^/\s]|\/[^/]))?(?:"(?:[^"\\]|\\.)*"|\S+)/g; // as in terms.py
const LEVELS = [ // worst first
  [/^(emerg|alert|crit|fatal|panic)/i, "failing"],
  [/^(err|severe)/i, "failing"],
  [/^warn/i, "degraded"],
  [/^(info|notice)/i, null],
  [/^(debug|fine$)/i, null],
  [/^(trace|fine)/i, null],
];

/** Return the text with escaped control characters, except those in `keep`. */
export function visible(text, keep = "") {
  return text.replace(HIDDEN, (found) => {
    if (keep.includes(found)) return found;
    const code = found.codePointAt(0);
    return SHORT[found] ?? (code < 32 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });
}

function hex(code, digits) {
  return code.toString(16).padStart(digits, "0");
}

/** Return the fields of a row by their names: {"kubernetes": {"pod": "x"}} of `doc` is kubernetes.pod. */
export function fieldsOf(row) {
  const fields = new Map();
  for (const [name, value] of Object.entries(row)) if (!isNested(value)) fields.set(name, value);
  for (const [name, value] of Object.entries(row))
    if (isNested(value)) flatten(fields, value, name === "doc" ? "" : name);
  return fields;
}

function flatten(fields, object, prefix) {
  for (const [key, value] of Object.entries(object)) {
    const name = prefix ? `${prefix}.${key}` : key;
    if (isNested(value)) flatten(fields, value, name);
    else if (!fields.has(name)) fields.set(name, value);
  }
}

function isNested(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0;
}

export function textOf(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function isLevel(field) {
  return /^(log\.)?level$/.test(field);
}

/** Return the rank of a level, worst first; an unknown one is last. */
export function rankOf(level) {
  const rank = LEVELS.findIndex(([words]) => words.test(level));
  return rank < 0 ? LEVELS.length : rank;
}

/** Return the state for the colour of a level, null without a colour. */
export function stateOf(level) {
  return LEVELS[rankOf(level)]?.[1] ?? null;
}

/** Return the level at the beginning of a line, null without one. */
export function levelIn(text) {
  return /\b(EMERG|ALERT|CRIT|FATAL|ERR|SEVERE|PANIC|WARN)[A-Z]*\b/.exec(text.slice(0, 120))?.[0] ?? null;
}

/** Return a time in the browser's zone with milliseconds, and its day unless it is today. */
export function timeOf(iso) {
  if (!iso) return "no time";
  const time = new Date(iso);
  const text = `${clock(time / 1000)}.${String(time.getMilliseconds()).padStart(3, "0")}`;
  return time.toDateString() === new Date().toDateString() ? text : `${day(time / 1000)} ${text}`;
}

/** Return a row as text that is safe to paste: no control characters, and no formula starts a line or cell. */
export function pasted(row) {
  const lines = textOf(row.message).split("\n").map((line) => visible(line));
  const [host, path] = [row.host, row.path].map((value) => visible(textOf(value) || "-"));
  return `${row.ts ?? "(no time)"} ${host} ${path}: ${lines.join("\n    ")}`;
}

/** Return a key of a row by its file or by Kafka, null if the table has neither. */
export function keyOf({ host, file_id, offset, topic, partition, kafka_offset }) {
  if (file_id && offset !== null && offset !== undefined) return JSON.stringify([host ?? "", file_id, offset]);
  return topic && kafka_offset !== undefined ? JSON.stringify([topic, partition, kafka_offset]) : null;
}

/** Return true if this value of a field can be searched: times have another form in the table. */
export function isSearchable(field, value) {
  return FIELD.test(field) && !isTime(value);
}

export function isTime(value) {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
}

/** Return the query with a condition on a field, which replaces contradicting ones. */
export function withTerm(query, field, value, isNot) {
  const isMissing = value === null || value === undefined;
  const term = `${field}:${isMissing ? "*" : quoted(textOf(value))}`;
  const others = (query.match(TERM) ?? []).filter(
    (other) => other.replace(/^-/, "") !== term && (isNot || !other.startsWith(`${field}:`)),
  );
  return [...others, isNot === isMissing ? term : `-${term}`].join(" ");
}

function quoted(text) {
  return /^[\w./@%+=~-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Return the pattern of the words of a query, null without words. */
export function wordsOf(query) {
  const words = (query.match(TERM) ?? []).filter((term) => !/^-|^[A-Za-z_@][\w@./-]*:([^/]|\/[^/])/.test(term));
  const isPhrase = (word) => /^".*"$/s.test(word);
  const texts = words.map((word) => (isPhrase(word) ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word)).filter(Boolean);
  if (!texts.length) return null;
  return new RegExp(texts.map(patternOf).join("|"), "gu");
}

/** Return the pattern of a word; in lower case, it matches any case. */
function patternOf(text) {
  const letters = (letter) => `[${letter}${letter.toUpperCase()}]`;
  const escaped = text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return text === text.toLowerCase() ? escaped.replace(/\p{Ll}/gu, letters) : escaped;
}

/** Return the text as nodes, with a mark around each searched word. */
export function marked(text, words, keep) {
  const nodes = [];
  let end = 0;
  for (const match of words ? text.matchAll(words) : []) {
    nodes.push(visible(text.slice(end, match.index), keep), element("mark", {}, [visible(match[0], keep)]));
    end = match.index + match[0].length;
  }
  return [...nodes, visible(text.slice(end), keep)];
}
