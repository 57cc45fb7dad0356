// Looks inside the translation: which leg and which sentence, and their figure.

import { $, button } from "./dom.js";
import { t } from "./i18n.js";
import { complain } from "./messages.js";
import { languageName, legs, sentences } from "./session.js";
import { remember, state } from "./state.js";
import { showView } from "./view.js";

// The visitor's own translation belongs to one sentence, and is forgotten with it.
export function forgetOwn() {
  state.target_text = $("target_text").value = "";
}

// One button for each entry; the pressed one is the state's, and another one that is pressed is looked into.
function chooser(box, name, entries, change) {
  box.hidden = entries.length < 2;
  box.replaceChildren(...entries.map(({ value, text, label }, at) => {
    const onclick = () => {
      if (value !== state[name]) forgetOwn();
      Object.assign(state, change, { [name]: value });
      remember();
      look().catch(complain);
      box.children[at]?.focus();
    };
    return button(text, value === state[name], { className: "", title: text, ariaLabel: label, onclick });
  }));
}

function showSentences() {
  chooser($("sentences"), "sentence", sentences().map(({ source: { text } }, at) => (
    { value: String(at), text: `${at + 1} ${text}`, label: t("Sentence {number}: {text}", { number: at + 1, text }) }
  )), {});
}

function showLegs() {
  chooser($("legs"), "leg", legs().map((leg, at) => {
    const text = leg.map(languageName).join(" → ");
    return { value: String(at + 1), text, label: t("Leg {number}: {pair}", { number: at + 1, pair: text }) };
  }), { sentence: "0", layer: "", head: "" });
}

// The figure of the sentence that is chosen, if the visitor looks inside.
export async function look() {
  const any = sentences().length > 0;
  $("look").hidden = $("words-hint").hidden = !any;
  $("look").setAttribute("aria-expanded", String(Boolean(state.view)));
  $("inside").hidden = !any || !state.view;
  document.body.classList.toggle("looking", !$("inside").hidden);
  if ($("inside").hidden) return;
  showLegs();
  showSentences();
  await showView();
}
