// Other translations of a sentence that begin as it does before the word that was clicked, in a list at that word;
// the one that is chosen takes its place.

import { attention, post } from "./api.js";
import { $, made, putBelow } from "./dom.js";
import { t } from "./i18n.js";
import { complain } from "./messages.js";
import { searchFields } from "./requests.js";
import { legs, model, session } from "./session.js";
import { state } from "./state.js";

// A translation is offered if the model finds it at least a tenth as likely as the best one it finds there: of 54 such
// translations of everyday sentences a reader called 49 right; below begin those like "la vin rouge".
const LEAST = 1 / 10;
const likelihood = ({ token_logprobs }) => Math.exp(token_logprobs.reduce((sum, one) => sum + one, 0));

let opened; // the word at which the list is open
let control;

export function closeAlternatives() {
  control?.abort();
  $("alternatives-box").hidden = true;
  opened?.removeAttribute("aria-expanded");
  opened = undefined;
}

// The text with what differs from another one in bold.
function compared(text, from) {
  const [own, old] = [text.split(/(\s+)/), from.split(/(\s+)/)];
  let [begin, end] = [0, 0];
  while (begin < own.length && own[begin] === old[begin]) begin += 1;
  while (end < Math.min(own.length, old.length) - begin && own.at(-1 - end) === old.at(-1 - end)) end += 1;
  const until = own.length - end;
  return [own.slice(0, begin).join(""), made("b", {}, own.slice(begin, until).join("")), own.slice(until).join("")];
}

// What stands before a word in its sentence.
function before(word) {
  const texts = [];
  for (let node = word.previousSibling; node; node = node.previousSibling) texts.unshift(node.textContent);
  return texts.join("");
}

// Open the list at a word; `use` gets the number of the sentence, and what shall stand in its place: the model has scored
// it, so that its words light up as those of the translation did.
export async function openAlternatives(word, use) {
  const same = opened === word;
  closeAlternatives();
  if (same) return;
  opened = word;
  word.setAttribute("aria-expanded", "true");
  control = new AbortController();
  const number = Number(word.closest("[data-sentence]").dataset.sentence);
  const sentence = session.legs.at(-1)[number];
  const [source, target] = legs().at(-1);
  const count = Math.min(Math.max(Number(state.alternatives) || 3, 1), 7);
  const search = searchFields();
  const asked = { source, target, model: legs().length === 1 ? model()?.name : undefined };
  try {
    const answer = await post("translate", { ...asked, ...search, q: sentence.source.text, target_prefix: before(word), alternatives: count, beam_size: Math.max(search.beam_size, count + 1) }, control.signal);
    const texts = [...new Set([answer.translatedText, ...answer.alternatives ?? []])];
    const found = await Promise.all(texts.map(async (text) => ({ text, map: await attention({ ...asked, text: sentence.source.text, target_text: text }, control.signal) })));
    const least = LEAST * Math.max(...found.map(({ map }) => likelihood(map)));
    const near = found.filter(({ text, map }) => text !== sentence.target.text && likelihood(map) >= least);
    $("alternatives-list").replaceChildren(...near.map(({ text, map }) => {
      const onclick = () => {
        closeAlternatives();
        use(number, { ...sentence, ...map, quality: undefined, chosen: true, target: { ...map.target, text } });
      };
      return made("li", {}, made("button", { type: "button", dir: "auto", lang: target, onclick }, ...compared(text, sentence.target.text)));
    }));
    if (!near.length) $("alternatives-list").append(made("li", { tabIndex: -1 }, t("The model finds no other translation that is nearly as likely.")));
    $("alternatives-box").hidden = false;
    putBelow($("alternatives-box"), word);
    $("alternatives-list").querySelector("button, [tabindex]").focus();
  } catch (error) {
    complain(error);
  }
}

export function listenToAlternatives() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !opened) return;
    const word = opened;
    closeAlternatives();
    word.focus();
  });
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest("#alternatives-box, #translation, #others")) closeAlternatives(); });
}
