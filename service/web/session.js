// What the server offers, and the sentences it has translated: what the parts of the page share.

import { state } from "./state.js";

export const session = {
  models: [],
  languages: [],
  limit: Infinity, // characters that the server takes
  sentences: [], // of the translation that is shown
};

export const model = () => session.models.find((one) => one.source === state.source && one.target === state.target && (state.model ? one.name === state.model : one.default));
export const pair = () => session.models.filter((one) => one.source === state.source && one.target === state.target);
export const languageName = (code) => session.languages.find((one) => one.code === code)?.name ?? code;

// What the model is compared with: of the same languages, if possible built differently.
export function other() {
  const others = pair().filter((one) => one !== model());
  return others.find((one) => one.architecture !== model().architecture) ?? others[0];
}
