// Joins the form, the words and the figures; the address after # always says what is shown.

import { attention, events, get, post } from "./api.js";
import { fit, modelLabel, options } from "./choices.js";
import { doubtsOf } from "./doubts.js";
import { showExports } from "./exports.js";
import { draw, load, tables } from "./figure.js";
import { key, keepKey } from "./key.js";
import { Live } from "./live.js";
import { liveBox, showAlternatives, showDoubts, showTabs } from "./results.js";
import { VIEWS, here, recall, remember, state, writeAddress } from "./state.js";
import { dark, followTheme } from "./theme.js";
import { Words } from "./words.js";

const $ = (id) => document.getElementById(id);

let models = [];
let languages = [];
let sentences = [];
let translating;
let drawing;
let limit = Infinity; // characters that the server takes
let translated; // the text that is shown, if one is
const words = new Words($("source-words"), $("target-words"), $("partners"));

// --- what is chosen ---

const model = () => models.find((one) => one.source === state.source && one.target === state.target && (state.model ? one.name === state.model : one.default));
const pair = () => models.filter((one) => one.source === state.source && one.target === state.target);

function showChoices() {
  const sources = languages.filter((one) => models.some((each) => each.source === one.code));
  const named = (code) => languages.find((one) => one.code === code)?.name ?? code;
  state.source = options($("source"), sources.map((one) => [one.code, one.name]), state.source);
  const targets = [...new Set(models.filter((one) => one.source === state.source).map((one) => one.target))];
  state.target = options($("target"), targets.map((code) => [code, named(code)]), state.target);
  const ordered = pair().sort((one, other) => other.default - one.default);
  const first = ordered[0]?.name ?? "";
  state.model = options($("model"), ordered.map((one) => [one.name, modelLabel(one, ordered)]), state.model || first);
  if (state.model === first) state.model = "";
  for (const name of ["text", "target_text", "beam_size", "length_penalty", "alternatives"]) $(name).value = state[name];
  fit(state.text, limit);
  $("live").checked = state.live === "1";
  for (const name of ["tokens", "specials"]) $(name).value = state[name];
  showLayers();
}

