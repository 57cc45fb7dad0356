// The last translations, which stay in the browser.

import { $, keep, kept, made } from "./dom.js";
import { languageName, session, source } from "./session.js";
import { state } from "./state.js";

const NAME = "translations";
const MOST = 20;
const LONGEST = 2_000; // characters of a text

const all = () => JSON.parse(kept(NAME) ?? "[]");

export function showHistory() {
  $("history").hidden = all().length === 0;
}

// Keep the translation that is shown; it takes the place of those of the text as it was before more was typed.
export function record() {
  const { text, translation } = session;
  if (!text.trim() || text.length > LONGEST) return;
  const own = { source: source(), target: state.target, text, translation };
  const others = all().filter((one) => one.source !== own.source || one.target !== own.target || !text.startsWith(one.text));
  keep(NAME, JSON.stringify([own, ...others].slice(0, MOST)));
  showHistory();
}

// `choose` gets a translation that shall be shown again.
export function listenToHistory(choose) {
  $("history").addEventListener("toggle", () => {
    if (!$("history").open) return;
    $("history-list").replaceChildren(...all().map((one) => {
      const onclick = () => { $("history").open = false; choose(one); };
      const pair = made("small", {}, `${languageName(one.source)} → ${languageName(one.target)}`);
      return made("li", {}, made("button", { type: "button", onclick }, made("span", { lang: one.source, dir: "auto" }, one.text), made("span", { lang: one.target, dir: "auto" }, one.translation), pair));
    }));
  });
  $("forget").addEventListener("click", () => {
    keep(NAME, "");
    $("history").open = false;
    showHistory();
  });
  showHistory();
}
