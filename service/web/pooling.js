// Attention pooling: the server computes weights and fit for a kernel and a width; the page paints them.

import { get } from "./api.js";
import { number, startLanguage, t, tn } from "./i18n.js";
import { followTheme } from "./theme.js";

const $ = (id) => document.getElementById(id);
const SIDE = 500; // units of the curve's picture
const PAUSE = 60; // milliseconds; a slider moves faster than a server should be asked

let shown; // the last answer
let control;
let waiting;

const width = () => Math.exp(Number($("kernel-width").value));

function colours() {
  const style = getComputedStyle(document.documentElement);
  const rgb = (name) => {
    const hex = style.getPropertyValue(name).trim().slice(1);
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };
  return [rgb("--card"), rgb("--brand")];
}

// One pixel for each weight; the largest weight has the full colour, so that sharpness is seen as contrast.
function paintWeights({ weights }) {
  const canvas = $("pooling-weights");
  [canvas.width, canvas.height] = [weights[0].length, weights.length];
  const context = canvas.getContext("2d");
  const picture = context.createImageData(canvas.width, canvas.height);
  const [low, high] = colours();
  const largest = Math.max(...weights.flat());
  weights.flat().forEach((weight, at) => {
    const share = weight === null ? 0 : Math.sqrt(weight / largest);
    for (let part = 0; part < 3; part += 1) picture.data[4 * at + part] = low[part] + (high[part] - low[part]) * share;
    picture.data[4 * at + 3] = weight === null ? 0 : 255;
  });
  context.putImageData(picture, 0, 0);
}

function element(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A curve with gaps where a value is unknown.
function path(xs, ys, place) {
  let pen = "M";
  const parts = [];
  xs.forEach((x, at) => {
    if (ys[at] === null) { pen = "M"; return; }
    const [left, top] = place(x, ys[at]);
    parts.push(`${pen}${left.toFixed(1)} ${top.toFixed(1)}`);
    pen = "L";
  });
  return parts.join("");
}

function drawFit({ queries, truth, fit, keys, values }) {
  const [least, most] = [Math.min(...values, ...truth), Math.max(...values, ...truth)];
  const [first, last] = [Math.min(...queries, ...keys), Math.max(...queries, ...keys)];
  const scale = (value, low, high) => 20 + ((value - low) / (high - low)) * (SIDE - 40);
  const place = (x, y) => [scale(x, first, last), SIDE - scale(y, least, most)];
  $("pooling-fit").replaceChildren(
    ...keys.map((key, at) => {
      const [cx, cy] = place(key, values[at]);
      return element("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: 4 });
    }),
    element("path", { d: path(queries, truth, place) }),
    element("path", { d: path(queries, fit, place), class: "fit" }),
  );
}

// Write and paint what was last answered, in the language and the colours of the page.
function labelPooling() {
  if (!shown) return;
  $("kernel-width-value").textContent = number(shown.width, 2); // a slider's place is only near it
  paintWeights(shown);
  drawFit(shown);
  $("pooling-weights").setAttribute("aria-label", t("Weights of {queries} queries over {keys} keys", { queries: shown.queries.length, keys: shown.keys.length }));
  $("pooling-fit").setAttribute("aria-label", t("The prediction beside the truth"));
  const unknown = shown.fit.filter((value) => value === null).length;
  const parts = [shown.error === null ? "" : t("Mean squared distance from the truth: {error}.", { error: number(shown.error, 3) })];
  if (shown.learned) parts.push(t("This width predicts each known value best from the others (leave one out)."));
  if (unknown) parts.push(tn("{count} query has no key in its window, so nothing is predicted there.", "{count} queries have no key in their window, so nothing is predicted there.", unknown));
  $("pooling-note").textContent = parts.join(" ");
  $("pooling-note").removeAttribute("lang");
}

async function ask(asked) {
  control?.abort();
  control = new AbortController();
  const kernel = $("kernel").value;
  $("kernel-width").disabled = $("kernel-learned").disabled = kernel === "average";
  try {
    shown = await get(`pooling?kernel=${kernel}&width=${asked}`, control.signal);
    if (asked === "learned" && kernel !== "average") $("kernel-width").value = Math.log(shown.width);
    labelPooling();
  } catch (error) {
    if (error.name === "AbortError") return;
    $("pooling-note").textContent = error.message;
  }
}

const moved = () => {
  $("kernel-width-value").textContent = number(width(), 2);
  clearTimeout(waiting);
  waiting = setTimeout(() => ask(width().toFixed(4)), PAUSE);
};
$("kernel-width").addEventListener("input", moved);
$("kernel").addEventListener("change", moved);
$("kernel-learned").addEventListener("click", () => ask("learned"));
let labelTheme = () => {};
await startLanguage($("language"), () => { labelTheme(); labelPooling(); });
labelTheme = followTheme($("theme"), labelPooling);
ask("learned");
