// Translates the text. The page is in one of these states: nothing is shown; what is shown belongs to what is asked for;
// or it is out of date, because an answer is on its way, because a request has failed, or because the visitor asks with the
// button. What is shown stays until another translation takes its place, or the text is empty.

import { again } from "./again.js";
import { showVoices } from "./aloud.js";
import { closeAlternatives, openAlternatives } from "./alternatives.js";
import { post } from "./api.js";
import { choosePair, showChoices } from "./choices.js";
import { $, button, tell } from "./dom.js";
import { doubtsOf } from "./doubts.js";
import { record } from "./history.js";
import { number, t, tn } from "./i18n.js";
import { forgetOwn, look } from "./inside.js";
import { complain, say } from "./messages.js";
import { changed } from "./paragraphs.js";
import { formality, searchFields } from "./requests.js";
import { showDoubts, showPivot } from "./results.js";
import { AUTO, isSource, languageName, legs, model, pivot, readers, sentences, session, source, sources, targets } from "./session.js";
import { OF_PAIR, remember, state, writeAddress } from "./state.js";
import { cancelTyped, pauseAfter, soon, translatesWhileTyping } from "./typing.js";
import { stopDrawing } from "./view.js";
import { forgetWords, showWords } from "./words.js";

const NOTHING = { legs: [], text: "", translation: "", between: undefined, of: "" };
const SURE = 60; // percent: a language that is less likely may be another one
const trying = again(() => translate({ typed: true }));

let translating; // the request that is under way
let failed = false; // whether the last one has failed for a while
let announced; // the timer after which a new translation is read out
let notices = []; // what the server warns of, as functions that return it in the language of the page

const fieldsOf = () => ({ source: source(), target: state.target, model: state.model || undefined, formality: formality(), ...searchFields() });
const asked = () => JSON.stringify(fieldsOf());
export const isCurrent = () => session.text === state.text && session.of === asked();

// Whether what is shown belongs to what is asked for, and what the visitor can do where it does not.
function showAge(working) {
  const old = session.legs.length > 0 && !isCurrent();
  $("translation").classList.toggle("old", old);
  if (working) $("translation").setAttribute("aria-busy", "true");
  else $("translation").removeAttribute("aria-busy");
  $("age").hidden = working || !old;
  $("retry").hidden = working || !failed;
}

export function clear() {
  cancelTyped();
  trying.succeeded();
  translating?.abort();
  stopDrawing();
  closeAlternatives();
  clearTimeout(announced);
  failed = false;
  Object.assign(session, NOTHING, { detected: "", anyway: "" });
  $("translation").replaceChildren();
  $("translation").hidden = false;
  $("spoken").textContent = "";
  for (const name of ["copy-translation", "others", "edit", "edited", "hear-translation", "error", "limit", "look", "words-hint", "inside", "anyway"]) $(name).hidden = true;
  showDoubts([]);
  showPivot();
  forgetWords(state.text);
  say("");
  showAge(false);
  if (state.source === AUTO) showChoices();
}

function fail(error) {
  if (error.name === "AbortError") return;
  failed = Boolean(error.temporary);
  $("anyway").hidden = !error.anyway;
  complain(error);
  trying.failed(error);
}

// How many characters the text has more than the server takes; told at the count of characters, where the text ends.
function tooLong() {
  const over = [...state.text].length - session.limit;
  tell($("limit"), over > 0 ? tn("The text is {count} character too long for this server.", "The text is {count} characters too long for this server.", over) : "");
  return over > 0;
}

// What the visitor types or changes is translated in a moment, or by the button if that was chosen; `before` is what stands before the cursor.
export function typed(before) {
  closeAlternatives();
  if (session.text !== state.text) forgetOwn();
  if (!state.text.trim()) return clear();
  const wanted = !tooLong() && session.models.length > 0 && translatesWhileTyping();
  showAge(wanted);
  if (wanted) soon(() => translate({ typed: true }), before === undefined ? undefined : pauseAfter(before));
  else cancelTyped();
}

// Translate the text; `typed` while the visitor is typing, so nothing is announced before there is a result.
export async function translate({ typed: quietly = false } = {}) {
  cancelTyped();
  trying.stop();
  translating?.abort();
  if (!state.text.trim()) {
    clear();
    if (quietly) return;
    say(t("Type a text to translate first."));
    return void $("text").focus();
  }
  if (tooLong()) return showAge(false);
  const control = (translating = new AbortController());
  if (!pivot()) showPivot();
  showAge(true);
  $("anyway").hidden = true;
  if (!quietly) say(t("Translating…"));
  try {
    if (state.source === AUTO) await detect(control.signal);
    if (!quietly || !isCurrent()) await run(control.signal, quietly);
    failed = false;
    trying.succeeded();
    $("error").hidden = true;
    (quietly ? remember : writeAddress)(); // a browser refuses an address for every key
    await look();
  } catch (error) {
    fail(error);
  } finally {
    if (translating === control) showAge(false);
  }
}

// The answer for a text, with its sentences for each leg.
const answerOf = (text, { translatedText, details, warnings = [] }) => ({
  text, translation: translatedText, between: details?.pivot ?? undefined, warnings,
  legs: [details?.pivot?.sentences, details?.sentences ?? []].filter(Boolean),
});

