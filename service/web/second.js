// The same text by the other model of the pair, beside the translation.

import { post } from "./api.js";
import { t } from "./i18n.js";
import { searchFields } from "./requests.js";
import { model, nameOfModel, other, pair, pivot, source } from "./session.js";
import { state } from "./state.js";

const $ = (id) => document.getElementById(id);

const several = () => !pivot() && pair().length > 1;
export const wantsBoth = () => state.both === "1" && several();

// The names over both translations, and the box of the second one.
export function showTitles() {
  const both = wantsBoth();
  $("both-models").closest("label").hidden = !several();
  $("both-models").checked = state.both === "1";
  $("second").hidden = !both;
  $("panes").classList.toggle("both", both);
  $("translation-title").textContent = both ? t("Translation by {model}", { model: nameOfModel(model(), pair()) }) : t("Translation");
  if (both) $("second-title").textContent = t("Translation by {model}", { model: nameOfModel(other(), pair()) });
}

export function clearSecond() {
  $("second-translation").textContent = "";
  $("copy-second").hidden = $("same").hidden = true;
}

// Translate with the other model; `first` is the promise of the translation beside it.
export async function translateSecond(text, first, signal) {
  if (!wantsBoth()) return;
  const output = $("second-translation");
  output.setAttribute("aria-busy", "true");
  try {
    const answer = await post("translate", { q: text, source: source(), target: state.target, model: other().name, ...searchFields() }, signal);
    output.textContent = answer.translatedText;
    output.lang = state.target;
    $("copy-second").hidden = false;
    const same = (await first)?.translatedText === answer.translatedText;
    $("same").hidden = !same;
  } finally {
    output.removeAttribute("aria-busy");
  }
}
