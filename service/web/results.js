// What stands under a translation, and which view is open.

import { t } from "./i18n.js";
import { gallery } from "./session.js";
import { state } from "./state.js";
import { pointAtSentence } from "./words.js";

const $ = (id) => document.getElementById(id);

// The text between two legs, under the translation; none if one model translates.
export function showPivot(between, language) {
  $("pivot").hidden = !between;
  $("pivot-title").textContent = between ? t("Translated through {language}:", { language }) : "";
  Object.assign($("pivot-text"), { textContent: between?.text ?? "", lang: between?.language ?? "" });
}

// What should be checked: sentences for people, or [such a sentence, numbers of sentences of the translation].
export function showDoubts(found) {
  $("doubts").hidden = found.length === 0;
  $("doubts").replaceChildren(...found.map((one) => {
    const [text, numbers = []] = [one].flat(1);
    const item = document.createElement("li");
    item.append(text, ...numbers.flatMap((at) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: at });
      for (const kind of ["pointerenter", "focus", "click"]) button.addEventListener(kind, () => pointAtSentence(at - 1));
      return [" ", button];
    }));
    return item;
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
    const tabs = [...$("tabs").children];
    const at = tabs.indexOf(event.target);
    const next = { ArrowRight: (at + 1) % tabs.length, ArrowLeft: (at + tabs.length - 1) % tabs.length, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(viewsOf(tabs[next])[0]);
    tabs[next].focus();
  });
}
