// Translates the text, and shows the translation, its sentences and their words.

import { attention, events, post } from "./api.js";
import { fit, showChoices } from "./choices.js";
import { doubtsOf } from "./doubts.js";
import { number, t, tn } from "./i18n.js";
import { Live } from "./live.js";
import { glossary } from "./glossary.js";
import { complain, say } from "./messages.js";
import { showMarked } from "./quality.js";
import { alternatives, fieldsOfSentence, searchFields } from "./requests.js";
import { liveBox, showAlternatives, showDoubts, showPivot } from "./results.js";
import { clearSecond, translateSecond } from "./second.js";
import { AUTO, languageName, legs, model, pivot, sentences, session, shown, source, targets } from "./session.js";
import { remember, state, writeAddress } from "./state.js";
import { cancelTyped } from "./typing.js";
import { showView, stopDrawing } from "./view.js";
import { Words } from "./words.js";

const $ = (id) => document.getElementById(id);

let translating;
let looking;
let translated; // the text that is shown, if one is
let notices = []; // what the server warns of, as functions that return it in the language of the page
const words = new Words($("source-words"), $("target-words"), $("partners"));

// The text comes from the address, which may also have the visitor's own translation of it.
export function forgetText() {
  translated = undefined;
}

// Show nothing of an earlier translation.
export function clear() {
  cancelTyped();
  translating?.abort();
  looking?.abort();
  stopDrawing();
  session.legs = [];
  session.between = undefined;
  session.detected = "";
  $("translation").textContent = "";
  $("copy-translation").hidden = true;
  clearSecond();
  showAlternatives([]);
  showDoubts([]);
  showPivot();
  $("words").hidden = $("inside").hidden = $("error").hidden = true;
  $("writing")?.remove();
  say("");
  if (state.source === AUTO) showChoices();
  fit(); // the box was as high as the translation beside it
}

// The visitor's own translation belongs to one sentence, and is forgotten with it.
function forgetOwn() {
  state.target_text = $("target_text").value = "";
}

// Translate the text; `typed` while the visitor is typing, so nothing is announced before there is a result.
export async function translate({ typed = false } = {}) {
  cancelTyped();
  translating?.abort();
  looking?.abort();
  if (!state.text.trim()) {
    clear();
    if (typed) return;
    say(t("Type a text to translate first."));
    return void $("text").focus();
  }
  const over = [...state.text].length - session.limit;
  if (over > 0) return void complain(new Error(tn("The text is {count} character too long for this server.", "The text is {count} characters too long for this server.", over)));
  if (translated !== undefined && translated !== state.text) forgetOwn();
  translated = state.text;
  const control = (translating = new AbortController());
  $("error").hidden = true;
  $("writing")?.remove();
  if (!pivot()) showPivot();
  $("translation").setAttribute("aria-busy", "true");
  if (!typed) {
    $("translate").disabled = true;
    say(t("Translating…"));
  }
  try {
    if (state.source === AUTO) await detect(control.signal);
    await run(control.signal);
    await look();
  } catch (error) {
    complain(error);
  } finally {
    if (translating === control) {
      $("translate").disabled = false;
      $("translation").removeAttribute("aria-busy");
    }
  }
}

async function run(signal) {
  const began = performance.now();
  const search = { source: source(), target: state.target, model: state.model || undefined };
  if (state.live) await watch(search, signal);
  const asked = post("translate", {
    ...search, q: state.text, details: true, alternatives: alternatives(), ...searchFields(),
  }, signal);
  const second = translateSecond(state.text, asked, signal);
  second.catch(() => {}); // its failure is reported below, after the translation itself
  const answer = await asked;
  showMarked($("translation"), answer.translatedText, answer.details?.sentences ?? []);
  $("translation").lang = state.target;
  $("copy-translation").hidden = false;
  showAlternatives(answer.alternatives ?? []);
  const { sentences: found = [], pivot: first } = answer.details ?? {};
  session.legs = first ? [first.sentences, found] : [found];
  session.between = first;
  const warnings = answer.warnings ?? [];
  notices = warnings.map((one) => noticeOf(one, search.source)).filter(Boolean);
  showResults();
  if (!sentences()[Number(state.sentence)]) state.sentence = "0";
  const seconds = number((performance.now() - began) / 1000, 2);
  await second.catch(complain);
  signal.throwIfAborted();
  const instead = warnings.filter((warning) => warning.model).map((warning) => warning.model);
  const [one, other] = legs().map((leg) => model(leg)?.name);
  say(first
    ? t("Translated through {language} by {model} and {other} in {seconds} s", { language: languageName(first.language), model: first.model, other: instead.find((name) => name !== first.model) ?? other, seconds })
    : t("Translated by {model} in {seconds} s", { model: instead[0] ?? one, seconds }));
  writeAddress();
}

