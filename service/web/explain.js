// One weight unfolds: query times key by dimension, scale, mask, softmax over the row, with a temperature.

import { attention } from "./api.js";
import { $, bar, drawn, made } from "./dom.js";
import { language, number, percent, t } from "./i18n.js";
import { fieldsOfSentence, fieldsOfView } from "./requests.js";
import { state } from "./state.js";
import { columnsOf, labels, rowsOf } from "./tokens.js";
import { showView } from "./view.js";

const SIDE = [600, 90]; // units of the picture of the terms

let shown; // the last answer
let control;

const temperature = () => Math.exp(Number($("temperature").value));

// Whether the view shows single weights of one head: only those have scores.
export const explainable = () => state.view === "heatmap" && state.tokens === "subword" && state.specials !== "renormalise"
  && state.layer !== "mean" && state.head !== "mean" && (state.kind === "cross" || (state.layer !== "" && state.head !== ""));

export function closeExplanation() {
  control?.abort();
  shown = undefined;
  $("explain").hidden = true;
}

// Say why there is no explanation.
function note(text, lang = language) {
  $("explain").hidden = false;
  $("explain-parts").hidden = true;
  Object.assign($("explain-note"), { textContent: text, lang });
}

// The weights of words are sums: show those of subwords, and give the places of the first ones of two words.
async function toSubwords(row, column) {
  const words = await attention(fieldsOfView("json"));
  const before = (tokens, at) => tokens.slice(0, at).reduce((count, { ids }) => count + (ids?.length ?? 1), 0);
  state.tokens = $("tokens").value = "subword";
  await showView();
  return [before(rowsOf(words), row), before(columnsOf(words), column)];
}

// Explain the weight in a cell of the figure, counted from 0.
export async function explain(row, column) {
  if (state.tokens === "word") return explain(...await toSubwords(row, column));
  control?.abort();
  control = new AbortController();
  $("explain-note").textContent = "";
  if (!explainable()) return note(t("Choose subwords, and one layer and one head, to see what a weight is made of."));
  const { kind, layer, head } = state;
  try {
    shown = await attention({ ...fieldsOfSentence(), kind, layer, head, stage: "scores", cell: `${row},${column}` }, control.signal);
    labelExplanation();
    $("explain").scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (error.name !== "AbortError") note(error.message, error.fromServer ? "en" : language);
  }
}

function choices(select, names, chosen) {
  select.replaceChildren(...names.map((name, at) => new Option(`${at + 1}: ${name}`, at, false, at === chosen)));
  select.value = chosen;
}

function bars(terms) {
  const [wide, high] = SIDE;
  const largest = Math.max(...terms.map(Math.abs), 1e-9);
  const step = wide / terms.length;
  $("explain-terms").replaceChildren(...terms.map((term, at) => {
    const length = (Math.abs(term) / largest) * (high / 2);
    const place = { x: at * step, width: Math.max(step - 0.5, 0.5), y: term < 0 ? high / 2 : high / 2 - length, height: length };
    return drawn("rect", { ...place, class: term < 0 ? "less" : "more" }, drawn("title", {}, `${at + 1}: ${number(term, 3)}`));
  }));
}

const softmax = (scores, heat) => {
  const known = scores.filter((score) => score !== null);
  const largest = Math.max(...known);
  const raised = scores.map((score) => (score === null ? 0 : Math.exp((score - largest) / heat)));
  const total = raised.reduce((sum, value) => sum + value, 0);
  return raised.map((value) => value / total);
};

// The row of the softmax; only this part depends on the temperature.
function showRow() {
  const heat = temperature();
  $("temperature-value").textContent = number(heat, 2);
  if (!shown) return;
  const { row, column } = shown.cell;
  const scores = shown.scores[row];
  const weights = softmax(scores, heat);
  const names = labels(columnsOf(shown));
  $("explain-row").replaceChildren(...names.map((name, at) => {
    const score = scores[at] === null ? t("masked (−∞)") : number(scores[at], 2);
    const cells = [made("th", {}, name), made("td", {}, score), made("td", {}, percent(weights[at])), bar(weights[at])];
    return made("tr", { className: at === column ? "on" : "" }, ...cells);
  }));
}

// Write what was last explained, in the language of the page.
export function labelExplanation() {
  if (!shown) return;
  const { cell, scale } = shown;
  const rows = labels(rowsOf(shown));
  $("explain").hidden = $("explain-parts").hidden = false;
  choices($("explain-from"), rows, cell.row);
  choices($("explain-to"), labels(columnsOf(shown)), cell.column);
  const hasTerms = Boolean(cell.terms);
  $("explain-product").hidden = !hasTerms;
  if (hasTerms) {
    bars(cell.terms);
    const values = { sum: number(cell.sum, 2), count: cell.terms.length, scale: number(scale, 4), score: number(scale * cell.sum, 2) };
    $("explain-sum").textContent = cell.energy
      ? t("v · tanh(q + k) over {count} dimensions = {sum}", values)
      : t("q · k over {count} dimensions = {sum}; times the scale {scale} = {score}", values);
  }
  $("explain-mask").textContent = cell.masked
    ? t("The mask hides this position: its score becomes −∞ and its weight 0.")
    : t("The mask leaves this position as it is.");
  const unread = cell.score === null && !cell.masked;
  $("explain-weight").textContent = unread ? t("No step reads the end token, so this row has no weights.") : t("The softmax of this row gives the weight {weight}.", { weight: number(cell.weight, 4) });
  showRow();
}

export function listenToExplanation() {
  const again = () => explain(Number($("explain-from").value), Number($("explain-to").value));
  $("explain-from").addEventListener("change", again);
  $("explain-to").addEventListener("change", again);
  $("temperature").addEventListener("input", showRow);
  $("temperature-reset").addEventListener("click", () => { $("temperature").value = 0; showRow(); });
  $("explain-close").addEventListener("click", closeExplanation);
  $("explain-open").addEventListener("click", () => explain(0, 0));
}
