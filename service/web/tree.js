// The hypotheses of a beam search as a tree: a column for each step, the best of a step on top.

import { drawn } from "./dom.js";
import { probability } from "./tokens.js";

const WIDE = 104; // of a box, in units of the picture
const HIGH = 26;
const ACROSS = 132; // from column to column
const DOWN = 34;
const LONGEST = 13; // characters of a label

const special = (piece) => /^<\/?\w+>$/.test(piece);

export const label = (piece) => piece.replaceAll("▁", " ").trim() || "␣";

// The text of a hypothesis, from the first token on.
export function textOf(hypotheses, at) {
  let text = "";
  for (let node = hypotheses[at]; node && node.parent !== null; node = hypotheses[node.parent]) {
    if (!special(node.piece)) text = node.piece + text;
  }
  return text.replaceAll("▁", " ").trim();
}

// The column and the row of each hypothesis.
function places(hypotheses) {
  const taken = new Map();
  return hypotheses.map(({ step }) => {
    const column = step === null ? 0 : step + 1;
    const row = taken.get(column) ?? 0;
    taken.set(column, row + 1);
    return [column * ACROSS + 8, row * DOWN + 8];
  });
}

// Draw a search into a picture; `titled` names a hypothesis in words. `follow` marks a step afterwards.
export function drawTree(svg, { hypotheses, best }, titled) {
  const at = places(hypotheses);
  const onPath = new Set(best);
  const edges = [];
  const boxes = hypotheses.map((node, number) => {
    const [x, y] = at[number];
    const kind = [node.outcome, onPath.has(number) ? "best" : ""].join(" ");
    if (node.parent !== null) {
      const [left, top] = at[node.parent];
      const [from, to] = [[left + WIDE, top + HIGH / 2], [x, y + HIGH / 2]];
      const bend = (from[0] + to[0]) / 2;
      edges.push(drawn("path", { d: `M${from}C${bend} ${from[1]} ${bend} ${to[1]} ${to}`, class: kind, "data-step": node.step }));
    }
    const name = label(node.piece);
    const text = drawn("text", { x: x + WIDE / 2, y: y + 17 }, `${name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name}${node.outcome === "finished" ? " ✓" : ""}`);
    const chance = node.parent === null ? 0 : probability(node.logprob);
    return drawn("g", { class: kind, "data-node": number, "data-step": node.step ?? -1 },
      drawn("title", {}, titled(number)),
      drawn("rect", { x, y, width: WIDE, height: HIGH, rx: 6 }),
      drawn("rect", { x: x + 4, y: y + HIGH - 5, width: ((WIDE - 8) * chance).toFixed(1), height: 3, class: "chance" }),
      text);
  });
  svg.replaceChildren(...edges, ...boxes);
  const size = [Math.max(...at.map(([x]) => x)) + WIDE + 8, Math.max(...at.map(([, y]) => y)) + HIGH + 8];
  svg.setAttribute("viewBox", `0 0 ${size.join(" ")}`);
  [svg.style.width, svg.style.height] = size.map((length) => `${length}px`);
}

// Mark a step: later ones have not happened yet. The box scrolls until the step is seen.
export function follow(svg, step) {
  for (const part of svg.querySelectorAll("[data-step]")) {
    const own = Number(part.dataset.step);
    part.classList.toggle("later", own > step);
    part.classList.toggle("now", own === step);
  }
  const box = svg.parentElement;
  box.scrollLeft = Math.max(0, (step + 2) * ACROSS - box.clientWidth);
}
