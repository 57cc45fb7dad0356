// Joins the form, the words and the figures; the address after # always says what is shown.

import { address, attentionPath, curlOf, events, get, post, save } from "./api.js";
import { draw, load, tables } from "./figure.js";
import { key, keepKey } from "./key.js";
import { Live } from "./live.js";
import { Words } from "./words.js";

const $ = (id) => document.getElementById(id);
const DEFAULTS = {
  text: "", source: "en", target: "fr", model: "", target_text: "", beam_size: "4", length_penalty: "1", alternatives: "3",
  live: "", view: "heatmap", kind: "cross", layer: "", head: "", tokens: "subword", specials: "keep", sentence: "0",
};
const FILES = [["svg", "SVG"], ["png", "PNG"], ["html", "HTML"], ["csv", "CSV"], ["npz", "npz"], ["json", "JSON"], ["bertviz", "BertViz"], ["pharaoh", "Pharaoh"], ["vega", "Vega-Lite"]];
const VIEWS = ["heatmap", "lines", "grid", "compare", "contrast", "table"];

const state = { ...DEFAULTS };
let models = [];
let languages = [];
let sentences = [];
let translating;
let drawing;
const words = new Words($("source-words"), $("target-words"), $("partners"));

// --- what is chosen ---

const model = () => models.find((one) => one.source === state.source && one.target === state.target && (state.model ? one.name === state.model : one.default));
const pair = () => models.filter((one) => one.source === state.source && one.target === state.target);
const dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

function remember() {
  const changed = Object.entries(state).filter(([name, value]) => value !== DEFAULTS[name]);
  history.replaceState(null, "", `#${new URLSearchParams(changed)}`);
  $("link").href = location.href;
}

function recall() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  Object.assign(state, DEFAULTS, Object.fromEntries(Object.entries(given).filter(([name]) => name in DEFAULTS)));
  if (!VIEWS.includes(state.view)) state.view = DEFAULTS.view;
}

function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, label]) => new Option(label, value, false, value === chosen)));
  select.value = entries.some(([value]) => value === chosen) ? chosen : entries[0]?.[0] ?? "";
  return select.value;
}

function showChoices() {
  const sources = languages.filter((one) => models.some((each) => each.source === one.code));
  const named = (code) => languages.find((one) => one.code === code)?.name ?? code;
  state.source = options($("source"), sources.map((one) => [one.code, one.name]), state.source);
  const targets = [...new Set(models.filter((one) => one.source === state.source).map((one) => one.target))];
  state.target = options($("target"), targets.map((code) => [code, named(code)]), state.target);
  const label = (one) => `${one.architecture[0].toUpperCase()}${one.architecture.slice(1)} (${one.name})`;
  const ordered = pair().sort((one, other) => other.default - one.default);
  const first = ordered[0]?.name ?? "";
  state.model = options($("model"), ordered.map((one) => [one.name, label(one)]), state.model || first);
  if (state.model === first) state.model = "";
  for (const name of ["text", "target_text", "beam_size", "length_penalty", "alternatives"]) $(name).value = state[name];
  $("live").checked = state.live === "1";
  for (const name of ["tokens", "specials"]) $(name).value = state[name];
  showLayers();
}

function showLayers() {
  const sizes = model()?.attention ?? {};
  const kinds = [["cross", "target → source"], ["encoder", "source → source"], ["decoder", "target → target"]];
  state.kind = options($("kind"), kinds.filter(([kind]) => kind === "cross" || sizes[kind]), state.kind);
  const size = sizes[state.kind] ?? { layers: 1, heads: 1 };
  const count = (name, many) => [
    ["", state.kind === "cross" ? `aligning ${name}` : `mean of ${name}s`],
    ...(state.kind === "cross" ? [["mean", `mean of ${name}s`]] : []),
    ...Array.from({ length: many ?? 1 }, (_, number) => [String(number), `${name} ${number}`]),
  ];
  state.layer = options($("layer"), count("layer", size.layers), state.layer);
  state.head = options($("head"), count("head", size.heads), state.head);
  const grid = state.view === "grid";
  const two = ["compare", "contrast"].includes(state.view);
  $("layer").disabled = $("head").disabled = grid;
  $("kind").disabled = two;
}

// --- requests ---

