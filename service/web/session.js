// What the server offers, and the sentences it has translated: what the parts of the page share.

import { state } from "./state.js";

export const session = {
  models: [],
  languages: [],
  limit: Infinity, // characters that the server takes
  legs: [], // the sentences of each leg of the translation that is shown: one, or two through a pivot language
};

// The language between the two legs of the chosen pair; empty if one model translates it.
export const pivot = () => session.languages.find((one) => one.code === state.source)?.pivots?.[state.target] ?? "";

// The pairs that are translated one after the other: the chosen one, or its two legs.
export function legs() {
  const between = pivot();
  return between ? [[state.source, between], [between, state.target]] : [[state.source, state.target]];
}

// The leg that is looked into, and its sentences.
const place = () => (pivot() && state.leg === "2" ? 1 : 0);
export const shown = () => legs()[place()];
export const sentences = () => session.legs[place()] ?? [];

const served = (one, [source, target]) => one.pairs.find((each) => each.source === source && each.target === target);
export const isDefault = (one, of = shown()) => Boolean(served(one, of)?.default);
export const pair = (of = shown()) => session.models.filter((one) => served(one, of));
export const model = (of = shown()) => pair(of).find((one) => (state.model ? one.name === state.model : isDefault(one, of)));
export const languageName = (code) => session.languages.find((one) => one.code === code)?.name ?? code;

// What the model is compared with: of the same languages, if possible built differently.
export function other() {
  const others = pair().filter((one) => one !== model());
  return others.find((one) => one.architecture !== model().architecture) ?? others[0];
}
