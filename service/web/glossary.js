// How terms are translated: the visitor's own, a term a line, or a glossary of the server. They stay in this tab.

import { get } from "./api.js";
import { $, keep, kept, tell } from "./dom.js";
import { base, t } from "./i18n.js";
import { AUTO, pivot, source } from "./session.js";
import { state } from "./state.js";

const OWN = "";
const NAME = "terms"; // in the storage of this tab
let served = []; // [name, source, target] of the server's glossaries

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

// What is wrong with a line that is no term, in words; empty if nothing is.
function fault(line, number) {
  const cut = line.indexOf("=");
  if (cut < 0) return t("Line {number} of your terms has no “=”.", { number });
  return /[\p{L}\p{N}]/u.test(line.slice(0, cut)) ? "" : t("Line {number} of your terms has no word before “=”.", { number });
}

const lines = () => $("terms").value.split("\n").map((line, at) => [line, at + 1]).filter(([line]) => line.trim());

// What is wrong with the terms, at their box; a line that is being typed is not used yet.
export function faultOfTerms() {
  const found = pivot() || $("glossary").value !== OWN ? "" : lines().map(([line, number]) => fault(line, number)).find(Boolean) ?? "";
  tell($("terms-error"), found);
  $("terms").setAttribute("aria-invalid", String(Boolean(found)));
  return found;
}

// The field of a request: a name, the pairs of the lines that are terms, or nothing.
export function glossary() {
  if (pivot()) return undefined;
  if ($("glossary").value !== OWN) return $("glossary").value;
  const pairs = lines().filter(([line, number]) => !fault(line, number)).map(([line]) => {
    const cut = line.indexOf("=");
    return [line.slice(0, cut).trim(), line.slice(cut + 1).split("|").map((form) => form.trim())];
  });
  return pairs.length ? pairs : undefined;
}

// Whether the translation that is shown may have been made with terms.
export const usesGlossary = () => !pivot() && Boolean($("glossary").value || $("terms").value.trim());

// `changed` translates again.
export function listenToGlossary(changed) {
  $("terms").value = kept(NAME, "sessionStorage") ?? "";
  $("terms").addEventListener("input", () => {
    keep(NAME, $("terms").value, "sessionStorage"); // they are there after a reload
    faultOfTerms();
    changed();
  });
  $("glossary").addEventListener("change", () => { showGlossaries(); changed(); });
}
