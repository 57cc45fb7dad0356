// The header of every page but the translator's: its language and its colours.

import { $ } from "./dom.js";
import { startLanguage } from "./i18n.js";
import { followTheme } from "./theme.js";

// `write` writes what a script shows: now, and again in another language.
export function inEveryLanguage(write) {
  addEventListener("language", write);
  return write();
}

await startLanguage($("language"));
followTheme($("theme"));

const contents = document.querySelector(".contents");
if (contents && innerWidth < 1120) contents.open = false; // it would push the page away
