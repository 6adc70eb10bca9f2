// Lines that land while the table is followed: they come on top, and wait while the reader looks at others.

import { setText } from "./elements.js";
import { clock, shown } from "./units.js";
import { stream } from "./answers.js";

const [FIRST, SLOWEST] = [500, 10_000]; // milliseconds before the connection is tried again

export class Following {
  /** `button` shows the lines that wait; `landed` is called after lines were shown, `again` to follow after a break. */
  constructor(lines, button, { landed, again }) {
    Object.assign(this, { _lines: lines, _button: button, _landed: landed, _again: again, _waiting: [] });
    this.lost = ""; // when the connection was, until it is back
  }

  /** Follow the table; return once it is followed, so that no line is lost between this and what is found. Later `warn`
   * is called with a sentence, and `fail` with an error. */
  async begin({ table, q, where }, limit, signal, { warn, fail }) {
    this._limit = limit;
    const members = stream("follow", { table, q, where }, signal);
    await members.next();
    const take = async () => {
      for await (const [kind, value] of members) {
        if (kind === "row") this._take(value);
        if (kind === "warning") warn(value);
      }
    };
    take().catch(fail);
  }

  forget() {
    this._waiting = [];
    this.lost = "";
    clearTimeout(this._retry);
    this._draw();
  }

  /** Try again after a pause, if there was no answer, or that of a proxy while there is none. Return false otherwise. */
  lose({ status }) {
    if (status !== 0 && !(this.lost && status >= 500)) return false;
    if (!this.lost) [this.lost, this._pause] = [clock(Date.now() / 1000), FIRST];
    clearTimeout(this._retry);
    this._retry = setTimeout(this._again, this._pause);
    this._pause = Math.min(2 * this._pause, SLOWEST);
    return true;
  }

  _take(row) {
    this._waiting.push(row);
    if (this._waiting.length > this._limit) this._waiting.shift();
    if (this._waiting.length === 1) requestAnimationFrame(() => this.show());
    else this._draw();
  }

  /** Show what has landed, unless the reader looks at other lines. */
  show() {
    if (!this._waiting.length) return;
    if (!this._lines.isElsewhere) {
      this._lines.addNewest(this._waiting.splice(0), this._limit);
      this._landed();
    }
    this._draw();
  }

  _draw() {
    const number = this._waiting.length;
    this._button.hidden = !number;
    setText(this._button, `${shown(number, "").exact}${number === this._limit ? " or more" : ""} new: show`);
  }
}
