// What can be chosen, and what a model is called in a list.

import { showVoices } from "./aloud.js";
import { $ } from "./dom.js";
import { showExamples } from "./examples.js";
import { showGlossaries } from "./glossary.js";
import { number, t } from "./i18n.js";
import { AUTO, hasFormality, isDefault, languageName, nameOfModel, pair, pivot, readers, seen, session, source, sources, targets } from "./session.js";
import { DEFAULTS, keepPair, OF_PAIR, recent, state } from "./state.js";
import { translatesWhileTyping } from "./typing.js";

// Fill a list with [value, label]; gives the value that is chosen then.
function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, label]) => new Option(label, value, false, value === chosen)));
  select.value = entries.some(([value]) => value === chosen) ? chosen : entries[0]?.[0] ?? "";
  return select.value;
}

// In words, how large a model is, and so how quick, and how good its translations of everyday sentences are.
const sizeOf = (parameters) => (!parameters ? "" : parameters < 2e7 ? t("small and fast") : parameters < 1e8 ? t("of medium size and speed") : t("large and slow"));
const goodness = ({ metric, score }) => (metric !== "BLEU" ? "" : score >= 40 ? t("good") : score >= 30 ? t("fair") : t("rough"));

function nameOfTestSet(given) {
  const [name] = given.split(".");
  return name === "everyday" ? t("everyday sentences") : name;
}

// A model in the list: its architecture, its size, its score on a test set that all of the list have, and whether it is the default.
function modelLabel(one, others) {
  const score = scoresOf(one).find((own) => others.every((other) => scoresOf(other).some((its) => its.test_set === own.test_set && its.metric === own.metric)));
  const measured = score ? `${[goodness(score), score.metric].filter(Boolean).join(", ")} ${number(score.score, 1)} (${nameOfTestSet(score.test_set)})` : "";
  return [nameOfModel(one, others), sizeOf(one.card?.parameters), measured, isDefault(one) && others.length > 1 ? t("default") : ""].filter(Boolean).join(" · ");
}

// The scores of a model for the chosen pair; a model of several pairs names the pair behind the test set.
function scoresOf(one) {
  const chosen = `.${source()}-${state.target}`;
  return (one.card?.scores ?? []).filter(({ score, test_set }) => Number.isFinite(score) && (!/\.\w+-\w+$/.test(test_set) || test_set.endsWith(chosen)));
}

// How much of what the server takes the text holds, and what can be done with it.
export function fit() {
  const { limit } = session;
  const length = [...state.text].length;
  $("count").textContent = Number.isFinite(limit) ? t("{length} / {limit} characters", { length: number(length), limit: number(limit) }) : "";
  $("count").classList.toggle("over", length > limit);
  $("clear").hidden = !state.text;
  if (state.text) $("undo").hidden = true;
  $("translate").hidden = translatesWhileTyping();
  showVoices();
  showExamples(state.text, sources());
}

// Languages as [code, name]: those that were chosen lately, then by name.
function named(codes) {
  const lately = recent();
  const rank = (code) => (lately.includes(code) ? lately.indexOf(code) : lately.length);
  return codes.map((code) => [code, languageName(code)]).sort((one, two) => rank(one[0]) - rank(two[0]) || one[1].localeCompare(two[1]));
}

let wish = ""; // the target that the visitor, a link or an earlier visit has chosen
let chosen; // the target that stands for it

// What a language is translated into: the wish, or what its reader may understand.
export function targetFor(language) {
  const possible = targets(language);
  return [wish, ...readers(possible), DEFAULTS.target].find((code) => possible.includes(code)) ?? possible[0];
}

function showTargets() {
  if (state.target !== chosen) wish = state.target;
  state.target = chosen = options($("target"), named(targets(source())), targetFor(source()));
  $("formality-box").hidden = !hasFormality(chosen);
}

// All lists and boxes, as the state has them.
export function showChoices() {
  const detected = session.detected ? t("{language} (detected)", { language: languageName(session.detected) }) : t("Detect language");
  const known = named(sources());
  state.source = options($("source"), [[AUTO, state.source === AUTO ? detected : t("Detect language")], ...known], known.some(([code]) => code === state.source) ? state.source : AUTO);
  showTargets();
  $("swap").disabled = !source() || !targets(state.target).includes(source());
  showModels();
  const given = (name) => (name.includes("text") || Number.isFinite(Number(state[name])) ? state[name] : "");
  for (const name of ["text", "target_text", "beam_size", "length_penalty", "alternatives"]) $(name).value = given(name);
  fit();
  for (const name of ["tokens", "specials", "formality"]) $(name).value = state[name];
  $("model").disabled = !source(); // until the language is detected
  showGlossaries();
  showLayers();
}

// Translate between other languages, `pair` or one of them.
export function choosePair(pair) {
  Object.assign(state, OF_PAIR, pair);
  showChoices();
  keepPair();
}

// The models of the chosen pair; two legs are always translated by their defaults.
function showModels() {
  const between = pivot();
  if (between) {
    state.model = options($("model"), [["", t("through {language}, by two models", { language: languageName(between) })]], "");
    return;
  }
  const ordered = pair().sort((one, other) => isDefault(other) - isDefault(one));
  const first = ordered[0]?.name ?? "";
  const entries = ordered.map((one) => [one.name, modelLabel(one, ordered)]);
  state.model = options($("model"), entries.length ? entries : [["", "–"]], state.model || first);
  if (state.model === first) state.model = "";
}

// The kinds, layers and heads of the model that is chosen.
export function showLayers() {
  const sizes = seen()?.attention ?? {};
  const kinds = [["cross", t("target → source")], ["encoder", t("source → source")], ["decoder", t("target → target")]];
  const beside = state.view === "heatmap" || state.view === "table" ? [["occlusion", t("beside attention: occlusion")]] : [];
  state.kind = options($("kind"), [...kinds.filter(([kind]) => kind === "cross" || sizes[kind]), ...beside], state.kind);
  const size = sizes[state.kind] ?? { layers: 1, heads: 1 };
  const align = sizes.align ?? {};
  const numbered = (label, at) => (at === undefined ? label : `${label} (${at + 1})`);
  const entries = (many, first, mean, each) => [
    ["", state.kind === "cross" ? first : mean],
    ...(state.kind === "cross" ? [["mean", mean]] : []),
    ...Array.from({ length: many ?? 1 }, (_, at) => [String(at), each(at)]),
  ];
  const layers = entries(size.layers, numbered(t("alignment layer"), align.layer), t("mean of layers"), (at) => t("layer {number}", { number: at + 1 }));
  const heads = entries(size.heads, numbered(t("alignment head"), align.head), t("mean of heads"), (at) => t("head {number}", { number: at + 1 }));
  state.layer = options($("layer"), layers, state.layer);
  state.head = options($("head"), heads, state.head);
  const grid = state.view === "grid";
  const two = ["compare", "contrast", "models"].includes(state.view);
  const steps = state.view === "steps";
  $("layer").disabled = $("head").disabled = grid || state.view === "models" || state.kind === "occlusion";
  $("head").disabled ||= state.view === "heads";
  $("kind").disabled = two || steps;
  $("tokens").disabled = steps;
  $("own-box").hidden = state.view !== "contrast" && !state.target_text;
}