function fieldsOfSentence() {
  const sentence = sentences[Number(state.sentence)] ?? sentences[0];
  return {
    text: sentence?.source.text ?? state.text, source: state.source, target: state.target, model: state.model,
    target_text: state.target_text,
    beam_size: state.live ? "1" : state.beam_size === "4" ? "" : state.beam_size,
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
    const other = pair().find((one) => one !== model() && one.architecture !== model().architecture) ?? pair().find((one) => one !== model());
    Object.assign(fields, { kind: "cross", other_model: other?.name });
    digests.push(other?.digest);
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
  $("models").hidden = true; // a plain link sends no key
  $("key").value = key();
  $("key").focus();
}

async function translate() {
  translating?.abort();
  const control = (translating = new AbortController());
  $("error").hidden = true;
  $("translate").disabled = true;
  say("Translating…");
  const began = performance.now();
  try {
    const search = { source: state.source, target: state.target, model: state.model || undefined };
    if (state.live) await watch(search, control.signal);
    const answer = await post("translate", {
      ...search, q: state.text, details: true, alternatives: Number(state.alternatives) || 0,
      beam_size: state.live ? 1 : Number(state.beam_size) || 4, length_penalty: Number(state.length_penalty),
    }, control.signal);
    $("translation").textContent = answer.translatedText;
    $("translation").lang = state.target;
    showAlternatives(answer.alternatives ?? []);
    sentences = answer.details?.sentences ?? [];
    if (!sentences[Number(state.sentence)]) state.sentence = "0";
    say(`Translated by ${model()?.name} in ${((performance.now() - began) / 1000).toFixed(2)} s`);
    remember();
    await look();
  } catch (error) {
    complain(error);
  } finally {
    if (translating === control) $("translate").disabled = false;
  }
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

function liveBox() {
  let box = $("writing");
  if (!box) {
    box = document.createElement("div");
    Object.assign(box, { id: "writing", className: "figure", tabIndex: 0 });
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Attention while the sentence is written");
    $("form").append(box);
  }
  return box;
}

function showAlternatives(found) {
  $("alternatives-box").hidden = found.length === 0;
  $("alternatives-list").replaceChildren(...found.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    item.dir = "auto";
    return item;
  }));
}

function showSentences() {
  $("sentences").hidden = sentences.length < 2;
  $("sentences").replaceChildren(...sentences.map((sentence, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `${number + 1}`;
    button.title = sentence.source.text;
    button.setAttribute("aria-label", `Sentence ${number + 1}: ${sentence.source.text}`);
    button.setAttribute("aria-pressed", String(number === Number(state.sentence)));
    button.onclick = () => {
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
  const asked = get(attentionPath({ ...fieldsOfSentence(), tokens: "word" }), control.signal);
  await Promise.all([asked.then((map) => {
    $("source-words").lang = state.source;
    $("target-words").lang = state.target;
    words.show(map);
  }), figure()]);
}

async function figure() {
  drawing?.abort();
  const control = (drawing = new AbortController());
  showLayers();
  showTabs();
  showExports();
  remember();
  const asTable = state.view === "table";
  $("figure").hidden = asTable;
  $("table").hidden = !asTable;
  const missing = hint();
  $("figure-note").hidden = !missing;
  $("figure-note").textContent = missing;
  if (missing) return void $("figure").replaceChildren();
  $("figure").classList.add("busy");
  try {
    const content = await get(attentionPath(fieldsOfView(asTable ? "json" : "vega")), control.signal);
    if (asTable) tables($("table"), content);
    else await draw($("figure"), content);
  } catch (error) {
    if (error.name === "AbortError") return;
    $("figure-note").textContent = error.message;
    $("figure-note").hidden = false;
    $("figure").replaceChildren();
  } finally {
    if (drawing === control) $("figure").classList.remove("busy");
  }
}

function hint() {
  if (state.view === "contrast" && !state.target_text) return "Give your own translation under “More” above, and see what the model thinks of it beside its own.";
  if (state.view === "compare" && pair().length < 2) return "There is only one model for these languages.";
  return "";
}

function showTabs() {
  for (const tab of $("views").children) {
    const chosen = tab.dataset.view === state.view;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen) $("panel").setAttribute("aria-labelledby", tab.id);
  }
}

function showExports() {
  const single = !["compare", "contrast"].includes(state.view);
  const offered = { bertviz: single, pharaoh: single && state.kind === "cross" };
  $("downloads").replaceChildren(...FILES.filter(([format]) => offered[format] ?? true).map(([format, label]) => {
    const link = document.createElement("a");
    link.href = address(attentionPath(fieldsOfView(format)));
    link.download = `attention-${model()?.name}-${state.view}.${{ pharaoh: "txt", bertviz: "json" }[format] ?? format}`;
    link.textContent = label;
    link.addEventListener("click", (event) => {
      if (!key()) return;
      event.preventDefault();
      save(attentionPath(fieldsOfView(format)), link.download).catch(complain);
    });
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  const { digest, ...fields } = fieldsOfView(state.view === "table" ? "json" : "svg");
  $("curl").textContent = curlOf(fields);
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
  $("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => showTheme());
  for (const [button, text] of [["copy-link", () => location.href], ["copy-curl", () => $("curl").textContent]]) {
    $(button).addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text());
        say("Copied");
      } catch {
        say("The browser does not let this page copy; select the text instead.");
      }
    });
  }
  window.addEventListener("hashchange", () => { recall(); begin(); });
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  try { localStorage.setItem("theme", name); } catch { /* a browser that stores nothing */ }
  showTheme();
}

function showTheme() {
  $("theme").setAttribute("aria-pressed", String(dark()));
  if (sentences.length) figure();
}

function begin() {
  showChoices();
  if (state.text) translate();
}

async function start() {
  try { document.documentElement.dataset.theme = localStorage.getItem("theme") ?? ""; } catch { /* as above */ }
  if (!document.documentElement.dataset.theme) delete document.documentElement.dataset.theme;
  recall();
  listen();
  showTheme();
  try {
    if ((await get("frontend/settings")).keyRequired) {
      askForKey();
      if (!key()) return say("Give your API key to begin.");
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
    say(models.length ? "" : "No model is loaded yet; try again in a moment.");
    begin();
    load().catch(() => {}); // meanwhile; who needs it then sees why it failed
  } catch (error) {
    complain(error);
  }
}

start();