// The text between two legs, and the doubts about the translation, in the language of the page.
export function showResults() {
  showPivot(session.between, languageName(session.between?.language));
  const doubts = new Set(session.legs.flatMap(doubtsOf));
  showDoubts([...notices.map((notice) => notice()), ...doubts].filter(Boolean));
}

// Find the language of the text; if it cannot be translated into the chosen one, choose another.
async function detect(signal) {
  const [best] = await post("detect", { q: state.text }, signal);
  if (!best || best.confidence === 0 || !targets(best.language).length) {
    session.detected = "";
    showChoices();
    throw new Error(t("The language of this text was not recognised. Choose it in the list “From”."));
  }
  if (session.detected !== best.language) Object.assign(state, { model: "", leg: "1", layer: "", head: "" });
  session.detected = best.language;
  showChoices();
}

// What a warning of the server says: the text seems to be in another language, or another model has translated.
function noticeOf(warning, chosen) {
  if (warning.code === "source_language") {
    return () => t("This looks like {language}, but it is translated from {source}.", { language: languageName(warning.language), source: languageName(chosen) });
  }
  if (warning.code === "default_model_failed") {
    return () => t("The usual model has failed. {model} has translated instead.", { model: warning.model });
  }
  return undefined;
}

async function watch(search, signal) {
  $("words").hidden = $("inside").hidden = true;
  const live = new Live($("translation"), liveBox());
  try {
    for await (const [name, data] of events("translate/stream", { ...search, q: state.text, glossary: glossary() }, signal)) {
      if (name === "pivot") showPivot(data, languageName(data.language));
      else if (name === "sentence") live.begin(data);
      else if (name === "token") live.token(data);
      else if (name === "error") throw new Error(data.error);
    }
  } finally {
    live.end();
  }
}

// One button for each entry; the pressed one is the state's, and another one that is pressed is looked into.
function chooser(box, name, entries, change) {
  box.hidden = entries.length < 2;
  box.replaceChildren(...entries.map(({ value, text, label }, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.title = text;
    button.setAttribute("aria-label", label);
    button.setAttribute("aria-pressed", String(value === state[name]));
    button.onclick = () => {
      if (value !== state[name]) forgetOwn();
      Object.assign(state, change, { [name]: value });
      remember();
      look().catch(complain);
      box.children[at]?.focus();
    };
    return button;
  }));
}

function showSentences() {
  chooser($("sentences"), "sentence", sentences().map(({ source: { text } }, at) => (
    { value: String(at), text: `${at + 1} ${text}`, label: t("Sentence {number}: {text}", { number: at + 1, text }) }
  )), {});
}

function showLegs() {
  chooser($("legs"), "leg", legs().map((leg, at) => {
    const text = leg.map(languageName).join(" → ");
    return { value: String(at + 1), text, label: t("Leg {number}: {pair}", { number: at + 1, pair: text }) };
  }), { sentence: "0", layer: "", head: "" });
}

// Words and figure of the sentence that is chosen.
export async function look() {
  looking?.abort();
  const any = sentences().length > 0;
  $("words").hidden = $("inside").hidden = !any;
  if (!any) return;
  showLegs();
  showSentences();
  const control = (looking = new AbortController());
  const asked = attention({ ...fieldsOfSentence(), tokens: "word" }, control.signal);
  await Promise.all([asked.then((map) => {
    const [from, into] = shown();
    $("source-words").lang = from;
    $("target-words").lang = into;
    $("source-side").textContent = from === source() ? t("Your text") : t("In {language}", { language: languageName(from) });
    const written = into === state.target ? t("Translation") : t("In {language}", { language: languageName(into) });
    $("target-side").textContent = state.target_text ? t("Your translation") : written;
    words.show(map);
  }), showView()]);
}
