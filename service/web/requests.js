// The fields of requests: for the translation, for the attention of a sentence, and for a view in a format.

import { drawnModels } from "./gallery.js";
import { glossary, usesGlossary } from "./glossary.js";
import { language } from "./i18n.js";
import { borrows, hasFormality, model, other, seen, sentences, shown } from "./session.js";
import { state } from "./state.js";
import { dark } from "./theme.js";

// The number of a field within its limits, or what the field begins with.
const within = (name) => {
  const { min, max, defaultValue } = document.getElementById(name);
  const number = Number(state[name]);
  return state[name] && Number.isFinite(number) ? Math.min(Math.max(number, min), max) : Number(defaultValue);
};
const beam = () => Math.round(within("beam_size"));
// What a box holds once it is left: what is used.
export const settled = (name) => (name === "formality" ? state[name] : String(name === "beam_size" ? beam() : within(name)));
export const formality = () => (hasFormality(state.target) && state.formality !== "default" ? state.formality : undefined);
export const searchFields = () => ({ beam_size: beam(), length_penalty: within("length_penalty"), glossary: glossary() });

export function fieldsOfSentence() {
  const sentence = sentences()[Number(state.sentence)] ?? sentences()[0];
  const [source, target] = shown(); // of a leg, too: its request needs nothing of the other one
  return {
    text: sentence?.source.text ?? state.text, source, target, model: state.model,
    // Attention knows no glossary and no formality, and finds one translation: it shows the one that was made with terms, or chosen.
    target_text: state.target_text || (usesGlossary() || formality() || sentence?.chosen ? sentence?.target.text : ""),
    beam_size: beam() === 4 ? "" : String(beam()),
    length_penalty: within("length_penalty") === 1 ? "" : String(within("length_penalty")),
  };
}

// The layer of the list's first entry: with all of its heads it needs its number.
const alignmentLayer = () => (state.kind === "cross" ? String(seen()?.attention.align?.layer ?? 0) : "mean");

export function fieldsOfView(format) {
  const fields = { ...fieldsOfSentence(), tokens: state.tokens, specials: state.specials };
  let digests = [seen()?.digest];
  if (borrows()) Object.assign(fields, { model: seen().name, target_text: fields.target_text || sentences()[Number(state.sentence)]?.target.text });
  if (state.view === "steps") {
    const { layer, head } = state;
    return { ...fieldsOfSentence(), target_text: "", view: "steps", layer, head, digest: digests[0]?.slice(0, 19), format };
  }
  if (state.view === "heads") Object.assign(fields, { kind: state.kind, layer: state.layer || alignmentLayer(), head: "all" });
  else if (state.view === "grid") Object.assign(fields, { kind: state.kind, layer: "all", head: "all" });
  else if (state.view === "table") Object.assign(fields, { kind: state.kind, layer: state.layer, head: state.head });
  else Object.assign(fields, { view: state.view, kind: state.kind, layer: state.layer, head: state.head });
  if (state.view === "compare") {
    const second = model()?.members ? undefined : other(); // the server compares the members of an ensemble
    Object.assign(fields, { kind: "cross", other_model: second?.name });
    digests.push(second ? second.digest : model()?.digest);
  }
  if (state.view === "contrast") fields.kind = "cross";
  if (state.view === "models") {
    const drawn = drawnModels();
    Object.assign(fields, { kind: "cross", model: "", layer: "", head: "", models: drawn.map((one) => one.name).join(",") });
    digests = drawn.map((one) => one.digest);
  }
  if (format === "bertviz") Object.assign(fields, { view: "", layer: "", head: "" });
  for (const [name, value] of Object.entries({ kind: "cross", tokens: "subword", specials: "keep", view: "heatmap" })) {
    if (fields[name] === value) delete fields[name];
  }
  const pictures = ["svg", "png", "html", "vega"];
  if (pictures.includes(format)) Object.assign(fields, { theme: dark() ? "dark" : "light", language });
  if (format === "png") fields.scale = "2";
  return { ...fields, digest: digests.filter(Boolean).map((digest) => digest.slice(0, 19)).join(","), format };
}
