// Which sentences of a translation may be wrong. The server computes the quality; see docs/confidence.md.

export const LOW = 0.3; // at most every third such sentence is usable

export const isLow = (sentence) => typeof sentence.quality === "number" && sentence.quality < LOW;

// The numbers of the low sentences, from 1, the worst first.
export function worstFirst(sentences) {
  const low = sentences.map((one, at) => [one.quality, at + 1]).filter((_, at) => isLow(sentences[at]));
  return low.sort(([one], [other]) => one - other).map(([, number]) => number);
}