function showLayers() {
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

// --- requests ---

// What the model is compared with: of the same languages, if possible built differently.
function other() {
  const others = pair().filter((one) => one !== model());
  return others.find((one) => one.architecture !== model().architecture) ?? others[0];
}

function fieldsOfSentence() {
  const sentence = sentences[Number(state.sentence)] ?? sentences[0];
  return {
    text: sentence?.source.text ?? state.text, source: state.source, target: state.target, model: state.model,
    target_text: state.target_text,
    beam_size: beam() === 4 ? "" : String(beam()),
    length_penalty: state.length_penalty === "1" ? "" : state.length_penalty,
  };
}

function fieldsOfView(format) {
  const fields = { ...fieldsOfSentence(), tokens: state.tokens, specials: state.specials };
  const digests = [model()?.digest];
  if (state.view === "grid") Object.assign(fields, { kind: state.kind, layer: "all", head: "all" });
  else if (state.view === "table") Object.assign(fields, { kind: state.kind, layer: state.layer, head: state.head });
  else Object.assign(fields, { view: state.view, kind: state.kind, layer: state.layer, head: state.head });
  if (state.view === "compare") {
    const second = other();
    Object.assign(fields, { kind: "cross", other_model: second?.name });
    digests.push(second?.digest);
  }
  if (state.view === "contrast") fields.kind = "cross";
  if (format === "bertviz") Object.assign(fields, { view: "", layer: "", head: "" });
  for (const [name, value] of Object.entries({ kind: "cross", tokens: "subword", specials: "keep", view: "heatmap" })) {
    if (fields[name] === value) delete fields[name];
  }
  const pictures = ["svg", "png", "html", "vega"];
  if (pictures.includes(format)) fields.theme = dark() ? "dark" : "light";
  if (format === "png") fields.scale = "2";
  return { ...fields, digest: digests.filter(Boolean).map((digest) => digest.slice(0, 19)).join(","), format };
}

function say(text) {
  $("status").textContent = text;
}

function complain(error) {
  if (error.name === "AbortError") return;
  $("error").textContent = error.message;
  $("error").hidden = false;
  say("");
  if (["key_required", "invalid_key"].includes(error.code)) askForKey();
}

function askForKey() {
  $("key-box").hidden = false;
  $("key").value = key();
  $("key").focus();
}

// Nothing is translated any more: nothing is left of what was.
function clear() {
  translating?.abort();
  drawing?.abort();
  sentences = [];
  $("translation").textContent = "";
  $("copy-translation").hidden = true;
  showAlternatives([]);
  showDoubts([]);
  $("words").hidden = $("inside").hidden = $("error").hidden = true;
  $("writing")?.remove();
  say("");
}

// An own translation belongs to one sentence: with another it would be compared with what it never was of.
function forgetOwn() {
  state.target_text = $("target_text").value = "";
}

async function translate() {
  if (!state.text) {
    clear();
    say("Type a text to translate first.");
    return void $("text").focus();
  }
  const over = [...state.text].length - limit;
  if (over > 0) return void complain(new Error(`The text is ${over.toLocaleString("en")} ${over > 1 ? "characters" : "character"} too long for this server.`));
  if (translated !== undefined && translated !== state.text) forgetOwn();
  translated = state.text;
  translating?.abort();
  const control = (translating = new AbortController());
  $("error").hidden = true;
  $("writing")?.remove();
  $("translate").disabled = true;
  say("Translating…");
  const began = performance.now();
  try {
    const search = { source: state.source, target: state.target, model: state.model || undefined };
    if (state.live) await watch(search, control.signal);
    const answer = await post("translate", {
      ...search, q: state.text, details: true, alternatives: alternatives(), ...searchFields(),
    }, control.signal);
    $("translation").textContent = answer.translatedText;
    $("translation").lang = state.target;
    $("copy-translation").hidden = false;
    showAlternatives(answer.alternatives ?? []);
    sentences = answer.details?.sentences ?? [];
    showDoubts(doubtsOf(sentences));
    suspect(control.signal);
    if (!sentences[Number(state.sentence)]) state.sentence = "0";
    say(`Translated by ${model()?.name} in ${((performance.now() - began) / 1000).toFixed(2)} s`);
    writeAddress();
    await look();
  } catch (error) {
    complain(error);
  } finally {
    if (translating === control) $("translate").disabled = false;
  }
}

// As many hypotheses as the server keeps: one more than alternatives are wanted, at least. Asked for by name, so that
// the attention shown is that of the translation shown.
const alternatives = () => (state.live ? 0 : Number(state.alternatives) || 0);
const beam = () => (state.live ? 1 : Math.max(Number(state.beam_size) || 4, alternatives() + 1));
const searchFields = () => ({ beam_size: beam(), length_penalty: Number(state.length_penalty) });

// Say so where the text seems to be in another language than it is translated from. It is a hint: failing is no error.
async function suspect(signal) {
  if ((state.text.match(/\p{L}/gu) ?? []).length < 20) return; // too short to be recognised
  try {
    const [best] = await post("detect", { q: state.text }, signal);
    if (signal.aborted || !best) return;
    const name = (code) => languages.find((one) => one.code === code)?.name ?? code;
    let told = "";
    if (best.confidence === 0) told = "The language of this text was not recognised. This server may not translate it.";
    else if (best.language !== state.source && best.confidence >= 80) told = `This looks like ${name(best.language)}, but it is translated from ${name(state.source)}.`;
    if (told) showDoubts([told, ...doubtsOf(sentences)]);
  } catch { /* as said */ }
}

async function watch(search, signal) {
  $("words").hidden = $("inside").hidden = true;
  const live = new Live($("translation"), liveBox());
  try {
    for await (const [name, data] of events("translate/stream", { ...search, q: state.text }, signal)) {
      if (name === "sentence") live.begin(data);
      else if (name === "token") live.token(data);
      else if (name === "error") throw new Error(data.error);
    }
  } finally {
    live.end();
  }
}

function showSentences() {
  $("sentences").hidden = sentences.length < 2;
  $("sentences").replaceChildren(...sentences.map((sentence, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `${number + 1} ${sentence.source.text}`;
    button.title = sentence.source.text;
    button.setAttribute("aria-label", `Sentence ${number + 1}: ${sentence.source.text}`);
    button.setAttribute("aria-pressed", String(number === Number(state.sentence)));
    button.onclick = () => {
      if (String(number) !== state.sentence) forgetOwn();
      state.sentence = String(number);
      remember();
      look().catch(complain);
      $("sentences").children[number]?.focus();
    };
    return button;
  }));
}

// Words and figure of the sentence that is chosen.
async function look() {
  const any = sentences.length > 0;
  $("words").hidden = $("inside").hidden = !any;
  if (!any) return;
  showSentences();
  const control = new AbortController();
  const asked = attention({ ...fieldsOfSentence(), tokens: "word" }, control.signal);
  await Promise.all([asked.then((map) => {
    $("source-words").lang = state.source;
    $("target-words").lang = state.target;
    $("target-side").textContent = state.target_text ? "Your translation" : "Translation";
    words.show(map);
  }), figure()]);
}

async function figure() {
  drawing?.abort();
  const control = (drawing = new AbortController());
  showLayers();
  showTabs();
  showExports(fieldsOfView, model()?.name, complain);
  remember();
  const asTable = state.view === "table";
  $("figure").hidden = asTable;
  $("table").hidden = !asTable;
  const missing = hint();
  $("figure-note").hidden = !missing;
  $("figure-note").textContent = missing;
  $("sideways").hidden = $("both").hidden = true;
  $("inside").dataset.view = state.view;
  $("figure-heading").replaceChildren();
  if (missing) return void $("figure").replaceChildren();
  $("figure").classList.add("busy");
  try {
    if (state.view === "compare") showBoth(control.signal);
    const content = await attention(fieldsOfView(asTable ? "json" : "vega"), control.signal);
    if (asTable) tables($("table"), content, (name) => models.find((one) => one.name === name)?.attention.align);
    else $("sideways").hidden = !(await draw($("figure"), content, $("figure-heading")));
  } catch (error) {
    if (error.name === "AbortError") return;
    $("figure-note").textContent = error.message;
    $("figure-note").hidden = false;
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
    const found = await Promise.all([model(), other()].map(translated));
    $("both").replaceChildren(...found.flatMap(([name, text]) => {
      const [term, told] = [document.createElement("dt"), document.createElement("dd")];
      [term.textContent, told.textContent, told.dir, told.lang] = [name, text, "auto", target];
      return [term, told];
    }));
    $("both").hidden = false;
  } catch (error) {
    complain(error);
  }
}

function hint() {
  if (state.view === "contrast" && !state.target_text) return "Enter your own translation above to compare it with the model's translation.";
  if (state.view === "compare" && pair().length < 2) return "There is only one model for these languages.";
  return "";
}

// --- what people do ---

function choose(view) {
  state.view = view;
  figure();
}

function listen() {
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    state.sentence = "0";
    translate();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("form").requestSubmit();
  });
  for (const name of ["text", "target_text", "beam_size", "length_penalty", "alternatives"]) {
    $(name).addEventListener("input", () => { state[name] = $(name).value; remember(); });
  }
  $("text").addEventListener("input", () => {
    fit(state.text, limit);
    if (!state.text) clear();
  });
  $("key").addEventListener("change", () => {
    keepKey($("key").value);
    $("error").hidden = true;
    open();
  });
  $("target_text").addEventListener("change", () => { if (sentences.length) look().catch(complain); });
  $("live").addEventListener("change", () => { state.live = $("live").checked ? "1" : ""; remember(); });
  for (const name of ["source", "target", "model"]) {
    $(name).addEventListener("change", () => {
      state[name] = $(name).value;
      if (name !== "model") state.model = "";
      Object.assign(state, { layer: "", head: "" });
      showChoices();
      remember();
      if (state.text && sentences.length) translate();
    });
  }
  for (const name of ["kind", "layer", "head", "tokens", "specials"]) {
    $(name).addEventListener("change", () => {
      state[name] = $(name).value;
      if (name === "kind") Object.assign(state, { layer: "", head: "" });
      figure();
    });
  }
  $("views").addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab.dataset.view);
  });
  $("views").addEventListener("keydown", (event) => {
    const at = VIEWS.indexOf(state.view);
    const next = { ArrowRight: (at + 1) % VIEWS.length, ArrowLeft: (at + VIEWS.length - 1) % VIEWS.length, Home: 0, End: VIEWS.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(VIEWS[next]);
    $(`tab-${VIEWS[next]}`).focus();
  });
  const copied = { "copy-translation": () => $("translation").textContent, "copy-link": here, "copy-curl": () => $("curl").textContent };
  for (const [button, text] of Object.entries(copied)) {
    $(button).addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text());
        say("Copied");
      } catch {
        say("The browser does not allow this page to copy. Select the text instead.");
      }
    });
  }
  window.addEventListener("hashchange", () => { recall(); begin(); });
}

function begin() {
  translated = undefined;
  showChoices();
  if (state.text) translate();
  else clear();
}

async function start() {
  recall();
  listen();
  followTheme($("theme"), () => { if (sentences.length) figure(); });
  try {
    const settings = await get("frontend/settings");
    limit = settings.charLimit > 0 ? settings.charLimit : Infinity; // -1 would mean no limit
    fit(state.text, limit);
    if (settings.keyRequired) {
      askForKey();
      if (!key()) return say("Enter your API key to begin.");
      $("text").focus();
    }
    await open();
  } catch (error) {
    complain(error);
  }
}

// Ask what there is, and show what the address says.
async function open() {
  try {
    [models, languages] = await Promise.all([get("models").then((answer) => answer.models), get("languages")]);
    say(models.length ? "" : "No model is loaded yet. Try again in a moment.");
    if (models.length) begin();
    load().catch(() => {}); // meanwhile; who needs it then sees why it failed
  } catch (error) {
    complain(error);
  }
}

start();
