// The words of both boxes, in the boxes themselves: partners of the alignment light up on the other side.
// Behind the box of the text lies a mirror with the same text, since a text box has no elements to light up.

import { $, made, putBelow, rove, tell } from "./dom.js";
import { percent, quoted, t } from "./i18n.js";
import { isLow, reasonOf } from "./quality.js";
import { probability } from "./tokens.js";

const boxes = { source: $("mirror"), target: $("translation") };
const POINTED = ".word, mark";
const other = { source: "target", target: "source" };
let shown; // { source, target: the sentences of a text with their words; links: pairs of places where words begin }

// The sentences of one side, and where each of their tokens begins a word or goes on with one.
function side(text, sentences, name) {
  let end = 0;
  return sentences.map((sentence) => {
    const { text: own, tokens } = sentence[name];
    const from = text.indexOf(own, end);
    if (from < 0) return undefined;
    end = from + own.length;
    const words = [...own.matchAll(/\S+/g)].map((found) => ({ from: from + found.index, to: from + found.index + found[0].length, logprob: 0 }));
    const places = [0]; // offsets of tokens count code points
    for (const point of own) places.push(places.at(-1) + point.length);
    const first = tokens[0]?.start ?? 0;
    const at = tokens.map(({ start, special }) => (special ? undefined : words.findLast((word) => word.from <= from + places[start - first])));
    if (name === "target") at.forEach((word, token) => { if (word) word.logprob += sentence.token_logprobs?.[token] ?? 0; });
    return { from, to: end, words, at, doubt: isLow(sentence) ? reasonOf(sentence) : "" };
  });
}

function leg(sentences, source, target) {
  const [from, into] = [side(source, sentences, "source"), side(target, sentences, "target")];
  const links = sentences.flatMap((sentence, number) => (sentence.alignment ?? [])
    .map(([one, two]) => [from[number]?.at[one]?.from, into[number]?.at[two]?.from])
    .filter((link) => !link.includes(undefined)));
  return { source: from, target: into, links };
}

function fill(name, text) {
  const parts = [];
  let end = 0;
  for (const [number, sentence] of shown[name].entries()) {
    if (!sentence) continue;
    const holder = made(sentence.doubt ? "mark" : "span");
    Object.assign(holder.dataset, { sentence: number, doubt: sentence.doubt });
    let at = sentence.from;
    for (const { from, to } of sentence.words) {
      const word = made("span", { className: "word" }, text.slice(from, to));
      word.dataset.at = from;
      if (sentence.doubt) word.setAttribute("aria-describedby", "reason");
      if (name === "target") word.tabIndex = end === 0 && from === sentence.from ? 0 : -1; // no button, so that it is read as text
      holder.append(text.slice(at, from), word);
      at = to;
    }
    holder.append(text.slice(at, sentence.to));
    parts.push(text.slice(end, sentence.from), holder);
    end = sentence.to;
  }
  boxes[name].replaceChildren(...parts, `${text.slice(end)}${name === "source" ? "\n" : ""}`);
}

// Show a translation: `legs` are its sentences, of one leg or of two with the text `between` them.
export function showWords(source, target, legs, between) {
  const [one, two] = [leg(legs[0], source, between ?? target), legs[1] && leg(legs[1], between, target)];
  const links = two ? one.links.flatMap(([from, middle]) => two.links.filter(([begin]) => begin === middle).map(([, into]) => [from, into])) : one.links;
  shown = { source: one.source, target: (two ?? one).target, links, text: source };
  fill("source", source);
  fill("target", target);
  clear();
}

// The box of the text has another text now, so that nothing of it belongs to a word of the translation.
export function forgetWords(text) {
  if (shown?.text === text) return;
  shown = undefined;
  clear();
  $("mirror").textContent = `${text}\n`;
}

const wordAt = (name, from) => boxes[name].querySelector(`[data-at="${from}"]`);

function clear() {
  for (const box of Object.values(boxes)) box.querySelectorAll(".on").forEach((one) => one.classList.remove("on"));
  $("partners").textContent = "";
  explain();
}

