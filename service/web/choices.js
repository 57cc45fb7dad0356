// What can be chosen, and what a model is called in a list.

import { isDefault, languageName, model, pair, pivot, session } from "./session.js";
import { state } from "./state.js";

const $ = (id) => document.getElementById(id);

// Fill a list with [value, label]; gives the value that is chosen then.
function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, label]) => new Option(label, value, false, value === chosen)));
  select.value = entries.some(([value]) => value === chosen) ? chosen : entries[0]?.[0] ?? "";
  return select.value;
}

// What tells a model from the others of its pair: how it is built and what it was measured with.
function modelLabel(one, others) {
  const built = `${one.architecture[0].toUpperCase()}${one.architecture.slice(1)}`;
  const alike = others.filter((other) => other.architecture === one.architecture).length > 1;
  const score = one.card?.scores?.[0];
  const measured = Number.isFinite(score?.score) ? `${score.metric} ${score.score.toFixed(1)}` : "";
  return [built, alike ? one.name : "", measured, isDefault(one) && others.length > 1 ? "default" : ""].filter(Boolean).join(" · ");
}

// The box as high as its text, and how much of what the server takes it holds.
export function fit() {
  const { limit } = session;
  const box = $("text");
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * 0.6)}px`;
  const length = [...state.text].length;
  const number = (value) => value.toLocaleString("en");
  $("count").textContent = Number.isFinite(limit) ? `${number(length)} / ${number(limit)} characters` : "";
  $("count").classList.toggle("over", length > limit);
}

// All lists and boxes, as the state has them.
export function showChoices() {
  const { languages } = session;
  const others = (one) => one?.targets.filter((code) => code !== one.code) ?? [];
  const sources = languages.filter((one) => others(one).length);
  state.source = options($("source"), sources.map((one) => [one.code, one.name]), state.source);
  const targets = others(sources.find((one) => one.code === state.source));
  state.target = options($("target"), targets.map((code) => [code, languageName(code)]), state.target);
  showModels();
  for (const name of ["text", "target_text", "beam_size", "length_penalty", "alternatives"]) $(name).value = state[name];
  fit();
  $("live").checked = state.live === "1";
  for (const name of ["tokens", "specials"]) $(name).value = state[name];
  showLayers();
}

// The models of the chosen pair; two legs are always translated by their defaults.
function showModels() {
  const between = pivot();
  if (between) {
    state.model = options($("model"), [["", `through ${languageName(between)}, by two models`]], "");
    return;
  }
  const ordered = pair().sort((one, other) => isDefault(other) - isDefault(one));
  const first = ordered[0]?.name ?? "";
  state.model = options($("model"), ordered.map((one) => [one.name, modelLabel(one, ordered)]), state.model || first);
  if (state.model === first) state.model = "";
}

// The kinds, layers and heads of the model that is chosen.
export function showLayers() {
  const sizes = model()?.attention ?? {};
  const kinds = [["cross", "target → source"], ["encoder", "source → source"], ["decoder", "target → target"]];
  state.kind = options($("kind"), kinds.filter(([kind]) => kind === "cross" || sizes[kind]), state.kind);
  const size = sizes[state.kind] ?? { layers: 1, heads: 1 };
  const align = sizes.align ?? {};
  const count = (name, many) => [
    ["", state.kind === "cross" ? `alignment ${name}${align[name] === undefined ? "" : ` (${align[name]})`}` : `mean of ${name}s`],
    ...(state.kind === "cross" ? [["mean", `mean of ${name}s`]] : []),
    ...Array.from({ length: many ?? 1 }, (_, number) => [String(number), `${name} ${number}`]),
  ];
  state.layer = options($("layer"), count("layer", size.layers), state.layer);
  state.head = options($("head"), count("head", size.heads), state.head);
  const grid = state.view === "grid";
  const two = ["compare", "contrast"].includes(state.view);
  $("layer").disabled = $("head").disabled = grid;
  $("kind").disabled = two;
  $("own-box").hidden = state.view !== "contrast" && !state.target_text;
}
