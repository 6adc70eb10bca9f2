// New lines of a followed table: added on top, or queued while the user reads other lines.

import { setText } from "./elements.js";
import { clock, shown } from "./units.js";
import { stream } from "./answers.js";

const [MIN_PAUSE, MAX_PAUSE] = [500, 10_000]; // milliseconds before a reconnection

export class Following {
  /** `button` shows queued lines; `landed` is called after lines are shown, `again` to reconnect. */
  constructor(lines, button, { landed, again }) {
    Object.assign(this, { _lines: lines, _button: button, _landed: landed, _again: again, _waiting: [] });
    this.lost = ""; // the time when the connection was lost, until it is restored
  }

  /** Follow the table. Return when the server does, so that no line is missed between following and the search. Later,
   * `warn` is called with a message, and `fail` with an error. */
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

  /** Reconnect after a pause, if the server did not respond, or a proxy in its place. Return false for other errors. */
  lose({ status }) {
    if (status !== 0 && !(this.lost && status >= 500)) return false;
    if (!this.lost) [this.lost, this._pause] = [clock(Date.now() / 1000), MIN_PAUSE];
    clearTimeout(this._retry);
    this._retry = setTimeout(this._again, this._pause);
    this._pause = Math.min(2 * this._pause, MAX_PAUSE);
    return true;
  }

  _take(row) {
    this._waiting.push(row);
    if (this._waiting.length > this._limit) this._waiting.shift();
    if (this._waiting.length === 1) requestAnimationFrame(() => this.show());
    else this._draw();
  }

  /** Show queued lines, unless the user reads other lines. */
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
