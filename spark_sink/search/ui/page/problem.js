// Shows an error, the box with the error, and a button to try again.

import { button } from "./lines.js";
import { setAttribute } from "./elements.js";
import { visible } from "./texts.js";

export const BOXES = { q: "Search", where: "SQL condition", since: "From", until: "Until" };
const NONE = { message: "", status: 400 };

const part = (id) => document.getElementById(id);

/** Show an error, with a button to try again unless the query is invalid; ask for a missing token. Null: clear it. */
export function showProblem(error, again) {
  if (error?.name === "AbortError") return;
  const { message, status, box = boxIn(message) } = error ?? NONE;
  for (const name of Object.keys(BOXES)) setAttribute(part(name), "aria-invalid", name === box ? "true" : null);
  part("token-form").hidden = status !== 401;
  if (status === 401) part("token").focus();
  const text = box && !error.box ? `${BOXES[box]}: ${message.replace(/^the (search|SQL condition) /, "")}` : message;
  part("problem").replaceChildren(visible(text, "\n"), ...(status === 400 ? [] : [" ", button("Try again", again)]));
}

/** Return the box that the server's message is about, if it names one. */
function boxIn(message) {
  if (/SQL condition/.test(message)) return "where";
  if (/time range is empty/.test(message)) return "since";
  return /^the search |^OR is|is not a valid field name|has no column/.test(message) ? "q" : "";
}
