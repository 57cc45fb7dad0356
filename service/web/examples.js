// Sentences to try, in the language of the text.

import { $, button, made } from "./dom.js";
import { source } from "./session.js";

const EXAMPLES = {
  en: ["I lost my keys yesterday.", "My sister never told me why she left so early.", "Would you like a cup of tea?"],
  fr: ["J'ai perdu mes clés hier.", "Ma sœur ne m'a jamais dit pourquoi elle est partie si tôt.", "Voulez-vous une tasse de thé ?"],
  de: ["Ich habe gestern meine Schlüssel verloren.", "Meine Schwester hat mir nie gesagt, warum sie so früh ging.", "Möchten Sie eine Tasse Tee?"],
};

let pick = () => {};

// `chosen` gets the text of an example that is clicked.
export function listenToExamples(chosen) {
  pick = chosen;
}

// Show the examples while there is no text; `sources` are the languages that the server translates from.
export function showExamples(text, sources) {
  const known = source() ? [source()] : sources;
  const texts = known.flatMap((code) => (EXAMPLES[code] ?? []).slice(0, source() ? 3 : 1).map((example) => [code, example]));
  $("examples").hidden = Boolean(text) || texts.length === 0;
  if ($("examples").hidden) return;
  $("examples-list").replaceChildren(...texts.map(([code, example]) => made("li", {}, button(example, undefined, { lang: code, onclick: () => pick(example) }))));
}
