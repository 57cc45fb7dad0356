// What is shown, and the address after # that says so. Browsers allow few changes of the address
// (Safari 100 in 30 seconds, then it throws), so it is written when typing pauses, never for each key.

import { keep, kept } from "./dom.js";

export const DEFAULTS = {
  text: "", source: "en", target: "fr", model: "", target_text: "", beam_size: "4", length_penalty: "1", alternatives: "5", formality: "default",
  view: "", kind: "cross", layer: "", head: "", tokens: "word", specials: "drop", sentence: "0",
  leg: "1", models: "", heads: "",
};
export const VIEWS = ["heatmap", "lines", "heads", "grid", "steps", "compare", "contrast", "models", "table"];
const PAUSE = 400; // milliseconds
const TEXT = "text"; // in the storage of this tab
const LONGEST = 8_000; // characters of a text that an address can hold everywhere

const PAIR = ["source", "target"]; // every address names them

export const state = { ...DEFAULTS };

export const fitsLink = () => state.text.length <= LONGEST;

// The address of what is shown; it leaves out a text that is too long for one.
export function here() {
  const changed = Object.entries(state).filter(([name, value]) => (value !== DEFAULTS[name] || PAIR.includes(name)) && (name !== "text" || fitsLink()));
  return `${location.href.split(/[?#]/)[0]}#${new URLSearchParams(changed)}`;
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

// The languages of a visit whose address names none: the last pair that the visitor chose, or whatever the text is in.
const CHOSEN = "pair"; // in the browser's storage
export const keepPair = () => keep(CHOSEN, PAIR.map((name) => state[name]).join());

// What the visitor has chosen for one pair only.
export const OF_PAIR = { model: "", leg: "1", layer: "", head: "" };

addEventListener("pagehide", () => { if (waiting) writeAddress(); });

// What the address says: after # the page's own fields, after ? those of LibreTranslate's page, which names the text q.
export function recall() {
  const own = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const { q: text, source, target } = Object.fromEntries(new URLSearchParams(location.search));
  const [from = "auto", into = ""] = kept(CHOSEN)?.split(",") ?? [];
  const named = PAIR.concat("text").some((name) => name in own);
  const open = named ? {} : { source: source ?? (text ? "auto" : from), target: target ?? into };
  const given = { text: text ?? kept(TEXT, "sessionStorage") ?? "", ...open, ...own };
  Object.assign(state, DEFAULTS, Object.fromEntries(Object.entries(given).filter(([name]) => name in DEFAULTS)));
  if (!VIEWS.includes(state.view)) state.view = DEFAULTS.view;
  if (state.leg !== "2") state.leg = DEFAULTS.leg;
}