// Say below a doubtful sentence why it is one; without one, nothing.
function explain(mark) {
  tell($("reason"), mark?.dataset.doubt ?? "");
  if (mark) putBelow($("reason"), mark);
}

// Light up a sentence on both sides.
export function pointAtSentence(number) {
  clear();
  for (const box of Object.values(boxes)) box.querySelector(`[data-sentence="${number}"]`)?.classList.add("on");
  const own = boxes.target.querySelector(".on");
  own?.scrollIntoView({ block: "nearest" });
  explain(own?.closest("mark"));
}

// Light up a word with its partners, or a doubtful sentence between whose words one is.
function point(name, at) {
  const word = at?.closest(".word");
  if (word?.classList.contains("on") && $("partners").textContent) return;
  clear();
  if (!shown || !at) return;
  explain(at.closest("mark"));
  if (!word) return;
  const own = Number(word.dataset.at);
  const [mine, theirs] = name === "source" ? [0, 1] : [1, 0];
  const found = [...new Set(shown.links.filter((link) => link[mine] === own).map((link) => link[theirs]))].map((from) => wordAt(other[name], from)).filter(Boolean);
  for (const each of [word, ...found]) each.classList.add("on");
  const named = (...words) => quoted(words.map((one) => one.textContent));
  const aligned = found.length
    ? t("{word} is aligned with {partners}", { word: named(word), partners: named(...found) })
    : t("{word} is not aligned", { word: named(word) });
  const { logprob } = shown[name].flatMap((one) => one?.words ?? []).find(({ from }) => from === own);
  const sure = name === "target" ? `${t("; ")}${t("probability {percent}", { percent: percent(probability(logprob)) })}` : "";
  $("partners").textContent = aligned + sure;
}

function move(event) {
  const ways = ["ArrowLeft", "ArrowRight"];
  if (getComputedStyle(boxes.target).direction === "rtl") ways.reverse();
  rove(event, [...boxes.target.querySelectorAll(".word")], ...ways);
}

// `chosen` gets the word of the translation that is clicked, or on which Enter or Space is pressed.
export function listenToWords(chosen) {
  const { target } = boxes;
  let [touched, tapped] = [false, undefined]; // a finger cannot point: its first tap does
  const wordOf = (event) => event.target.closest?.(".word");
  for (const kind of ["pointerover", "focusin"]) target.addEventListener(kind, (event) => point("target", event.target.closest(POINTED)));
  target.addEventListener("focusout", clear);
  target.addEventListener("pointerdown", (event) => { touched = event.pointerType === "touch"; });
  target.addEventListener("click", (event) => {
    const word = wordOf(event);
    if (!word || !getSelection().isCollapsed) return;
    const first = touched && tapped !== word;
    tapped = word;
    if (first) point("target", word);
    else chosen(word);
  });
  target.addEventListener("keydown", (event) => {
    move(event);
    if (["Enter", " "].includes(event.key) && wordOf(event)) {
      event.preventDefault();
      chosen(wordOf(event));
    }
  });
  const text = $("text");
  const field = text.closest(".field");
  field.addEventListener("scroll", () => { // a long translation follows its text
    target.scrollTop = (field.scrollTop / Math.max(field.scrollHeight - field.clientHeight, 1)) * (target.scrollHeight - target.clientHeight);
  });
  const leave = (event) => { if (event.relatedTarget !== $("reason")) clear(); }; // the reason itself can be pointed at
  for (const one of [target, text, $("reason")]) one.addEventListener("pointerleave", leave);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") explain(); });
  text.addEventListener("pointermove", ({ clientX, clientY }) => point("source", document.elementsFromPoint(clientX, clientY).find((one) => one.closest("#mirror") && one.matches(POINTED))));
  text.addEventListener("blur", clear);
  document.addEventListener("selectionchange", () => { // the word in which the cursor stands
    if (document.activeElement !== text || !shown) return;
    const words = shown.source.flatMap((one) => one?.words ?? []);
    const word = words.find(({ from, to }) => from <= text.selectionStart && text.selectionStart <= to);
    point("source", word && wordAt("source", word.from));
  });
}
