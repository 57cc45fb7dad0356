// Which sentences of a translation may be wrong. The server computes the quality; see docs/confidence.md.

import { percent, quoted, t } from "./i18n.js";

export const LOW = 0.3; // at most every third such sentence is usable
const RARE = 4; // tokens of a word that the vocabulary does not know as a whole
const CLAUSE = 3; // words in a row; single words without a partner are common

export const isLow = (sentence) => typeof sentence.quality === "number" && sentence.quality < LOW;

// The words of some tokens, each with the numbers of its tokens; a piece with ▁ begins a word.
function wordsOf(tokens) {
  const words = [];
  for (const [at, { piece, special, text }] of tokens.entries()) {
    if (special) continue;
    if (!words.length || piece.startsWith("▁")) words.push({ text: "", at: [] });
    words.at(-1).text += text;
    words.at(-1).at.push(at);
  }
  for (const word of words) word.text = word.text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
  return words.filter(({ text }) => text);
}

const first = (words) => quoted(words.slice(0, 3).map(({ text }) => text));

// The longest run of words of the source that nothing in the translation is aligned with; punctuation does not count.
function leftOut({ source: { text, words }, word_alignment: links }) {
  const aligned = new Set(links.map(([from]) => from));
  const runs = [[]];
  let end = 0;
  for (const [at, word] of words.entries()) {
    const from = text.indexOf(word, end);
    end = from + word.length;
    if (aligned.has(at)) runs.push([]);
    else if (/[\p{L}\p{N}]/u.test(word)) runs.at(-1).push({ from, end });
  }
  const longest = runs.reduce((one, other) => (other.length > one.length ? other : one));
  return longest.length < CLAUSE ? "" : text.slice(longest[0].from, longest.at(-1).end);
}

// Whether four tokens in a row occur twice, as in a search that repeats itself.
function repeats(tokens) {
  const runs = tokens.slice(3).map((_, at) => tokens.slice(at, at + 4).map(({ piece }) => piece).join(" "));
  return new Set(runs).size < runs.length;
}

// Why a sentence may be wrong, by the signals that the answer carries, for people.
export function reasonOf(sentence) {
  const chance = (word) => word.at.reduce((sum, token) => sum + sentence.token_logprobs[token], 0);
  const unsure = wordsOf(sentence.target.tokens).filter((word) => chance(word) < Math.log(0.5)).sort((one, other) => chance(one) - chance(other));
  const rare = wordsOf(sentence.source.tokens).filter((word) => word.at.length >= RARE);
  const missing = leftOut(sentence);
  const found = [
    sentence.finish_reason === "length" ? t("the translation breaks off") : "",
    repeats(sentence.target.tokens) ? t("a part is repeated") : "",
    missing ? t("{words} may be left out", { words: quoted([missing]) }) : "",
    rare.length ? t("rare words: {words}", { words: first(rare) }) : "",
    unsure.length ? t("the model was unsure of {words}", { words: first(unsure) }) : "",
  ].filter(Boolean);
  const values = { percent: percent(sentence.quality), reasons: found.join(t("; ")) };
  return found.length
    ? t("This sentence may be wrong: {reasons}. It is usable with a probability of {percent}.", values)
    : t("This sentence may be wrong. It is usable with a probability of {percent}.", values);
}

// The numbers of the low sentences, from 1, the worst first.
export function worstFirst(sentences) {
  const low = sentences.map((one, at) => [one.quality, at + 1]).filter((_, at) => isLow(sentences[at]));
  return low.sort(([one], [other]) => one - other).map(([, number]) => number);
}
