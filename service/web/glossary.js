// How terms are translated: the visitor's own, a term a line, or a glossary of the server. They stay in this page.

import { get } from "./api.js";
import { $ } from "./dom.js";
import { t } from "./i18n.js";
import { AUTO, pivot, source } from "./session.js";
import { state } from "./state.js";

const OWN = "";
let served = []; // [name, source, target] of the server's glossaries

const base = (tag) => tag.split("-")[0];

// Ask which glossaries the server has; a server without them shows none.
export async function loadGlossaries() {
  served = await get("glossaries").catch(() => []);
  showGlossaries();
}

// The box for the chosen languages: a translation through another language has no glossary.
export function showGlossaries() {
  $("glossary-box").hidden = Boolean(pivot());
  const from = source() || (state.source === AUTO ? "" : state.source);
  const fitting = served.filter((one) => base(one.source) === base(from) && base(one.target) === base(state.target));
  const chosen = $("glossary").value;
  $("glossary").replaceChildren(new Option(t("my own terms"), OWN), ...fitting.map(({ name }) => new Option(name, name)));
  $("glossary").value = fitting.some(({ name }) => name === chosen) ? chosen : OWN;
  $("glossary").closest("label").hidden = fitting.length === 0;
  $("terms").closest("label").hidden = $("terms-note").hidden = $("glossary").value !== OWN;
}

// The field of a request: a name, pairs, or nothing. A line that is no term is an error that names it.
export function glossary() {
  if (pivot()) return undefined;
  if ($("glossary").value !== OWN) return $("glossary").value;
  const pairs = [];
  for (const [at, line] of $("terms").value.split("\n").entries()) {
    if (!line.trim()) continue;
    const cut = line.indexOf("=");
    if (cut < 0) throw new Error(t("Line {number} of your terms has no “=”.", { number: at + 1 }));
    if (!/[\p{L}\p{N}]/u.test(line.slice(0, cut))) throw new Error(t("Line {number} of your terms has no word before “=”.", { number: at + 1 }));
    pairs.push([line.slice(0, cut).trim(), line.slice(cut + 1).split("|").map((form) => form.trim())]);
  }
  return pairs.length ? pairs : undefined;
}

// Whether the translation that is shown may have been made with terms.
export const usesGlossary = () => !pivot() && Boolean($("glossary").value || $("terms").value.trim());

// `changed` translates again.
export function listenToGlossary(changed) {
  $("terms").addEventListener("input", changed);
  $("glossary").addEventListener("change", () => { showGlossaries(); changed(); });
}
