// Translates the text, and shows the translation, its sentences and their words.

import { closeAlternatives, openAlternatives } from "./alternatives.js";
import { post } from "./api.js";
import { showChoices } from "./choices.js";
import { $, button } from "./dom.js";
import { doubtsOf } from "./doubts.js";
import { number, t, tn } from "./i18n.js";
import { complain, say } from "./messages.js";
import { searchFields } from "./requests.js";
import { showDoubts, showPivot } from "./results.js";
import { AUTO, languageName, legs, model, pivot, sentences, session, source, sources, targets } from "./session.js";
import { remember, state, writeAddress } from "./state.js";
import { cancelTyped } from "./typing.js";
import { showView, stopDrawing } from "./view.js";
import { forgetWords, showWords } from "./words.js";

let translating;
let announced; // the timer after which a new translation is read out
let translated; // the text that is shown, if one is
let notices = []; // what the server warns of, as functions that return it in the language of the page

// The text comes from the address, which may also have the visitor's own translation of it.
export function forgetText() {
  translated = undefined;
}

// Show nothing of an earlier translation.
function empty() {
  stopDrawing();
  closeAlternatives();
  clearTimeout(announced);
  session.legs = [];
  session.between = undefined;
  $("translation").replaceChildren();
  $("spoken").textContent = "";
  $("copy-translation").hidden = $("others").hidden = true;
  showDoubts([]);
  showPivot();
  forgetWords(state.text);
  $("look").hidden = $("words-hint").hidden = $("inside").hidden = true;
}

export function clear() {
  cancelTyped();
  translating?.abort();
  session.detected = "";
  empty();
  $("error").hidden = true;
  say("");
  if (state.source === AUTO) showChoices();
}

// The visitor's own translation belongs to one sentence, and is forgotten with it.
function forgetOwn() {
  state.target_text = $("target_text").value = "";
}

// No translation of another text may stand beside one that cannot be translated.
function fail(error) {
  if (error.name === "AbortError") return;
  empty();
  complain(error);
}

// A long text waits for the button; the old translation does not.
export function wait() {
  cancelTyped();
  translating?.abort();
  empty();
  $("error").hidden = true;
  if (tooLong()) return fail(tooLong());
  say(t("A long text is not translated as you type. Choose Translate, or press Ctrl + Enter."));
}

function tooLong() {
  const over = [...state.text].length - session.limit;
  return over > 0 ? new Error(tn("The text is {count} character too long for this server.", "The text is {count} characters too long for this server.", over)) : undefined;
}

// Translate the text; `typed` while the visitor is typing, so nothing is announced before there is a result.
export async function translate({ typed = false } = {}) {
  cancelTyped();
  translating?.abort();
  if (!state.text.trim()) {
    clear();
    if (typed) return;
    say(t("Type a text to translate first."));
    return void $("text").focus();
  }
  if (tooLong()) return void fail(tooLong());
  if (translated !== undefined && translated !== state.text) forgetOwn();
  translated = state.text;
  const control = (translating = new AbortController());
  if (!pivot()) showPivot();
  $("translation").setAttribute("aria-busy", "true");
  if (!typed) say(t("Translating…"));
  try {
    if (state.source === AUTO) await detect(control.signal);
    await run(control.signal);
    (typed ? remember : writeAddress)(); // a browser refuses an address for every key
    await look();
  } catch (error) {
    fail(error);
  } finally {
    if (translating === control) $("translation").removeAttribute("aria-busy");
  }
}

