// User input: the form, the buttons and the keys.

import { RANGES } from "./ranges.js";
import { element } from "./elements.js";
import { keepToken } from "./answers.js";

const KEYS_OFF = "keys-off";

const part = (id) => document.getElementById(id);

/** Listen to the static elements of the page; the functions are those of search.js. */
export function listen(lines, { search, widen, setView, save, following, run, start }) {
  const on = (id, event, act) => part(id).addEventListener(event, act);
  const submitted = (act) => (event) => {
    event.preventDefault();
    act();
  };
  for (const [value, text] of Object.entries(RANGES)) {
    const choice = element("button", { type: "button", value, "aria-pressed": "false" }, [text]);
    choice.addEventListener("click", () => search({ since: value, until: "" }));
    part("ranges").append(choice);
  }
  on("query", "submit", submitted(() => search(written())));
  for (const id of ["since", "until"]) on(id, "change", () => search(written()));
  on("table", "change", () => search({ table: part("table").value, columns: "", by: "" }));
  const all = { q: "", where: "", since: "all", until: "", columns: "", by: "" };
  on("dead", "click", () => search({ ...all, table: part("dead").value }));
  on("histogram", "change", ({ target }) => search({ by: target.value }));
  on("wrap", "change", () => setView({ unwrapped: part("wrap").checked ? "" : "1" }));
  on("follow", "change", ({ target }) => (target.checked && part("until").value ? search({ until: "" }) : run()));
  on("back", "click", widen);
  on("q", "search", ({ target }) => target.value || search(written())); // after clearing
  on("waiting", "click", () => {
    lines.close();
    scrollTo({ top: 0 });
    following.show();
  });
  addEventListener("scroll", () => following.show(), { passive: true });
  for (const format of ["ndjson", "parquet"]) on(format, "click", () => save(format));
  on("token-form", "submit", submitted(() => (keepToken(part("token").value), start())));
  part("facets").open = matchMedia("(min-width: 60rem)").matches;
  listenToKeys(lines);
}

/** Return the values of the boxes; a range selected by name is kept unless times are entered. */
function written() {
  const [q, where, since, until] = ["q", "where", "since", "until"].map((id) => part(id).value.trim());
  const name = part("ranges").querySelector("[aria-pressed=true]")?.value ?? "";
  return { q, where, since: since || until ? since : name, until };
}

function listenToKeys(lines) {
  const keys = {
    "/": () => (part("q").focus(), part("q").select()),
    j: () => lines.move(1),
    k: () => lines.move(-1),
    f: () => part("follow").click(),
    "?": () => part("keys").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || part("keys").open) return;
    const { target, key } = event;
    const isTyping = target.matches("input:not([type=checkbox]), select, textarea");
    if (key === "Escape" && isTyping) {
      event.preventDefault(); // it would clear the box
      return target.blur();
    }
    if (isTyping || target.getAttribute("role") === "slider") return;
    if (key === "Escape") return lines.close();
    const isMove = part("lines").contains(target) && !target.closest(".panel") && { ArrowDown: 1, ArrowUp: -1 }[key];
    const act = isMove ? () => lines.move(isMove) : part("keys-on").checked ? keys[key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  });
  part("keys-button").addEventListener("click", keys["?"]);
  part("keys-on").checked = !localStorage.getItem(KEYS_OFF);
  part("keys-on").addEventListener("change", ({ target }) => {
    if (target.checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "1");
  });
}
