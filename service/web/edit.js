// Editing the translation by hand. The model scores a sentence that was edited, so that its words light up as before.

import { closeAlternatives } from "./alternatives.js";
import { attention } from "./api.js";
import { $, shared } from "./dom.js";
import { t } from "./i18n.js";
import { look } from "./inside.js";
import { complain } from "./messages.js";
import { legs, model, session } from "./session.js";
import { showResults } from "./translation.js";

const box = $("edited");
const UNKNOWN = { alignment: [], token_logprobs: [], quality: undefined, chosen: true };

function show(editing) {
  closeAlternatives();
  box.hidden = !editing;
  $("translation").hidden = $("others").hidden = $("copy-translation").hidden = editing;
  $("edit").textContent = editing ? t("Done") : t("Edit");
}

// Put an edited text in the place of the translation: what was edited within one sentence is aligned with its source.
async function put(text) {
  const old = session.translation;
  const [begin, end] = shared(old, text);
  const all = session.legs.at(-1);
  let at = 0;
  const touched = all.filter(({ target }) => {
    const from = old.indexOf(target.text, at);
    at = from + target.text.length;
    return from <= old.length - end && at >= begin;
  });
  const [sentence] = touched;
  const from = sentence ? old.indexOf(sentence.target.text, Math.max(0, begin - sentence.target.text.length)) : -1;
  const after = from < 0 ? 0 : old.length - from - sentence.target.text.length;
  let found = { ...UNKNOWN, target: { text: "", tokens: [] } };
  if (touched.length === 1 && from >= 0 && from <= begin && after <= end) {
    const target = text.slice(from, text.length - after);
    const [into, via] = [legs().at(-1), legs().length === 1 ? model()?.name : undefined];
    const map = await attention({ source: into[0], target: into[1], model: via, text: sentence.source.text, target_text: target });
    found = { ...UNKNOWN, ...map, target: { ...map.target, text: target } };
  }
  for (const one of touched) all[all.indexOf(one)] = { ...one, ...found };
  session.translation = text;
}

async function finish() {
  const text = box.value.trim();
  show(false);
  $("edit").focus();
  if (!text || text === session.translation) return;
  await put(text).catch(complain);
  showResults();
  look().catch(complain);
}

export function listenToEditing() {
  $("edit").addEventListener("click", () => {
    if (!box.hidden) return void finish();
    Object.assign(box, { value: session.translation, lang: $("translation").lang });
    show(true);
    box.focus();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) finish();
    if (event.key === "Escape") {
      show(false);
      $("edit").focus();
    }
  });
  $("text").addEventListener("input", () => { if (!box.hidden) show(false); });
}
