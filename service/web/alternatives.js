// Other words at the place of the word that was clicked, each with the rest of the sentence after it, in a list at that
// word; or other translations of a whole sentence. The one that is chosen takes the place of the sentence.

import { attention, post } from "./api.js";
import { $, made, putBelow, shared } from "./dom.js";
import { t } from "./i18n.js";
import { complain } from "./messages.js";
import { searchFields } from "./requests.js";
import { legs, model, session } from "./session.js";
import { state } from "./state.js";

// How likely a translation is at least, beside the likeliest of its place: below the first, it is grey ("la vin rouge");
// below the second, it is not offered.
const LIKELY = 1 / 10;
const LEAST = Math.exp(-8);
const MOST = 7; // alternatives of a request: several may begin with the same word
const likelihood = ({ token_logprobs }) => Math.exp(token_logprobs.reduce((sum, one) => sum + one, 0));

let opened; // the word at which the list is open
let control;

export function closeAlternatives() {
  control?.abort();
  $("alternatives-box").hidden = true;
  for (const name of ["aria-expanded", "role"]) opened?.removeAttribute(name);
  opened = undefined;
}

// What differs from another text in bold, between the words that stand beside it.
function compared(text, from) {
  const [own, old] = [text.split(/(\s+)/), from.split(/(\s+)/)];
  const [begin, end] = shared(own, old);
  const until = own.length - end;
  const [head, tail] = [own.slice(0, begin), own.slice(until)];
  return [head.length > 2 ? "… " : "", head.slice(-2).join(""), made("b", {}, own.slice(begin, until).join("")), tail.slice(0, 2).join(""), tail.length > 2 ? " …" : ""];
}

// The first word of a text after its beginning, as it is compared with others.
const wordAfter = (text, start) => /[\p{L}\p{M}\p{N}]+|$/u.exec(text.slice(start.length))[0].toLowerCase();

// What stands before a word in its sentence.
function before(word) {
  const texts = [];
  for (let node = word.previousSibling; node; node = node.previousSibling) texts.unshift(node.textContent);
  return texts.join("");
}

// Open the list at a word, of other words there or of other sentences if `whole`; `use` gets the number of the sentence, and
// what shall stand in its place: the model has scored it, so that its words light up as those of the translation did.
export async function openAlternatives(word, use, whole) {
  const same = opened === word;
  closeAlternatives();
  if (same) return;
  opened = word;
  Object.assign(word, { role: "button", ariaExpanded: "true" });
  control = new AbortController();
  const number = Number(word.closest("[data-sentence]").dataset.sentence);
  const sentence = session.legs.at(-1)[number];
  const [source, target] = legs().at(-1);
  const count = Math.min(Math.max(Number(state.alternatives) || 5, 1), MOST);
  const start = before(word);
  const asked = { source, target, model: legs().length === 1 ? model()?.name : undefined };
  try {
    const answer = await post("translate", { ...asked, ...searchFields(), q: sentence.source.text, target_prefix: whole ? undefined : start, alternatives: MOST }, control.signal);
    const key = (text) => (whole ? text : wordAfter(text, start));
    const all = [sentence.target.text, answer.translatedText, ...answer.alternatives ?? []];
    const texts = all.filter((text, at) => all.findIndex((one) => key(one) === key(text)) === at);
    const found = await Promise.all(texts.map(async (text) => ({ text, map: await attention({ ...asked, text: sentence.source.text, target_text: text }, control.signal) })));
    const best = Math.max(...found.map(({ map }) => likelihood(map)));
    const near = found.filter(({ text, map }) => text !== sentence.target.text && likelihood(map) >= LEAST * best)
      .sort((one, other) => likelihood(other.map) - likelihood(one.map)).slice(0, count);
    $("alternatives-list").replaceChildren(...near.map(({ text, map }) => {
      const onclick = () => {
        closeAlternatives();
        use(number, { ...sentence, ...map, quality: undefined, chosen: true, target: { ...map.target, text } });
      };
      return made("li", {}, made("button", { type: "button", className: likelihood(map) < LIKELY * best ? "unlikely" : "", title: text, dir: "auto", lang: target, onclick }, ...compared(text, sentence.target.text)));
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
