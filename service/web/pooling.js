// Kernel regression with a slider: the weights and the curve of a kernel and a width.

import "./header.js";
import { $, drawn } from "./dom.js";

// [key, value]: those of `make_examples` in training/pooling.py.
const EXAMPLES = [
  [0.31, 1.58], [0.45, 1.7], [0.55, 1.21], [0.59, 2.71], [0.77, 2.77], [0.85, 2.41], [0.88, 2.15], [0.89, 1.87], [0.94, 2.12], [0.98, 2.89],
  [1.12, 2.65], [1.17, 2.9], [1.22, 3.65], [1.43, 3.72], [1.48, 4.19], [1.49, 3.31], [1.57, 2.92], [1.61, 3.11], [1.65, 2.89], [1.75, 3.59],
  [1.82, 3.4], [1.92, 3.92], [2.03, 3.92], [2.07, 3.43], [2.14, 3.72], [2.18, 3.04], [2.22, 3.34], [2.27, 3.84], [2.3, 3.18], [2.48, 2.77],
  [2.55, 3.25], [2.56, 3.83], [2.78, 4.13], [2.9, 2.23], [3.2, 3.69], [3.54, 1.46], [3.56, 2.44], [3.59, 2.38], [3.79, 2.42], [4.02, 2.13],
  [4.06, 1.73], [4.22, 1.62], [4.38, 1.02], [4.46, 1.32], [4.61, 1.26], [4.62, 0.81], [4.77, 1.28], [4.82, 1.89], [4.92, 2.06], [5.0, 2.24],
];
const QUERIES = Array.from(EXAMPLES, (_, row) => row / 10);
const KERNELS = {
  average: () => 1,
  gaussian: (u) => Math.exp(-(u ** 2) / 2),
  boxcar: (u) => Number(Math.abs(u) <= 1),
  epanechnikov: (u) => Math.max(0, 1 - u ** 2),
  triangular: (u) => Math.max(0, 1 - Math.abs(u)),
};
const [SIDE, TALL, UNIT] = [6, 240, 40]; // of a cell, of the curve, of the number 1 in a value

// The weights of a query, with the sum 1; undefined without a key in its window.
function weightsOf(query, kernel, width) {
  const closeness = EXAMPLES.map(([key]) => KERNELS[kernel]((query - key) / width));
  const sum = closeness.reduce((total, one) => total + one, 0);
  return sum > 0 ? closeness.map((one) => one / sum) : undefined;
}

function curve(name, values) {
  const points = values.map((value, row) => (value === undefined ? undefined : `${QUERIES[row] * 60} ${TALL - (value + 1) * UNIT}`));
  const path = points.map((point, row) => point && `${row && points[row - 1] ? "L" : "M"}${point}`).filter(Boolean).join("");
  return drawn("path", { class: name, d: path });
}

function draw() {
  const [kernel, width] = [$("kernel").value, Math.exp(Number($("width").value))];
  $("value").textContent = width.toFixed(2);
  $("width").disabled = kernel === "average";
  const weights = QUERIES.map((query) => weightsOf(query, kernel, width));
  $("heatmap").replaceChildren(...weights.flatMap((row, y) => (row ?? []).map((weight, x) => (
    drawn("rect", { x: x * SIDE, y: y * SIDE, width: SIDE, height: SIDE, "fill-opacity": Math.min(1, 2 * weight).toFixed(3) })))));
  const fit = weights.map((row) => row?.reduce((sum, weight, at) => sum + weight * EXAMPLES[at][1], 0));
  const dots = EXAMPLES.map(([key, value]) => drawn("circle", { cx: key * 60, cy: TALL - (value + 1) * UNIT, r: 2.5 }));
  $("fit").replaceChildren(...dots, curve("truth", QUERIES.map((x) => 2 * Math.sin(x) + x ** 0.8)), curve("prediction", fit));
}

$("pooling").addEventListener("input", draw);
draw();
