// Numbers, sizes, durations and times as people read them. `shown` is the front: the text, and the exact value.

const EXACT = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTES = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

const GAP = "\u00a0"; // between a number and its unit: no line ends there
const UNKNOWN = { text: "–", exact: "unknown" };

/** Return a value as {text, exact}. `kind` is that of a table's column, or the unit of a figure, in the plural. */
export function shown(value, kind) {
  if (kind === "text") return { text: String(value ?? "–"), exact: "" };
  if (typeof value !== "number" || !Number.isFinite(value)) return UNKNOWN;
  switch (kind) {
    case "bytes":
      return { text: bytes(value), exact: `${EXACT.format(value)} bytes` };
    case "seconds":
      return { text: duration(value), exact: `${EXACT.format(value)} s` };
    case "time":
      return { text: moment(value), exact: new Date(value * 1000).toISOString() };
    case "number": // of a table, where it may be an offset
      return { text: exactly(value), exact: EXACT.format(value) };
    case "":
      return { text: count(value), exact: EXACT.format(value) };
    case "percent":
      return { text: `${count(value)}${GAP}%`, exact: `${EXACT.format(value)} %` };
    default:
      return { text: `${count(value)}${GAP}${named(value, kind)}`, exact: `${EXACT.format(value)} ${named(value, kind)}` };
  }
}

function named(value, unit) {
  return value === 1 ? unit.replace(/(?<=ch)es$|s$/, "") : unit;
}

/** Return a value of a unit that may be a second's, as "events/s". */
export function measured(value, unit) {
  if (value === null) return "unknown";
  const each = unit.endsWith("/s");
  const what = each ? unit.slice(0, -2) : unit;
  return shown(value, what).text + (each ? "/s" : "");
}

/** Return a value of a chart's axis: counts without their unit, which the title has. */
export function tick(value, unit) {
  return /^(bytes|seconds|percent)/.test(unit) ? measured(value, unit) : count(value);
}

function exactly(value) {
  return Number.isInteger(value) ? WHOLE.format(value) : count(value);
}

function count(value) {
  const size = Math.abs(value);
  if (size >= 99999.5) return scaled(value, 1000, ["", "k", "M", "G", "T", "P"]);
  if (Number.isInteger(value) || size >= 100) return WHOLE.format(value);
  return size >= 0.05 ? EXACT.format(Math.round(value * 10) / 10) : DIGITS.format(value);
}

function bytes(value) {
  if (Math.abs(value) < 1000) return `${count(value)}${GAP}B`;
  return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

function scaled(value, base, names) {
  let power = 0;
  let rest = value;
  while (Math.abs(rest) >= 999.5 && power < names.length - 1) {
    rest /= base;
    power += 1;
  }
  return `${DIGITS.format(rest)}${GAP}${names[power]}`;
}

export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return `0${GAP}s`;
  if (size < 0.0009995) return `${DIGITS.format(seconds * 1e6)}${GAP}µs`;
  if (size < 0.9995) return `${DIGITS.format(seconds * 1000)}${GAP}ms`;
  if (size < 9.95) return `${seconds.toFixed(1)}${GAP}s`;
  if (size < 59.5) return `${Math.round(seconds)}${GAP}s`;
  return parts(Math.round(size));
}

function parts(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return two(minutes, "min", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return two(hours, "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

function two(first, unit, second, smaller) {
  return [first, unit, ...(second ? [second, smaller] : [])].join(GAP);
}

/** Return the time of day, with the day where it is not today. */
export function moment(unix) {
  const time = new Date(unix * 1000);
  const today = time.toDateString() === new Date().toDateString();
  return today ? CLOCK.format(time) : `${DAY.format(time)} ${MINUTES.format(time)}`;
}

export function clock(unix, withSeconds = true) {
  return (withSeconds ? CLOCK : MINUTES).format(new Date(unix * 1000));
}

export function day(unix, withYear = false) {
  return (withYear ? DATE : DAY).format(new Date(unix * 1000));
}

/** Return in which zone times are shown. */
export function zoneText() {
  const minutes = -new Date().getTimezoneOffset();
  const sign = minutes < 0 ? "−" : "+";
  const hours = Math.floor(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  const zone = minutes ? `UTC${sign}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}` : "UTC";
  return `Times are in the browser's zone, ${zone}.`;
}