async function run(signal) {
  const began = performance.now();
  const text = state.text;
  const search = { source: source(), target: state.target, model: state.model || undefined };
  const terms = searchFields();
  const answer = await post("translate", { ...search, q: text, details: true, ...terms }, signal);
  $("error").hidden = true;
  $("translation").lang = state.target;
  $("copy-translation").hidden = $("others").hidden = false;
  const { sentences: found = [], pivot: first } = answer.details ?? {};
  session.legs = first ? [first.sentences, found] : [found];
  Object.assign(session, { between: first, text, translation: answer.translatedText });
  const warnings = answer.warnings ?? [];
  notices = warnings.map((one) => noticeOf(one, search.source)).filter(Boolean);
  showResults();
  if (!sentences()[Number(state.sentence)]) state.sentence = "0";
  const seconds = number((performance.now() - began) / 1000, 2);
  signal.throwIfAborted();
  const instead = warnings.filter((warning) => warning.model).map((warning) => warning.model);
  const [one, other] = legs().map((leg) => model(leg)?.name);
  say(first
    ? t("Translated through {language} by {model} and {other} in {seconds} s", { language: languageName(first.language), model: first.model, other: instead.find((name) => name !== first.model) ?? other, seconds })
    : t("Translated by {model} in {seconds} s", { model: instead[0] ?? one, seconds }));
}

// The words of the translation, the text between two legs, and the doubts, in the language of the page.
export function showResults() {
  if (!session.legs.length) return;
  closeAlternatives();
  showWords(session.text, session.translation, session.legs, session.between?.text);
  forgetWords(state.text); // the visitor may have typed on
  clearTimeout(announced);
  announced = setTimeout(() => { $("spoken").textContent = session.translation; }, 1_000);
  showPivot(session.between, languageName(session.between?.language));
  showDoubts([...notices.map((notice) => notice()), ...session.legs.flatMap(doubtsOf)].filter(Boolean));
}

// Show the list of other translations at a word.
export function choose(word) {
  openAlternatives(word, (at, sentence) => {
    const found = session.legs.at(-1);
    const begin = found.slice(0, at).reduce((end, one) => session.translation.indexOf(one.target.text, end) + one.target.text.length, 0);
    const from = session.translation.indexOf(found[at].target.text, begin);
    session.translation = session.translation.slice(0, from) + sentence.target.text + session.translation.slice(from + found[at].target.text.length);
    found[at] = sentence;
    showResults();
    $("translation").querySelector(`[data-sentence="${at}"] .word`)?.focus();
    look().catch(complain);
  });
}

// Find the language of the text; if it cannot be translated into the chosen one, choose another.
async function detect(signal) {
  const [best] = await post("detect", { q: state.text }, signal);
  if (!best?.confidence || !targets(best.language).length) {
    session.detected = "";
    showChoices();
    const languages = sources().map(languageName).join(", ");
    const language = languageName(best?.confidence ? best.language : await unserved(signal));
    throw new Error(language
      ? t("This looks like {language}. This server translates from {languages}.", { language, languages })
      : t("The language of this text was not recognised. Choose it above the text: {languages}.", { languages }));
  }
  if (session.detected !== best.language) Object.assign(state, { model: "", leg: "1", layer: "", head: "" });
  session.detected = best.language;
  showChoices();
}

// The language of a text in none of those that can be chosen, if it is known: the server does not translate it, and warns.
async function unserved(signal) {
  const { warnings = [] } = await post("translate", { q: state.text, source: AUTO, target: state.target }, signal);
  return warnings.find(({ code }) => code === "unknown_language")?.language;
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

// One button for each entry; the pressed one is the state's, and another one that is pressed is looked into.
function chooser(box, name, entries, change) {
  box.hidden = entries.length < 2;
  box.replaceChildren(...entries.map(({ value, text, label }, at) => {
    const onclick = () => {
      if (value !== state[name]) forgetOwn();
      Object.assign(state, change, { [name]: value });
      remember();
      look().catch(complain);
      box.children[at]?.focus();
    };
    return button(text, value === state[name], { className: "", title: text, ariaLabel: label, onclick });
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

// The figure of the sentence that is chosen, if the visitor looks inside.
export async function look() {
  const any = sentences().length > 0;
  $("look").hidden = $("words-hint").hidden = !any;
  $("look").setAttribute("aria-expanded", String(Boolean(state.view)));
  $("inside").hidden = !any || !state.view;
  document.body.classList.toggle("looking", !$("inside").hidden);
  if ($("inside").hidden) return;
  showLegs();
  showSentences();
  await showView();
}
