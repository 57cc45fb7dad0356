// The view of the chosen sentence: a figure, a table, or what is missing for one.

import { attention, post } from "./api.js";
import { showLayers } from "./choices.js";
import { $, made, tell } from "./dom.js";
import { closeExplanation, explain, explainable } from "./explain.js";
import { showExports } from "./exports.js";
import { draw, tables } from "./figure.js";
import { drawnModels, showGallery } from "./gallery.js";
import { t } from "./i18n.js";
import { complain } from "./messages.js";
import { fieldsOfSentence, fieldsOfView, searchFields } from "./requests.js";
import { showTabs } from "./results.js";
import { borrows, compared, model, pair, seen, session } from "./session.js";
import { remember, state } from "./state.js";

// What a picture shows, in a sentence.
const plain = () => ({
  heatmap: {
    cross: t("Each row is a word of the translation. A strong colour is where in the text the model looked for it."),
    encoder: t("Each row is a word of the text. A strong colour is where in the text it looked for its context."),
    decoder: t("Each row is a word of the translation. A strong colour is where among the words before it the model looked."),
    occlusion: t("Each row is a word of the translation. A strong colour is the word of the text that it needs most."),
  }[state.kind],
  lines: t("A line joins two words that belong together for the model. A strong line is a strong link."),
  grid: t("Each small picture is one head. A strong colour is where it looked."),
  compare: t("The same sentence in two models. A strong colour is where each of them looked for a word."),
  contrast: t("The model's translation and yours. A strong colour is where the model looked for a word."),
  models: t("The same sentence with several kinds of attention. A strong colour is where each of them looked for a word."),
})[state.view];

// Views that are no figures of the server; their scripts are loaded when they are first opened.
const OWN = { heads: () => import("./heads.js"), steps: () => import("./steps.js") };

let drawing;

export function stopDrawing() {
  drawing?.abort();
}

// Draw the view that is chosen, or show it as a table.
export async function showView() {
  drawing?.abort();
  const control = (drawing = new AbortController());
  showLayers();
  showTabs();
  showGallery(showView);
  showExports(fieldsOfView, seen()?.name, complain);
  remember();
  const asTable = state.view === "table";
  const own = OWN[state.view];
  $("figure").hidden = asTable || Boolean(own);
  $("table").hidden = !asTable;
  for (const name of Object.keys(OWN)) $(name).hidden = true;
  const missing = hint();
  $("plain").textContent = plain() ?? "";
  $("plain").hidden = $("technical").hidden = Boolean(missing) || !plain();
  const note = missing || (borrows() ? t("{model} has one head. These are the heads of {other}, for the same translation.", { model: model().name, other: seen().name }) : "");
  tell($("figure-note"), note);
  $("sideways").hidden = $("both").hidden = true;
  $("figure-heading").replaceChildren();
  closeExplanation();
  $("explain-hint").hidden = state.view !== "heatmap" || state.kind === "occlusion";
  $("figure").classList.toggle("choosable", explainable());
  if (missing) return void $("figure").replaceChildren();
  $("figure").classList.add("busy");
  try {
    if (own) {
      await (await own()).show(control.signal);
      $(state.view).hidden = false;
      return;
    }
    if (state.view === "compare") showBoth(control.signal);
    const content = await attention(fieldsOfView(asTable ? "json" : "vega"), control.signal);
    if (asTable) tables($("table"), content, (name) => session.models.find((one) => one.name === name)?.attention.align);
    else $("sideways").hidden = !(await draw($("figure"), content, $("figure-heading"), (row, column) => {
      if (!$("explain-hint").hidden) explain(row, column);
    }, control.signal));
  } catch (error) {
    if (error.name === "AbortError") return;
    tell($("figure-note"), error.message);
    $("figure").replaceChildren();
  } finally {
    if (drawing === control) $("figure").classList.remove("busy");
  }
}

// What each of the two models makes of the sentence, each by itself.
async function showBoth(signal) {
  const { text, source, target } = fieldsOfSentence();
  const translated = async ({ name }) => {
    const answer = await post("translate", { q: text, source, target, model: name, ...searchFields() }, signal);
    return [name, answer.translatedText];
  };
  try {
    const found = await Promise.all(compared().map(translated));
    $("both").replaceChildren(...found.flatMap(([name, text]) => [made("dt", {}, name), made("dd", { dir: "auto", lang: target }, text)]));
    $("both").hidden = false;
  } catch (error) {
    complain(error);
  }
}

function hint() {
  if (state.view === "contrast" && !state.target_text) return t("Enter your own translation above to compare it with the model's translation.");
  if (state.view === "compare" && pair().length < 2) return t("There is only one model for these languages.");
  if (state.view === "models" && !drawnModels().length) return t("Choose at least one kind of attention.");
  return "";
}

export function choose(view) {
  state.view = view;
  showView();
}
