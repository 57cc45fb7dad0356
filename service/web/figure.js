// Draws the specification that the server made, with the same libraries the server draws it with.

import { address } from "./api.js";
import { made } from "./dom.js";
import { number, t } from "./i18n.js";
import { columnsOf, labels, rowsOf } from "./tokens.js";

const READABLE = 11; // pixels: the size of letters below which a figure scrolls sideways instead of becoming smaller
const LARGEST = 1.4; // times a figure is enlarged
const [NARROWEST, WIDEST] = [0.8, 3]; // times its own width that a cell becomes

let library;

export function load() {
  library ??= new Promise((resolve, reject) => {
    const onload = () => resolve(window.vegaEmbed);
    const onerror = () => {
      library = undefined;
      reject(new Error(t("The drawing library could not be loaded. Try again.")));
    };
    document.head.append(made("script", { src: address("web/vega.js"), onload, onerror }));
  });
  return library;
}

// Panels that stand beside each other.
const panels = (specification) => specification.hconcat ?? specification.concat;

// The same in this many columns.
function arranged(specification, columns) {
  const { hconcat, concat, ...rest } = specification;
  return columns < hconcat?.length || concat ? { ...rest, concat: hconcat ?? concat, columns } : specification;
}

// How many times its own size a picture has at least, so that its letters are readable.
function leastScale(svg) {
  const letters = [...svg.querySelectorAll("text")].filter((text) => text.textContent).map((text) => parseFloat(getComputedStyle(text).fontSize));
  return READABLE / Math.min(READABLE * LARGEST, ...letters);
}

// Make a picture as wide and as high as the room, but its letters readable. Gives whether it fits then.
function fit(svg, room) {
  const wide = svg.clientWidth;
  const least = leastScale(svg);
  const tall = (innerHeight - svg.getBoundingClientRect().top - scrollY - 16) / svg.clientHeight; // one screen, if that is enough
  const scale = Math.max(least, Math.min(room / wide, LARGEST, tall >= least ? tall : 1));
  svg.style.width = `${Math.ceil(wide * scale)}px`;
  svg.style.height = "auto";
  return wide * scale <= room + 1;
}

// A single picture whose cells are as wide as the room has space for; none if that is too narrow.
function widened(specification, room, svg, height) {
  const [wide, most] = [svg.clientWidth, room / Math.max(1, leastScale(svg))];
  if (!specification.width?.step || panels(specification) || wide * NARROWEST > most) return undefined;
  return { ...specification, height, width: Math.min(most - 8, wide * WIDEST), autosize: { type: "fit-x", contains: "padding" } };
}

// Draw into a box: panels below each other where they do not fit beside each other, and where that is not enough the
// whole smaller; its heading is text of the page, in `heading`. Gives whether one still has to scroll sideways.
// `chosen` is called with the row and the column of a cell that is clicked; a newer drawing aborts the signal.
export async function draw(box, { title, ...bare }, heading, chosen, signal) {
  const embed = await load();
  const room = box.parentElement.clientWidth;
  // ast: expressions are interpreted, not compiled, which a strict content security policy asks for.
  let height;
  const drawn = async (shown) => {
    const { view } = await embed(box, { ...shown, padding: 4 }, { renderer: "svg", ast: true, actions: false, tooltip: { theme: "custom" } });
    signal.throwIfAborted();
    view.addEventListener("click", (_, item) => { if (item?.datum?.t !== undefined && item.datum.s !== undefined) chosen(item.datum.t, item.datum.s); });
    height = view.height();
    return box.querySelector("svg");
  };
  box.setAttribute("aria-label", bare.description);
  heading.replaceChildren(...[["strong", title.text], ["small", title.subtitle]].flatMap(([kind, lines]) => (
    [lines].flat().map((line) => made(kind, { dir: "auto" }, line)))));
  for (let columns = bare.columns ?? panels(bare)?.length ?? 1; columns > 1; columns -= 1) {
    if (fit(await drawn(arranged(bare, columns)), room)) return false;
  }
  const svg = await drawn(panels(bare) ? arranged(bare, 1) : bare);
  const wider = widened(bare, room, svg, height);
  return !fit(wider ? await drawn(wider) : svg, room);
}

// Weights as tables, one for each map, layer and head; `align` is a model's aligning layer and head, by its name.
export function tables(box, content, align) {
  const maps = content.maps ?? [content];
  box.replaceChildren(...maps.flatMap((map) => [...matrices(map, align(map.model))].map(([name, weights]) => table(map, name, weights))));
}

function chosen(map, align) {
  const { layer, head } = map;
  const number = (name, value) => (value === "align" ? align?.[name] + 1 || t("of the alignment") : value + 1);
  const layers = layer === "mean" ? t("mean of layers") : t("layer {number}", { number: number("layer", layer) });
  const heads = head === "mean" ? t("mean of heads") : t("head {number}", { number: number("head", head) });
  return `${layers}, ${heads}${layer === "align" && head === "align" ? ` (${t("the alignment head")})` : ""}`;
}

function* matrices(map, align) {
  const names = map.axes.slice(0, -2);
  function* down(weights, depth, caption) {
    if (depth === names.length) yield [caption.join(", ") || chosen(map, align), weights];
    else for (const [number, inner] of weights.entries()) yield* down(inner, depth + 1, [...caption, names[depth] === "layer" ? t("layer {number}", { number: number + 1 }) : t("head {number}", { number: number + 1 })]);
  }
  yield* down(map.weights, 0, []);
}

const kinds = () => ({ cross: t("cross-attention"), encoder: t("encoder self-attention"), decoder: t("decoder self-attention"), occlusion: t("log-probability lost without each source word") });

function table(map, name, weights) {
  const rows = labels(rowsOf(map));
  const columns = labels(columnsOf(map));
  const unknown = weights.some((row) => row.includes(null)) ? ` ${t("“–”: not known, because no step reads the end token.")}` : "";
  const caption = map.kind === "occlusion"
    ? `${map.model}, ${kinds().occlusion}.`
    : `${map.model}, ${kinds()[map.kind]}: ${name}. ${t("Each row shows where that token looks.")}${unknown}`;
  const head = made("tr", {}, made("td"), ...columns.map((label) => made("th", { scope: "col" }, label)));
  const lines = weights.map((row, at) => made("tr", {}, made("th", { scope: "row" }, rows[at]), ...row.map((weight) => made("td", {}, weight === null ? "–" : number(weight, 3)))));
  return made("table", {}, made("caption", {}, caption), made("thead", {}, head), made("tbody", {}, ...lines));
}
