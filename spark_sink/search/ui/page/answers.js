// Requests to the server, with the token: JSON documents, streams of JSON lines, and files.

const TOKEN = "token";
const BROKEN = "The connection broke before the end of the response. The result may be incomplete. Search again.";

/** An error with a message for the user. `status`: that of HTTP; 400 also within a stream; 0 without a response. `box`:
 * the input with the error, if it is known. */
export class Problem extends Error {
  constructor(message, status = 0, box = undefined) {
    super(message);
    Object.assign(this, { status, box });
  }
}

/** Move the token from the address, which users share, to the session. */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get(TOKEN);
  if (token === null) return;
  keepToken(token);
  history.replaceState(history.state, "", location.pathname + location.search);
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

/** Return the response. Throws Problem, or AbortError. */
export async function ask(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const token = sessionStorage.getItem(TOKEN);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(`${path}?${new URLSearchParams(given)}`, { headers, signal, cache: "no-store" });
  } catch (error) {
    throw translated(error, "Cannot reach spark-sink ui. Check that it is running, and search again.");
  }
  if (response.ok) return response;
  const text = (await response.text().catch(() => "")).trim();
  throw new Problem(text || `The server responded with HTTP status ${response.status}.`, response.status);
}

/** Yield the members of a stream, as [name, value], up to its end. Throws Problem. */
export async function* stream(path, parameters, signal) {
  const response = await ask(path, parameters, signal);
  let rest = "";
  try {
    for await (const text of pieces(response.body.pipeThrough(new TextDecoderStream()))) {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines.filter(Boolean)) {
        const [[name, value]] = Object.entries(JSON.parse(line, exact));
        if (name === "error") throw new Problem(value, 400);
        yield [name, value];
        if (name === "end") return;
      }
    }
  } catch (error) {
    throw translated(error, BROKEN);
  }
  throw new Problem(BROKEN);
}

/** Keep integers beyond JavaScript's safe range as text. */
function exact(key, value, context) {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;
}

/** Have the browser save a file; `progress` is called with the number of received bytes. Return {bytes, lines}. */
export async function download(parameters, name, signal, progress) {
  const response = await ask("download", parameters, signal);
  const parts = [];
  const saved = { bytes: 0, lines: 0 };
  try {
    for await (const part of pieces(response.body)) {
      parts.push(part);
      for (let end = part.indexOf(10); end >= 0; end = part.indexOf(10, end + 1)) saved.lines += 1;
      progress((saved.bytes += part.length));
    }
  } catch (error) {
    throw translated(error, "The connection broke during the download. No file is saved. Try again.");
  }
  const address = URL.createObjectURL(new Blob(parts));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return saved;
}

/** Some browsers cannot iterate over a stream. */
async function* pieces(body) {
  const reader = body.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    reader.cancel().catch(() => {}); // stops the server
  }
}

function translated(error, sentence) {
  return error instanceof Problem || error.name === "AbortError" ? error : new Problem(sentence);
}
