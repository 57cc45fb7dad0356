// Signs that a translation should be checked. They are hints, not a judgement: a translation without any may be wrong.

import { t, tn } from "./i18n.js";
import { reasonOf, worstFirst } from "./quality.js";

// For models that give no quality: a mean log-probability below this flags about half of the bad translations and one in ten of the good ones
// (160 translations of 40 everyday sentences, read by a person).
const UNSURE = -0.4;
const numbers = (text) => text.match(/\d+/g) ?? [];
const unchecked = (sentence) => !sentence.values; // the search has kept the others, perhaps as the target language writes them (3:30 pm is 15 h 30)

function without(these, others) {
  const left = [...others];
  return these.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

const joined = (words) => words.slice(0, 6).join(", ") + (words.length > 6 ? ", …" : "");

// Sentences for people about the sentences of a translation (`details.sentences`).
export function doubtsOf(sentences) {
  const found = [];
  const several = sentences.length > 1;
  const worst = worstFirst(sentences);
  const unsure = sentences.map((one, at) => [one, at + 1])
    .filter(([one]) => typeof one.quality !== "number" && one.score < UNSURE).map(([, number]) => number);
  if (worst.length) {
    found.push(several
      ? [t("Check these sentences first. They may be wrong:"), worst.slice(0, 6)]
      : reasonOf(sentences[0]));
  }
  if (unsure.length) {
    found.push(several
      ? [t("The model was unsure. Check these sentences before you use them:"), unsure.slice(0, 6)]
      : t("The model was unsure. Check the translation before you use it."));
  }
  const source = sentences.filter(unchecked).flatMap((one) => numbers(one.source.text));
  const target = sentences.filter(unchecked).flatMap((one) => numbers(one.target.text));
  const [missing, added] = [without(source, target), without(target, source)];
  const differences = [
    missing.length ? tn("{numbers} is missing from the translation", "{numbers} are missing from the translation", missing.length, { numbers: joined(missing) }) : "",
    added.length ? tn("{numbers} is not in the text", "{numbers} are not in the text", added.length, { numbers: joined(added) }) : "",
  ];
  if (missing.length || added.length) found.push(t("Numbers differ: {differences}.", { differences: differences.filter(Boolean).join(", ") }));
  return found;
}
