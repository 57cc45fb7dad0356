// A sentence while it is being written: its tokens, how sure the model was, and where it looked.

import { t } from "./i18n.js";
import { labels } from "./tokens.js";

export class Live {
  constructor(output, box) {
    this.output = output;
    this.box = box;
    output.textContent = "";
    output.classList.add("draft");
    box.replaceChildren();
    box.hidden = false;
  }

  // A sentence begins; `tokens` are those of its source.
  begin({ source, gap }) {
    if (gap) this.output.append(gap);
    this.columns = source.tokens;
    this.table = document.createElement("table");
    this.table.createCaption().textContent = t("Where each token looked when it was written");
    const head = this.table.createTHead().insertRow();
    head.append(document.createElement("td"), ...labels(this.columns).map((label) => this.cell("th", label)));
    this.body = this.table.createTBody();
    this.box.append(this.table);
  }

  token({ text, token, attention }) {
    if (text) this.output.append(text);
    const row = this.body.insertRow();
    row.append(this.cell("th", ...labels([token])));
    for (const weight of attention) {
      const cell = row.insertCell();
      cell.style.background = `color-mix(in srgb, var(--bar) ${Math.round(weight * 100)}%, transparent)`;
      cell.textContent = weight >= 0.95 ? "1" : weight >= 0.1 ? weight.toFixed(1).slice(1) : "";
      cell.setAttribute("aria-label", weight.toFixed(2));
    }
    row.scrollIntoView({ block: "nearest" });
  }

  cell(kind, label) {
    const made = document.createElement(kind);
    made.textContent = label;
    return made;
  }

  // The tables stay: they are what was watched.
  end() {
    this.output.classList.remove("draft");
    this.box.scrollTop = 0;
    if (!this.table) this.box.hidden = true;
  }
}
