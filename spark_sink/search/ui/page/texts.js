// A row as texts: its fields, its time, what is shown of characters that are obeyed elsewhere, and the words of a query.

import { clock, day, zoneText } from "./units.js";
import { element } from "./elements.js";

// What a terminal might obey, or what turns text around; surrogates without their other half. As visible.py has it.
const HIDDEN = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu;
export const [ZONE] = /UTC[^.]*/.exec(zoneText());
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const FIELD = /^[A-Za-z_@][\w@./-]*$/;
const TERM = /-?(?:[A-Za-z_@][\w@./-]*:(?=[^/\s]|\/[^/]))?(?:"(?:[^"\\]|\\.)*"|\S+)/g; // as terms.py has it
const LEVELS = [ // the worst first
  [/^(emerg|alert|crit|fatal|panic)/i, "failing"],
  [/^(err|severe)/i, "failing"],
  [/^warn/i, "degraded"],
  [/^(info|notice)/i, null],
  [/^(debug|fine$)/i, null],
  [/^(trace|fine)/i, null],
];

/** Return the text with escapes for all that is not shown, but for the characters in `keep`. */
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

/** Return the place of a level among all, the worst first; what is not known is the last. */
export function rankOf(level) {
  const rank = LEVELS.findIndex(([words]) => words.test(level));
  return rank < 0 ? LEVELS.length : rank;
}

/** Return a state of the page's colours for a level, null for one that is not marked. */
export function stateOf(level) {
  return LEVELS[rankOf(level)]?.[1] ?? null;
}

/** Return the word for a level at the beginning of a line; null where there is none. */
export function levelIn(text) {
  return /\b(EMERG|ALERT|CRIT|FATAL|ERR|SEVERE|PANIC|WARN)[A-Z]*\b/.exec(text.slice(0, 120))?.[0] ?? null;
}

/** Return a time of the browser's zone with milliseconds, and its day where it is not today. */
export function timeOf(iso) {
  if (!iso) return "no time";
  const time = new Date(iso);
  const text = `${clock(time / 1000)}.${String(time.getMilliseconds()).padStart(3, "0")}`;
  return time.toDateString() === new Date().toDateString() ? text : `${day(time / 1000)} ${text}`;
}

/** Return a row as text to paste: no terminal obeys it, and no line or cell of it begins with a formula. */
export function pasted(row) {
  const lines = textOf(row.message).split("\n").map((line) => visible(line));
  const [host, path] = [row.host, row.path].map((value) => visible(textOf(value) || "-"));
  return `${row.ts ?? "(no time)"} ${host} ${path}: ${lines.join("\n    ")}`;
}

/** Return a name for a row that is one of a file or of Kafka; null where the table has neither. */
export function keyOf({ host, file_id, offset, topic, partition, kafka_offset }) {
  if (file_id && offset !== null && offset !== undefined) return JSON.stringify([host ?? "", file_id, offset]);
  return topic && kafka_offset !== undefined ? JSON.stringify([topic, partition, kafka_offset]) : null;
}

/** True if lines can be searched for this value of a field: a time has a form of its own in the table. */
export function isSearchable(field, value) {
  return FIELD.test(field) && !isTime(value);
}

export function isTime(value) {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
}

/** Return the query with a condition on a field, in place of those that it contradicts. */
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

/** Return the pattern of the words that lines are searched for; null where there is none. */
export function wordsOf(query) {
  const words = (query.match(TERM) ?? []).filter((term) => !/^-|^[A-Za-z_@][\w@./-]*:([^/]|\/[^/])/.test(term));
  const isPhrase = (word) => /^".*"$/s.test(word);
  const texts = words.map((word) => (isPhrase(word) ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word)).filter(Boolean);
  if (!texts.length) return null;
  return new RegExp(texts.map(patternOf).join("|"), "gu");
}

/** A word in lower case is found in either case. */
function patternOf(text) {
  const letters = (letter) => `[${letter}${letter.toUpperCase()}]`;
  const escaped = text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return text === text.toLowerCase() ? escaped.replace(/\p{Ll}/gu, letters) : escaped;
}

/** Return the text as nodes, with a mark around each word that was searched for. */
export function marked(text, words, keep) {
  const nodes = [];
  let end = 0;
  for (const match of words ? text.matchAll(words) : []) {
    nodes.push(visible(text.slice(end, match.index), keep), element("mark", {}, [visible(match[0], keep)]));
    end = match.index + match[0].length;
  }
  return [...nodes, visible(text.slice(end), keep)];
}
