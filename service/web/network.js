// One sentence from its embedding to the chosen token of the translation: a row of pictures, each of which opens.

import { address, attention, get } from "./api.js";
import { $, bar, drawn, made, rove } from "./dom.js";
import { inEveryLanguage } from "./header.js";
import { language, number, percent, t } from "./i18n.js";
import { columnsOf as tokensOf, labels } from "./tokens.js";
import { label } from "./tree.js";

const SENTENCES = {
  en: "My sister never told me why she left.",
  fr: "Ma sœur ne m'a jamais dit pourquoi elle est partie.",
  de: "Meine Schwester hat mir nie gesagt, warum sie gegangen ist.",
};
const [WIDE, HIGH] = [100, 60]; // units of a picture
const PARTS = ["embedding", "encoder", "decoder", "cross", "next"];
const BOOK = { embedding: "00-overview", encoder: "06-self-attention", decoder: "03-masks", cross: "09-alignment", next: "00-overview" };

let models = [];
let shown; // { model, fields, search, maps: the attention of each kind, at: [layer, head] of each kind }
let open = "cross";
let step = 0;
let control;

const recurrent = () => shown.model.architecture === "bahdanau";
const tokens = () => labels(shown.search.target.tokens);
const sources = () => labels(shown.search.source.tokens);
const weightsOf = (kind) => shown.maps[kind].weights[shown.at[kind][0]][shown.at[kind][1]];
const columnsOf = (kind) => labels(tokensOf(shown.maps[kind]));
const largest = (row) => row.reduce((most, value, at) => ((value ?? 0) > (row[most] ?? 0) ? at : most), 0);

// The token of the text that the decoder looks at most when it writes the token of this step.
const followed = () => largest(weightsOf("cross")[step]);
const rowOf = (kind) => (kind === "encoder" ? followed() : step);

// What the step may write: the likeliest tokens, and the one that it writes.
function choices() {
  const { hypotheses, best } = shown.search.search;
  return [hypotheses[best[step]].next, hypotheses[best[step + 1]]];
}

// The head of the last layer that looks at words, and not at the end of the text.
function telling({ weights, columns, source }) {
  const special = tokensOf({ columns, source }).map((token) => Boolean(token.special));
  const share = (head) => head.flat().reduce((sum, weight, at) => sum + (special[at % special.length] ? 0 : weight ?? 0), 0);
  return [weights.length - 1, largest(weights.at(-1).map(share))];
}

function heat(weights, marked) {
  const [wide, high] = [WIDE / weights[0].length, HIGH / weights.length];
  const cells = weights.flatMap((row, y) => row.map((weight, x) => drawn("rect", { x: x * wide, y: y * high, width: wide, height: high, "fill-opacity": (weight ?? 0).toFixed(3) })));
  return [...cells, drawn("rect", { class: "now", x: 0, y: marked * high, width: WIDE, height: high })];
}

// A recurrent network: a state for each token, each made of the one before it, and in the encoder of the one behind it, too.
function chain(count, now, both) {
  const across = WIDE / count;
  const line = (way, y) => drawn("path", { class: way, d: `M${across / 2} ${y}H${WIDE - across / 2}` });
  const dots = (y) => Array.from({ length: count }, (_, at) => drawn("circle", { class: at === now ? "now" : "", cx: (at + 0.5) * across, cy: y, r: Math.min(6, across / 3) }));
  return (both ? [18, 42] : [30]).flatMap((y) => [line("way", y), ...dots(y)]);
}

// Words in two columns, of which one is followed.
function rows(names, now) {
  const from = Math.min(Math.max(now - 1, 0), Math.max(names.length - 4, 0));
  return names.slice(from, from + 4).map((name, at) => drawn("text", { class: from + at === now ? "now" : "", x: 2, y: 14 + at * 14 }, name));
}

function bars() {
  const [next, written] = choices();
  return next.flatMap(({ id, piece, logprob }, at) => [
    drawn("rect", { class: id === written.id ? "chosen" : "", x: 0, y: at * 12 + 1, width: Math.max(Math.exp(logprob) * WIDE, 1), height: 10 }),
    drawn("text", { x: 3, y: at * 12 + 10 }, label(piece)),
  ]);
}

function picture(part) {
  const ids = shown.search.source.tokens.map(({ id }, at) => `${sources()[at]} ${id}`);
  if (part === "embedding") return rows(ids, followed());
  if (part === "next") return bars();
  if (shown.maps[part]) return heat(weightsOf(part), rowOf(part));
  return part === "encoder" ? chain(sources().length, followed(), true) : chain(tokens().length, step, false);
}

const titles = () => ({
  embedding: t("Embedding"), encoder: t("Encoder"), decoder: t("Decoder"), cross: t("Attention over the text"), next: t("Next token"),
});

