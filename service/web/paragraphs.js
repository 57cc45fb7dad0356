// A long text is translated paragraph by paragraph: an edit asks for the paragraphs that it has changed, and the
// translation that is shown has the others. A short text is always asked for as a whole, so that one register is chosen for all of it.

import { shared } from "./dom.js";

const LONG = 2_000; // characters
const MOST = 100; // paragraphs of a request
const BREAK = /(\n[^\S\n]*\n\s*)/; // between two paragraphs; kept by `split`
const paragraphsOf = (text) => text.split(BREAK);
const isText = (part, at) => at % 2 === 0 && /\S/.test(part);

// The sentences of each paragraph, in their order; undefined if they are not all there.
function sentencesOf(paragraphs, sentences) {
  let at = 0;
  const found = paragraphs.map((paragraph) => {
    const first = at;
    for (let end = 0; at < sentences.length; at += 1) {
      const { text } = sentences[at].source;
      const from = paragraph.indexOf(text, end);
      if (from < 0) break;
      end = from + text.length;
    }
    return sentences.slice(first, at);
  });
  return at === sentences.length ? found : undefined;
}

// What is shown of each paragraph and each break between two; undefined if the paragraphs of both texts do not correspond.
function cut({ text, translation, between, legs }) {
  const [source, target] = [paragraphsOf(text), paragraphsOf(translation)];
  const middle = between ? paragraphsOf(between.text) : source;
  const sentences = legs.map((leg, at) => sentencesOf(at ? middle : source, leg));
  if (source.length !== target.length || source.length !== middle.length || sentences.includes(undefined)) return undefined;
  return source.map((own, at) => ({ text: own, translation: target[at], between: middle[at], legs: sentences.map((leg) => leg[at]) }));
}

// Which paragraphs of a text to ask for, if most of it is shown already; otherwise undefined.
export function changed(text, shown) {
  if (text.length <= LONG || !shown.legs.length) return undefined;
  const [now, before] = [paragraphsOf(text), cut(shown)];
  if (!before) return undefined;
  let [begin, end] = shared(now, before.map((one) => one.text));
  begin -= begin % 2; // whole paragraphs: what is replaced begins and ends with one
  end -= end % 2;
  const between = now.slice(begin, now.length - end);
  const texts = between.filter(isText);
  if (texts.length > MOST || texts.join("").length > text.length / 2) return undefined;
  return { texts, put: (found) => put([before.slice(0, begin), between, before.slice(before.length - end)], found, shown.between) };
}

// The whole text with `found`, the answers for its new paragraphs, in their places.
function put([head, middle, tail], found, between) {
  const answers = found.values();
  const legs = head.concat(tail)[0]?.legs.length ?? 1;
  const own = middle.map((text, at) => (isText(text, at) ? answers.next().value : { text, translation: text, between: text, legs: Array.from({ length: legs }, () => []) }));
  const parts = [...head, ...own, ...tail];
  const all = (name) => parts.map((part) => part[name]).join("");
  return {
    text: all("text"), translation: all("translation"), between: between && { ...between, text: all("between") },
    legs: Array.from({ length: legs }, (_, leg) => parts.flatMap((part) => part.legs[leg] ?? [])),
  };
}
