// Marks the sentences of a translation that may be wrong. The server computes the quality; see docs/confidence.md.

import { t } from "./i18n.js";

export const LOW = 0.3; // at most every third such sentence is usable

export const isLow = (sentence) => typeof sentence.quality === "number" && sentence.quality < LOW;

// The numbers of the low sentences, from 1, the worst first.
export function worstFirst(sentences) {
  const low = sentences.map((one, at) => [one.quality, at + 1]).filter((_, at) => isLow(sentences[at]));
  return low.sort(([one], [other]) => one - other).map(([, number]) => number);
}

// Show a translation, its low sentences underlined. Offsets of tokens count code points.
export function showMarked(box, text, sentences) {
  const points = [...text];
  const parts = [];
  let end = 0;
  for (const sentence of sentences.filter(isLow)) {
    const tokens = sentence.target.tokens.filter((token) => !token.special);
    if (!tokens.length || tokens[0].start < end) continue;
    const mark = Object.assign(document.createElement("mark"), { className: "low", title: t("This sentence may be wrong.") });
    const last = Math.max(...tokens.map((token) => token.end));
    mark.textContent = points.slice(tokens[0].start, last).join("");
    parts.push(points.slice(end, tokens[0].start).join(""), mark);
    end = last;
  }
  box.replaceChildren(...parts, points.slice(end).join(""));
}
