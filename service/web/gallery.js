// Kinds of attention: the small models of the gallery, in groups of those that differ in one thing.

import { $, button, made } from "./dom.js";
import { t } from "./i18n.js";
import { gallery, sentences, shown } from "./session.js";
import { state } from "./state.js";

// Each group with its models: the ending of a bundle's name, and what it is called.
const RNN = "gallery-rnn";
const PAPER = "gallery-transformer-base";
// The repository has a small Transformer; the grid's own ones are too large for it.
const transformer = () => (gallery().some((one) => one.name === "gallery-transformer") ? "gallery-transformer" : "gallery-transformer-small");
const groups = (TRANSFORMER = transformer()) => [
  [t("Where a step looks"), [[RNN, t("soft")], [`${RNN}-attention-hard`, t("hard")], [`${RNN}-attention-local`, t("local")], [`${RNN}-attention-monotonic`, t("monotonic")], [`${RNN}-attention-none`, t("none")]]],
  [t("Score"), [[RNN, t("additive")], [`${RNN}-score-dot`, t("dot product")], [`${RNN}-score-scaled-dot`, t("scaled dot product")], [`${RNN}-score-general`, t("general")], [`${RNN}-score-gaussian`, t("Gaussian")], [`${RNN}-score-concat`, t("linear")]]],
  [t("Network"), [[RNN, "GRU"], [`${RNN}-cell-lstm`, "LSTM"], [`${RNN}-encoder-convolutional`, t("convolutions")], [TRANSFORMER, "Transformer"], [PAPER, t("Transformer of the paper's shape")]]],
  [t("Query"), [[RNN, t("state before the previous word")], [`${RNN}-conditional`, t("state after the previous word")]]],
  [t("Links of an aligner"), [[RNN, t("unguided")], [`${RNN}-guided-alignment`, t("guided")], [TRANSFORMER, t("Transformer, unguided")], [`${TRANSFORMER}-guided-alignment`, t("Transformer, guided")]]],
  [t("Heads"), [[`${TRANSFORMER}-heads-1`, "1"], [TRANSFORMER, "4"], [`${TRANSFORMER}-heads-8`, "8"]]],
  [t("Positions"), [[TRANSFORMER, t("sinusoids")], [`${TRANSFORMER}-positions-learned`, t("learned")], [`${TRANSFORMER}-positions-relative`, t("relative")], [`${TRANSFORMER}-positions-directional`, t("directional")], [`${TRANSFORMER}-positions-none`, t("without positions")]]],
  [t("Layer norm"), [[TRANSFORMER, t("before each layer")], [`${TRANSFORMER}-norm-post`, t("after each layer")]]],
];
const EXAMPLES = ["The small black cat does not see the red house.", "This evening my brother often shows a green key.", "The dog sees the cow."];
const MOST = 12; // models in one figure

// The groups of which at least two models are served, and what is served beside them.
function offered() {
  const served = new Map(gallery().map((one) => [one.name, one]));
  const known = groups().map(([title, models]) => [title, models.filter(([name]) => served.has(name))]).filter(([, models]) => models.length > 1);
  const named = new Set(known.flatMap(([, models]) => models.map(([name]) => name)));
  const rest = [...served.keys()].filter((name) => !named.has(name)).map((name) => [name, name]);
  return rest.length ? [...known, [t("Other models"), rest]] : known;
}

const NONE = "none"; // in the address; without a choice, the first group is drawn
const chosenNames = () => {
  if (state.models === NONE) return [];
  return state.models ? state.models.split(",") : (offered()[0]?.[1] ?? []).map(([name]) => name);
};

// The models that are drawn, in the order in which they are offered.
export function drawnModels() {
  const names = chosenNames();
  return names.map((name) => gallery().find((one) => one.name === name)).filter(Boolean).slice(0, MOST);
}

// The groups, if the view is open; `redraw` shows the view again.
export function showGallery(redraw) {
  const open = state.view === "models";
  $("gallery").hidden = !open;
  if (!open) return;
  const names = chosenNames();
  const choose = (wanted) => ({ onclick: () => { state.models = wanted.join(",") || NONE; redraw(); } });
  const lines = offered().map(([title, models], at) => {
    const all = models.map(([name]) => name);
    const whole = button(title, all.length === names.length && all.every((name) => names.includes(name)), { ...choose(all), id: `gallery-group-${at}` });
    const line = made("div", { className: "chooser", role: "group" }, whole, ...models.map(([name, label]) => button(label, names.includes(name), choose(names.includes(name) ? names.filter((one) => one !== name) : [...names, name]))));
    line.setAttribute("aria-labelledby", whole.id);
    return line;
  });
  const note = made("p", { className: "hint" }, t("These small models were trained for seconds on sentences of a made-up grammar, such as the ones below. All of them are shown the translation of the first one. Choose a group, or single models of it."));
  const tries = made("p", { className: "chooser" });
  const [from] = shown();
  if (from === "en") tries.append(...EXAMPLES.map((text) => button(text, undefined, { lang: "en", onclick: () => write(text) })));
  $("gallery").replaceChildren(note, tries, ...lines);
}

// Put an example into the box of the text and translate it, as if the visitor had.
function write(text) {
  $("text").value = text;
  $("text").dispatchEvent(new Event("input"));
  if (sentences()[0]?.source.text !== text) $("form").requestSubmit();
}
