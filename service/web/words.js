// The two sentences as words that can be pointed at: partners of the alignment light up on the other side.

import { t } from "./i18n.js";

export class Words {
  constructor(sourceBox, targetBox, note) {
    this.boxes = { source: sourceBox, target: targetBox };
    this.note = note;
    for (const side of ["source", "target"]) {
      const box = this.boxes[side];
      box.addEventListener("pointerover", (event) => this.point(side, event.target));
      box.addEventListener("focusin", (event) => this.point(side, event.target));
      box.addEventListener("click", (event) => this.point(side, event.target));
      box.addEventListener("pointerleave", () => this.clear());
      box.addEventListener("focusout", () => this.clear());
      box.addEventListener("keydown", (event) => this.move(side, event));
    }
  }

  // `map` is an answer of /attention with tokens=word.
  show(map) {
    this.map = map;
    for (const side of ["source", "target"]) {
      const { text, tokens } = map[side];
      const points = [...text]; // offsets count code points
      this.boxes[side].replaceChildren();
      let end = 0;
      tokens.forEach((token, number) => {
        if (token.start > end) this.boxes[side].append(points.slice(end, token.start).join(""));
        end = Math.max(end, token.end);
        this.boxes[side].append(this.word(side, token, number));
      });
    }
    this.clear();
  }

  word(side, token, number) {
    const word = document.createElement("button");
    word.type = "button";
    word.className = token.special ? "word end" : "word";
    word.dataset.number = number;
    word.tabIndex = number === 0 ? 0 : -1;
    word.textContent = token.special ?? token.text;
    if (side === "target") {
      const chance = Math.exp(Math.min(this.map.token_logprobs[number] ?? 0, 0));
      word.style.setProperty("--p", chance.toFixed(3));
      word.setAttribute("aria-description", t("probability {percent}", { percent: percent(chance) }));
    }
    return word;
  }

  partners(side, number) {
    const [own, other] = side === "source" ? [0, 1] : [1, 0];
    return this.map.alignment.filter((pair) => pair[own] === number).map((pair) => pair[other]);
  }

  point(side, element) {
    const word = element.closest?.(".word");
    if (!word || !this.map) return;
    const number = Number(word.dataset.number);
    const other = side === "source" ? "target" : "source";
    this.clear();
    word.classList.add("on");
    const found = this.partners(side, number);
    for (const partner of found) this.boxes[other].querySelector(`[data-number="${partner}"]`)?.classList.add("on");
    this.tell(side, other, number, found);
  }

  tell(side, other, number, found) {
    const name = (which, at) => {
      const token = this.map[which].tokens[at];
      return token.special ?? `“${token.text}”`;
    };
    const word = name(side, number);
    const aligned = found.length
      ? t("{word} is aligned with {partners}", { word, partners: found.map((at) => name(other, at)).join(", ") })
      : t("{word} is not aligned", { word });
    const chance = Math.exp(Math.min(this.map.token_logprobs[number] ?? 0, 0));
    const sure = side === "target" ? `; ${t("probability {percent}, rank {rank}", { percent: percent(chance), rank: this.map.token_ranks[number] })}` : "";
    this.note.textContent = aligned + sure;
  }

  move(side, event) {
    const words = [...this.boxes[side].querySelectorAll(".word")];
    const at = words.indexOf(event.target);
    const leftToRight = getComputedStyle(this.boxes[side]).direction === "ltr";
    const next = { ArrowRight: leftToRight ? at + 1 : at - 1, ArrowLeft: leftToRight ? at - 1 : at + 1, Home: 0, End: words.length - 1 }[event.key];
    if (at < 0 || next === undefined || !words[next]) return;
    event.preventDefault();
    words[at].tabIndex = -1;
    words[next].tabIndex = 0;
    words[next].focus();
  }

  clear() {
    for (const box of Object.values(this.boxes)) box.querySelectorAll(".on").forEach((word) => word.classList.remove("on"));
    this.note.textContent = "";
  }
}

export const percent = (value) => (value >= 0.1 ? `${Math.round(value * 100)} %` : `${(value * 100).toPrecision(2)} %`);