// Ask for the text, or for the paragraphs that have changed since the last answer.
async function ask(text, fields, patch, signal) {
  const request = (q) => post("translate", { ...fields, q, details: true }, signal);
  if (!patch) return answerOf(text, await request(text));
  if (!patch.texts.length) return { ...patch.put([]), warnings: [] };
  const { translatedText, details, warnings = [] } = await request(patch.texts);
  const found = patch.texts.map((own, at) => answerOf(own, { translatedText: translatedText[at], details: details?.[at] }));
  return { ...patch.put(found.map((one) => ({ ...one, between: one.between?.text ?? one.text }))), warnings: warnings.flat() };
}

async function run(signal, quietly) {
  const began = performance.now();
  const [text, fields, of] = [state.text, fieldsOf(), asked()];
  const patch = quietly && session.of === of ? changed(text, session) : undefined;
  const { warnings, ...answer } = await ask(text, fields, patch, signal);
  const strange = warnings.find(({ code, language }) => code === "source_language" && !isSource(language));
  if (strange && !patch && session.anyway !== fields.source) throw Object.assign(new Error(unread(strange.language)), { anyway: true });
  $("translation").lang = fields.target;
  for (const name of ["copy-translation", "others", "edit", "translation"]) $(name).hidden = false;
  $("edited").hidden = true;
  $("edit").textContent = t("Edit");
  Object.assign(session, answer, { of });
  if (!patch) notices = warnings.map((one) => noticeOf(one, fields.source)).filter(Boolean);
  showResults();
  if (!sentences()[Number(state.sentence)]) state.sentence = "0";
  const seconds = number((performance.now() - began) / 1000, 2);
  signal.throwIfAborted();
  const instead = warnings.filter((warning) => warning.model).map((warning) => warning.model);
  const [one, other] = legs().map((leg) => model(leg)?.name);
  const first = answer.between;
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
  announced = setTimeout(() => {
    $("spoken").textContent = session.translation;
    record();
    announced = setTimeout(() => { $("spoken").textContent = ""; }, 5_000); // a reader has the text once
  }, 1_000);
  showVoices();
  showPivot(session.between, languageName(session.between?.language));
  showDoubts([...notices.map((notice) => notice()), ...session.legs.flatMap(doubtsOf)].filter(Boolean));
}

// Show the list of other words at a word, or of other translations of its sentence.
export function choose(word, whole) {
  openAlternatives(word, (at, sentence) => {
    const found = session.legs.at(-1);
    const begin = found.slice(0, at).reduce((end, one) => session.translation.indexOf(one.target.text, end) + one.target.text.length, 0);
    const from = session.translation.indexOf(found[at].target.text, begin);
    session.translation = session.translation.slice(0, from) + sentence.target.text + session.translation.slice(from + found[at].target.text.length);
    found[at] = sentence;
    showResults();
    $("translation").querySelector(`[data-sentence="${at}"] .word`)?.focus();
    look().catch(complain);
  }, whole);
}

const unread = (language) => t("This looks like {language}. This server translates from {languages}.", { language: languageName(language), languages: sources().map(languageName).join(", ") });

// The language of a text among guesses. Short texts are in several languages: an unsure guess gives way to the language of
// the text so far, or to one that the browser is set to.
async function languageOf(guesses, signal) {
  const [best] = guesses;
  const usual = [session.detected, ...readers(sources())].filter(Boolean);
  if (best?.confidence) {
    const found = usual.map((code) => guesses.find(({ language }) => language === code)).find((guess) => guess?.confidence >= best.confidence / 2);
    return best.confidence < SURE && found ? found.language : best.language;
  }
  const other = await unserved(signal);
  if (other) throw new Error(unread(other));
  if (/\p{L}/u.test(state.text) && usual.length) return usual[0];
  throw new Error(t("The language of this text was not recognised. Choose it above the text: {languages}.", { languages: sources().map(languageName).join(", ") }));
}

// Find the language of the text; if it cannot be translated into the chosen one, choose another.
async function detect(signal) {
  const language = await languageOf(await post("detect", { q: state.text }, signal), signal);
  if (!targets(language).length) throw new Error(unread(language));
  if (session.detected !== language) Object.assign(state, OF_PAIR);
  session.detected = language;
  showChoices();
}

// The language of a text in none of those that can be chosen, if it is known: the server does not translate it, and warns.
async function unserved(signal) {
  const { warnings = [] } = await post("translate", { q: state.text, source: AUTO, target: state.target }, signal);
  return warnings.find(({ code }) => code === "unknown_language")?.language;
}

// Translate from another language than the one that was chosen.
function translateFrom(language) {
  choosePair({ source: language });
  translate();
}

// What a warning of the server says: the text seems to be in another language, or another model has translated.
function noticeOf(warning, chosen) {
  if (warning.code === "source_language") {
    const { language } = warning;
    return () => [
      t("This looks like {language}, but it is translated from {source}.", { language: languageName(language), source: languageName(chosen) }),
      isSource(language) ? [button(t("Translate from {language}", { language: languageName(language) }), undefined, { onclick: () => translateFrom(language) })] : [],
    ];
  }
  if (warning.code === "formality") return () => t("Not every sentence has the form of address that you chose.");
  if (warning.code === "default_model_failed") {
    return () => t("The usual model has failed. {model} has translated instead.", { model: warning.model });
  }
  return undefined;
}
