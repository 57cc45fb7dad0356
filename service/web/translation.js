// Translates the text, and shows the translation, its sentences and their words.

import { attention, events, post } from "./api.js";
import { doubtsOf } from "./doubts.js";
import { Live } from "./live.js";
import { complain, say } from "./messages.js";
import { alternatives, fieldsOfSentence, searchFields } from "./requests.js";
import { liveBox, showAlternatives, showDoubts, showPivot } from "./results.js";
import { languageName, legs, model, pivot, sentences, session, shown } from "./session.js";
import { remember, state, writeAddress } from "./state.js";
import { showView, stopDrawing } from "./view.js";
import { Words } from "./words.js";

const $ = (id) => document.getElementById(id);

let translating;
let translated; // the text that is shown, if one is
const words = new Words($("source-words"), $("target-words"), $("partners"));

// The text comes from the address: an own translation in it belongs to it.
export function forgetText() {
  translated = undefined;
}

// Nothing is translated any more: nothing is left of what was.
export function clear() {
  translating?.abort();
  stopDrawing();
  session.legs = [];
  $("translation").textContent = "";
  $("copy-translation").hidden = true;
  showAlternatives([]);
  showDoubts([]);
  showPivot();
  $("words").hidden = $("inside").hidden = $("error").hidden = true;
  $("writing")?.remove();
  say("");
}

// An own translation belongs to one sentence: with another it would be compared with what it never was of.
function forgetOwn() {
  state.target_text = $("target_text").value = "";
}

export async function translate() {
  if (!state.text) {
    clear();
    say("Type a text to translate first.");
    return void $("text").focus();
  }
  const over = [...state.text].length - session.limit;
  if (over > 0) return void complain(new Error(`The text is ${over.toLocaleString("en")} ${over > 1 ? "characters" : "character"} too long for this server.`));
  if (translated !== undefined && translated !== state.text) forgetOwn();
  translated = state.text;
  translating?.abort();
  const control = (translating = new AbortController());
  $("error").hidden = true;
  $("writing")?.remove();
  if (!pivot()) showPivot();
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
    const { sentences: found = [], pivot: first } = answer.details ?? {};
    session.legs = first ? [first.sentences, found] : [found];
    showPivot(first, languageName(first?.language));
    showDoubts(doubts());
    suspect(control.signal);
    if (!sentences()[Number(state.sentence)]) state.sentence = "0";
    const through = first ? ` through ${languageName(first.language)}` : "";
    say(`Translated${through} by ${legs().map((leg) => model(leg)?.name).join(" and ")} in ${((performance.now() - began) / 1000).toFixed(2)} s`);
    writeAddress();
    await look();
  } catch (error) {
    complain(error);
  } finally {
    if (translating === control) $("translate").disabled = false;
  }
}

const doubts = () => [...new Set(session.legs.flatMap(doubtsOf))];

// Say so where the text seems to be in another language than it is translated from. It is a hint: failing is no error.
async function suspect(signal) {
  if ((state.text.match(/\p{L}/gu) ?? []).length < 20) return; // too short to be recognised
  try {
    const [best] = await post("detect", { q: state.text }, signal);
    if (signal.aborted || !best) return;
    let note = "";
    if (best.confidence === 0) note = "The language of this text was not recognised. This server may not translate it.";
    else if (best.language !== state.source && best.confidence >= 80) note = `This looks like ${languageName(best.language)}, but it is translated from ${languageName(state.source)}.`;
    if (note) showDoubts([note, ...doubts()]);
  } catch { /* as said */ }
}

async function watch(search, signal) {
  $("words").hidden = $("inside").hidden = true;
  const live = new Live($("translation"), liveBox());
  try {
    for await (const [name, data] of events("translate/stream", { ...search, q: state.text }, signal)) {
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
  box.replaceChildren(...entries.map(({ value, text, label }, number) => {
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
      box.children[number]?.focus();
    };
    return button;
  }));
}

function showSentences() {
  chooser($("sentences"), "sentence", sentences().map(({ source: { text } }, number) => (
    { value: String(number), text: `${number + 1} ${text}`, label: `Sentence ${number + 1}: ${text}` }
  )), {});
}

function showLegs() {
  chooser($("legs"), "leg", legs().map((leg, number) => {
    const text = leg.map(languageName).join(" → ");
    return { value: String(number + 1), text, label: `Leg ${number + 1}: ${text}` };
  }), { sentence: "0", layer: "", head: "" });
}

// Words and figure of the sentence that is chosen.
export async function look() {
  const any = sentences().length > 0;
  $("words").hidden = $("inside").hidden = !any;
  if (!any) return;
  showLegs();
  showSentences();
  const control = new AbortController();
  const asked = attention({ ...fieldsOfSentence(), tokens: "word" }, control.signal);
  await Promise.all([asked.then((map) => {
    const [source, target] = shown();
    $("source-words").lang = source;
    $("target-words").lang = target;
    $("source-side").textContent = source === state.source ? "Your text" : `In ${languageName(source)}`;
    const written = target === state.target ? "Translation" : `In ${languageName(target)}`;
    $("target-side").textContent = state.target_text ? "Your translation" : written;
    words.show(map);
  }), showView()]);
}
