// Asks the server: answers as JSON, as streams of JSON lines, and as files. The token goes with each request.

const TOKEN = "token";
const BROKEN = "The connection broke before the end of the answer: what is shown may be incomplete. Search again.";

/** Raised with a sentence for the reader. `status`: of HTTP; 400 also within a stream; 0 where there was no answer.
 * `box`: the one in which the mistake is, where that is known. */
export class Problem extends Error {
  constructor(message, status = 0, box = undefined) {
    super(message);
    Object.assign(this, { status, box });
  }
}

/** Take the token out of the address, where it would be shared with it. */
export function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get(TOKEN);
  if (token === null) return;
  keepToken(token);
  history.replaceState(history.state, "", location.pathname + location.search);
}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

/** Return the response. Throws Problem, or what an abort throws. */
export async function ask(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const token = sessionStorage.getItem(TOKEN);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(`${path}?${new URLSearchParams(given)}`, { headers, signal, cache: "no-store" });
  } catch (error) {
    throw translated(error, "There is no connection to spark-sink ui: see whether it still runs, and search again.");
  }
  if (response.ok) return response;
  const text = (await response.text().catch(() => "")).trim();
  throw new Problem(text || `The server answers with HTTP status ${response.status}.`, response.status);
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

/** An integer with more digits than a number has here stays a text. */
function exact(key, value, context) {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? (context?.source ?? value) : value;
}

/** Give a file to the browser to save; `progress` is called with the bytes that have come. Return {bytes, lines}. */
export async function download(parameters, name, signal, progress) {
  const response = await ask("download", parameters, signal);
  const parts = [];
  const saved = { bytes: 0, lines: 0 };
  try {
    for await (const part of pieces(response.body)) {
      parts.push(part);
      for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) saved.lines += 1;
      progress((saved.bytes += part.length));
    }
  } catch (error) {
    throw translated(error, "The connection broke during the download: no file was saved. Try again.");
  }
  const address = URL.createObjectURL(new Blob(parts));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return saved;
}

/** Not every browser iterates over a stream itself. */
async function* pieces(body) {
  const reader = body.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    reader.cancel().catch(() => {}); // the server notices that no more is wanted
  }
}

function translated(error, sentence) {
  return error instanceof Problem || error.name === "AbortError" ? error : new Problem(sentence);
}
