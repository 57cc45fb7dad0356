// What stands under a translation, and which view is open.

import { $, button, made, rove } from "./dom.js";
import { t } from "./i18n.js";
import { gallery } from "./session.js";
import { state } from "./state.js";
import { pointAtSentence } from "./words.js";

// The text between two legs, under the translation; none if one model translates.
export function showPivot(between, language) {
  $("pivot").hidden = !between;
  $("pivot-title").textContent = between ? t("Translated through {language}:", { language }) : "";
  Object.assign($("pivot-text"), { textContent: between?.text ?? "", lang: between?.language ?? "" });
}

// What should be checked: sentences for people, or [such a sentence, what belongs to it: buttons, or numbers of sentences of the translation].
export function showDoubts(found) {
  $("doubts").hidden = found.length === 0;
  $("doubts").replaceChildren(...found.map((one) => {
    const [text, others = []] = [one].flat(1);
    const point = (at) => () => pointAtSentence(at - 1);
    const buttonOf = (at) => (typeof at === "number" ? button(at, undefined, { onpointerenter: point(at), onfocus: point(at), onclick: point(at) }) : at);
    return made("li", {}, text, ...others.flatMap((at) => [" ", buttonOf(at)]));
  }));
}

const viewsOf = (tab) => tab.dataset.views.split(" ");

// The tab of the view that is open, and the other views of that tab.
export function showTabs() {
  for (const tab of $("tabs").children) {
    const chosen = viewsOf(tab).includes(state.view);
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (!chosen) continue;
    $("panel").setAttribute("aria-labelledby", tab.id);
    const ways = viewsOf(tab).filter((view) => view !== "models" || gallery().length);
    $("ways").hidden = ways.length < 2;
    for (const way of $("ways").children) {
      way.hidden = !ways.includes(way.dataset.view);
      way.setAttribute("aria-pressed", String(way.dataset.view === state.view));
    }
  }
}

// `choose` gets the view that is wanted.
export function listenToTabs(choose) {
  $("ways").addEventListener("click", (event) => { if (event.target.dataset.view) choose(event.target.dataset.view); });
  $("tabs").addEventListener("click", (event) => {
    if (event.target.getAttribute("aria-selected") === "false") choose(viewsOf(event.target)[0]);
  });
  $("tabs").addEventListener("keydown", (event) => {
    const tab = rove(event, [...$("tabs").children], "ArrowLeft", "ArrowRight");
    if (tab) choose(viewsOf(tab)[0]);
  });
}