const explanations = () => ({
  embedding: t("Each token has a number, and each number its row in a table: the vector that goes through the network."),
  encoder: recurrent()
    ? t("One network reads the text forwards, another one backwards. The vector of a token has the states of both.")
    : t("Each token of the text looks at all the others and takes in what it needs of them, layer after layer."),
  decoder: recurrent()
    ? t("The decoder has one state. Each token that it writes changes it.")
    : t("Each token looks at what is written already, never at what comes after it."),
  cross: t("Before a token is written, the decoder looks at the vectors of the text. Each row of the table is a token of the translation."),
  next: t("The vector of the decoder is compared with each word of the vocabulary. The softmax makes probabilities of that."),
});

// What the picture says about this step, in a sentence.
function live(part) {
  const [token, word] = [tokens()[step], sources()[followed()]];
  const [next, written] = choices();
  if (part === "embedding") return t("“{token}” is number {id} of the vocabulary.", { token: word, id: shown.search.source.tokens[followed()].id });
  if (part === "next") {
    const values = { token, percent: percent(Math.exp(written.logprob)), best: label(next[0].piece) };
    return next[0].id === written.id ? t("“{token}” gets {percent}, more than any other one.", values) : t("“{token}” gets {percent}; “{best}” is likelier, but not the whole sentence.", values);
  }
  if (!shown.maps[part]) return part === "encoder" ? t("“{token}” is token {at} of {count}.", { token: word, at: followed() + 1, count: sources().length }) : t("The state has read “{text}”.", { text: tokens().slice(0, step).join(" ") || "<s>" });
  const row = weightsOf(part)[rowOf(part)];
  const values = { token: part === "encoder" ? word : token, other: columnsOf(part)[largest(row)], percent: percent(Math.max(...row)) };
  return part === "encoder" ? t("“{token}” takes in most of “{other}” ({percent}).", values) : t("To write “{token}”, the decoder looks most at “{other}” ({percent}).", values);
}

function table(head, lines, on) {
  const cells = ([name, ...values]) => [made("th", { scope: "row", dir: "auto" }, name), ...values.map((value) => (value instanceof Node ? value : made("td", {}, value)))];
  const own = lines.map((line, at) => made("tr", { className: at === on ? "on" : "" }, ...cells(line)));
  return made("table", {}, made("thead", {}, made("tr", {}, ...head.map((name) => made(name ? "th" : "td", name ? { scope: "col", dir: "auto" } : {}, name)))), made("tbody", {}, ...own));
}

function weightCell(weight) {
  const cell = made("td", { className: "weight" }, weight >= 0.005 ? percent(weight) : "");
  cell.style.setProperty("--p", (weight ?? 0).toFixed(3));
  return cell;
}

function numbers(part) {
  if (part === "next") {
    const [next, written] = choices();
    const lines = next.map(({ piece, logprob }) => [label(piece), percent(Math.exp(logprob)), bar(Math.exp(logprob))]);
    return table([t("Token"), t("Probability"), ""], lines, next.findIndex(({ id }) => id === written.id));
  }
  if (!shown.maps[part]) {
    const own = part === "decoder" ? shown.search.target.tokens : shown.search.source.tokens;
    return table([t("Token"), t("Number")], labels(own).map((name, at) => [name, String(own[at].id)]), part === "decoder" ? step : followed());
  }
  const names = part === "encoder" ? sources() : tokens();
  return table(["", ...columnsOf(part)], weightsOf(part).map((row, at) => [names[at], ...row.map(weightCell)]), rowOf(part));
}

// The score of the largest weight of the row, which the server computes anew.
async function score(part) {
  $("part-score").textContent = "";
  if (!shown.maps[part]) return;
  const [[layer, head], row] = [shown.at[part], rowOf(part)];
  const cell = `${row},${largest(weightsOf(part)[row])}`;
  const found = await attention({ ...shown.fields, kind: part, layer: String(layer), head: String(head), stage: "scores", cell }, control.signal);
  if (part !== open || cell !== `${found.cell.row},${found.cell.column}` || !found.cell.terms) return;
  const values = { sum: number(found.cell.sum, 2), count: found.cell.terms.length, scale: number(found.scale, 4), score: number(found.scale * found.cell.sum, 2) };
  const parts = found.cell.energy ? t("v · tanh(q + k) over {count} dimensions = {sum}", values) : t("q · k over {count} dimensions = {sum}; times the scale {scale} = {score}", values);
  $("part-score").textContent = `${parts}. ${t("The softmax of this row gives the weight {weight}.", { weight: number(found.cell.weight, 4) })}`;
}

function choosers(part) {
  $("part-choice").hidden = !shown.maps[part];
  if (!shown.maps[part]) return;
  const [layer, head] = shown.at[part];
  const { weights } = shown.maps[part];
  $("layer").replaceChildren(...weights.map((_, at) => new Option(t("layer {number}", { number: at + 1 }), at, false, at === layer)));
  $("head").replaceChildren(...weights[layer].map((_, at) => new Option(t("head {number}", { number: at + 1 }), at, false, at === head)));
}

