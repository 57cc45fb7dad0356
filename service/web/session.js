// What the parts of the page share: what the server offers, and the sentences it has translated.

import { base, nameOf } from "./i18n.js";
import { state } from "./state.js";

export const session = {
  models: [],
  languages: [],
  limit: Infinity, // characters that the server takes
  legs: [], // the sentences of each leg of the translation that is shown: one, or two through a pivot language
  text: "", // the text of which the translation is shown
  translation: "",
  of: "", // the other fields of its request
  between: undefined, // the text between two legs, and its language
  detected: "", // the language of the text, if the visitor leaves it to the server
  anyway: "", // the source that the visitor insists on for a text that seems to be in another language
};

export const AUTO = "auto";
export const source = () => (state.source === AUTO ? session.detected : state.source);
const language = (code) => session.languages.find((one) => one.code === code);
export const languageName = (code) => nameOf(code, language(code)?.name);

// The languages that one can be translated into, or all of them if it is not known yet; and those to translate from.
export const targets = (code) => [...new Set((code ? [language(code)] : session.languages).flatMap((one) => one?.targets.filter((each) => each !== one.code) ?? []))];
export const sources = () => session.languages.map((one) => one.code).filter((code) => targets(code).length);

// Those of some languages that the browser is set to, the first one first, and English.
export const readers = (codes) => [...navigator.languages, "en"].map((tag) => codes.find((code) => base(code) === base(tag))).filter(Boolean);
export const isSource = (code) => sources().some((one) => base(one) === base(code));

// Whether familiar or polite forms can be asked for in a language.
export const hasFormality = (code) => Boolean(language(code)?.formality);

// The language between the two legs of the chosen pair; empty if one model translates it.
export const pivot = () => language(source())?.pivots?.[state.target] ?? "";

// The pairs that are translated one after the other: the chosen one, or its two legs.
export function legs() {
  const between = pivot();
  return between ? [[source(), between], [between, state.target]] : [[source(), state.target]];
}

// The leg that is looked into, and its sentences.
const place = () => (pivot() && state.leg === "2" ? 1 : 0);
export const shown = () => legs()[place()];
export const sentences = () => session.legs[place()] ?? [];

const served = (one, [source, target]) => one.pairs.find((each) => each.source === source && each.target === target);
export const isDefault = (one, of = shown()) => Boolean(served(one, of)?.default);
export const pair = (of = shown()) => session.models.filter((one) => served(one, of) && !one.gallery);
export const gallery = (of = shown()) => session.models.filter((one) => served(one, of) && one.gallery);
export const model = (of = shown()) => pair(of).find((one) => (state.model ? one.name === state.model : isDefault(one, of)));

// The model of the view that is open: for one with a single head, its heads are those of the other model.
const headsOf = (one) => (one?.attention.cross?.layers ?? 1) * (one?.attention.cross?.heads ?? 1);
export const borrows = () => ["heads", "grid"].includes(state.view) && headsOf(model()) === 1 && headsOf(other()) > 1;
export const seen = () => (borrows() ? other() : model());

// The two models of the comparison: the chosen one and another, or of an ensemble its members.
export const compared = () => model()?.members ?? [model(), other()];

// What distinguishes a model from the others of its pair.
export function nameOfModel(one, others) {
  const built = `${one.architecture[0].toUpperCase()}${one.architecture.slice(1)}`;
  const alike = others.filter((other) => other.architecture === one.architecture).length > 1;
  return alike ? `${built} · ${one.name}` : built;
}

// The model for comparisons: of the same languages, if possible of another architecture.
export function other() {
  const others = pair().filter((one) => one !== model());
  return others.find((one) => one.architecture !== model().architecture) ?? others[0];
}
