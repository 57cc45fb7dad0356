// What stands under a translation, and which view is open.

import { t } from "./i18n.js";
import { state } from "./state.js";

const $ = (id) => document.getElementById(id);

function list(id, texts) {
  $(id).replaceChildren(...texts.map((text) => Object.assign(document.createElement("li"), { textContent: text, dir: "auto" })));
}

export function showAlternatives(found) {
  $("alternatives-box").hidden = found.length === 0;
  list("alternatives-list", found);
}

// The text between two legs, under the translation; none if one model translates.
export function showPivot(between, language) {
  $("pivot").hidden = !between;
  $("pivot-title").textContent = between ? t("Translated through {language}:", { language }) : "";
  Object.assign($("pivot-text"), { textContent: between?.text ?? "", lang: between?.language ?? "" });
}

export function showDoubts(found) {
  $("doubts").hidden = found.length === 0;
  list("doubts", found);
}

// Where a sentence is shown while it is written: made when it is needed, so that an empty one takes no place.
export function liveBox() {
  let box = $("writing");
  if (!box) {
    box = document.createElement("div");
    Object.assign(box, { id: "writing", className: "figure", tabIndex: 0 });
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", t("Attention while the sentence is written"));
    $("form").append(box);
  }
  return box;
}

export function showTabs() {
  for (const tab of $("views").children) {
    const chosen = tab.dataset.view === state.view;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (!chosen) continue;
    $("panel").setAttribute("aria-labelledby", tab.id);
    const [box, from] = [$("views"), tab.offsetLeft - $("views").offsetLeft]; // the page itself must not move
    if (from < box.scrollLeft || from + tab.offsetWidth > box.scrollLeft + box.clientWidth) box.scrollLeft = from - 24;
  }
}
