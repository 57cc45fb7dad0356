// What is shown, and the address after # that says so. Browsers allow few changes of the address
// (Safari 100 in 30 seconds, then it throws), so it is written when typing pauses, never for each key.

import { keep, kept } from "./dom.js";

export const DEFAULTS = {
  text: "", source: "en", target: "fr", model: "", target_text: "", beam_size: "4", length_penalty: "1", alternatives: "3",
  view: "", kind: "cross", layer: "", head: "", tokens: "subword", specials: "drop", sentence: "0",
  leg: "1", models: "", heads: "",
};
export const VIEWS = ["heatmap", "lines", "heads", "grid", "steps", "compare", "contrast", "models", "table"];
const PAUSE = 400; // milliseconds
const TEXT = "text"; // in the storage of this tab
const LONGEST = 8_000; // characters of a text that an address can hold everywhere

export const state = { ...DEFAULTS };

export const fitsLink = () => state.text.length <= LONGEST;

// The address of what is shown; it leaves out a text that is too long for one.
export function here() {
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name] && (name !== "text" || fitsLink()));
  return `${location.href.split("#")[0]}#${new URLSearchParams(changed)}`;
}

let waiting;

// Write the address now, and keep the text for a reload of an address that is too short for it. It is a convenience: where the browser refuses, the page goes on without it.
export function writeAddress() {
  clearTimeout(waiting);
  waiting = undefined;
  keep(TEXT, state.text, "sessionStorage");
  const address = here();
  if (address === location.href) return;
  try {
    history.replaceState(null, "", address);
  } catch { /* too many changes in a short time; the next pause tries again */ }
}

export function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(writeAddress, PAUSE);
}

// The languages that the visitor has chosen, the last one first.
const LANGUAGES = "languages"; // in the browser's storage
export const recent = () => kept(LANGUAGES)?.split(",") ?? [];
export const used = (code) => keep(LANGUAGES, [...new Set([code, ...recent()])].filter((one) => one !== "auto").slice(0, 3).join());

addEventListener("pagehide", () => { if (waiting) writeAddress(); });

export function recall() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  Object.assign(state, DEFAULTS, { text: kept(TEXT, "sessionStorage") ?? "" }, Object.fromEntries(Object.entries(given).filter(([name]) => name in DEFAULTS)));
  if (!VIEWS.includes(state.view)) state.view = DEFAULTS.view;
  if (state.leg !== "2") state.leg = DEFAULTS.leg;
}