function links(part) {
  const { text, source, target, model } = shown.fields;
  const view = part === "next" || (!shown.maps[part] && part === "decoder") ? "steps" : "heads";
  Object.assign($("part-book"), { href: address(`learn/${recurrent() && part !== "next" ? "04-bahdanau" : BOOK[part]}.html`), textContent: t("This part in the book") });
  const kind = part === "embedding" || !shown.maps[part] || part === "cross" ? {} : { kind: part };
  $("part-inside").href = address(`#${new URLSearchParams({ text, source, target, model, view, ...kind })}`);
}

function paint() {
  if (!shown) return;
  const names = tokens();
  Object.assign($("step"), { max: names.length - 1, value: step });
  $("step").setAttribute("aria-valuetext", names[step]);
  $("translation").replaceChildren(...names.flatMap((name, at) => [made(at === step ? "mark" : "span", {}, name), " "]));
  const focused = document.activeElement?.id;
  $("parts").replaceChildren(...PARTS.map((part) => {
    const svg = drawn("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-hidden": "true" }, ...picture(part));
    const own = { type: "button", role: "tab", id: `part-${part}`, ariaSelected: String(part === open), tabIndex: part === open ? 0 : -1, onclick: () => choose(part) };
    const tab = made("button", own, made("b", {}, titles()[part]), svg, made("small", {}, live(part)));
    tab.setAttribute("aria-controls", "part");
    return tab;
  }));
  if (focused?.startsWith("part-")) $(focused)?.focus();
  $("parts").scrollLeft = $(`part-${open}`).offsetLeft - $("parts").offsetLeft - 40;
  $("part").setAttribute("aria-labelledby", `part-${open}`);
  $("part-title").textContent = titles()[open];
  $("part-what").textContent = explanations()[open];
  $("part-live").textContent = live(open);
  $("part-numbers").replaceChildren(numbers(open));
  choosers(open);
  links(open);
  control?.abort();
  control = new AbortController();
  score(open).catch((error) => { if (error.name !== "AbortError") $("part-score").textContent = error.message; });
}

function choose(part) {
  open = part;
  paint();
  $(`part-${part}`).focus();
}

// Ask for the translation of the sentence, its search and all of its attention.
async function show() {
  const model = models.find(({ name }) => name === $("model").value);
  const text = $("text").value.trim();
  if (!text || !model) return;
  const { source, target } = model.pairs[0];
  const fields = { text, source, target, model: model.name };
  const kinds = ["cross", "encoder", "decoder"].filter((kind) => model.attention[kind]);
  $("status").textContent = t("Translating…");
  try {
    const asked = [{ view: "steps" }, ...kinds.map((kind) => ({ kind, layer: "all", head: "all" }))];
    const [search, ...found] = await Promise.all(asked.map((own) => attention({ ...fields, ...own })));
    const maps = Object.fromEntries(kinds.map((kind, at) => [kind, found[at]]));
    shown = { model, fields, search, maps, at: Object.fromEntries(kinds.map((kind) => [kind, telling(maps[kind])])) };
    step = Math.min(step, tokens().length - 1);
    $("network").hidden = false;
    $("status").textContent = "";
    paint();
  } catch (error) {
    $("status").textContent = error.message;
  }
}

function listen() {
  $("sentence").addEventListener("submit", () => { step = 0; show(); });
  $("sentence").querySelector("button").disabled = false;
  $("model").addEventListener("change", () => {
    const own = models.find(({ name }) => name === $("model").value).pairs[0].source;
    if (Object.values(SENTENCES).includes($("text").value)) $("text").value = SENTENCES[own] ?? "";
    step = 0;
    show();
  });
  $("step").addEventListener("input", () => { step = Number($("step").value); paint(); });
  $("layer").addEventListener("change", () => { shown.at[open][0] = Number($("layer").value); paint(); });
  $("head").addEventListener("change", () => { shown.at[open][1] = Number($("head").value); paint(); });
  $("parts").addEventListener("keydown", (event) => {
    const tab = rove(event, [...$("parts").children], "ArrowLeft", "ArrowRight");
    if (tab) choose(tab.id.slice("part-".length));
  });
  inEveryLanguage(paint);
}

listen();
try {
  models = (await get("models?brief=true")).models.filter(({ attention: own, members, gallery }) => own.cross && !members && !gallery);
  $("model").replaceChildren(...models.map(({ name }) => new Option(name, name)));
  const transformers = models.filter(({ architecture }) => architecture === "transformer");
  const first = transformers.find(({ pairs: [{ source }] }) => source === language) ?? transformers[0] ?? models[0];
  if (first) {
    $("model").value = first.name;
    $("text").value = SENTENCES[first.pairs[0].source] ?? "";
    await show();
  }
} catch (error) {
  $("status").textContent = error.message;
}
