// How a token is written beside a row or a column.

const plain = (token) => token.special ?? (token.text || token.piece);

// The tokens of the rows and of the columns of a map.
export const rowsOf = ({ kind, source, target }) => (kind === "encoder" ? source : target).tokens;
export const columnsOf = ({ columns, source }) => columns ?? source.tokens;

export const probability = (logprob) => Math.exp(Math.min(logprob, 0));

// Labels of a list of tokens. A character that the vocabulary spells in bytes is several tokens with one place
// in the text: they are numbered, as “🐶 2/4”.
export function labels(tokens) {
  const found = [];
  for (let begin = 0; begin < tokens.length;) {
    const first = tokens[begin];
    let end = begin + 1;
    while (end < tokens.length && !first.special && first.end > first.start && tokens[end].start === first.start && tokens[end].end === first.end) end += 1;
    for (let at = begin; at < end; at += 1) found.push(end - begin > 1 ? `${plain(first)} ${at - begin + 1}/${end - begin}` : plain(first));
    begin = end;
  }
  return found;
}
