// Draws the specification that the server made, with the same libraries the server draws it with.

import { address } from "./api.js";

let library;

export function load() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address("web/vega.js");
    script.onload = () => resolve(window.vegaEmbed);
    script.onerror = () => {
      library = undefined;
      reject(new Error("The drawing library could not be loaded; try again."));
    };
    document.head.append(script);
  });
  return library;
}

export async function draw(box, specification) {
  const embed = await load();
  // ast: expressions are interpreted, not compiled, which a strict content security policy asks for.
  const result = await embed(box, specification, { renderer: "svg", ast: true, actions: false, tooltip: { theme: "custom" } });
  box.setAttribute("aria-label", specification.description);
  return result;
}

// Weights as tables, one for each map, layer and head.
export function tables(box, content) {
  const maps = content.maps ?? [content];
  box.replaceChildren(...maps.flatMap((map) => [...matrices(map)].map(([name, weights]) => table(map, name, weights))));
}

function* matrices(map) {
  const names = map.axes.slice(0, -2);
  function* down(weights, depth, caption) {
    if (depth === names.length) yield [caption.join(", ") || `layer ${map.layer}, head ${map.head}`, weights];
    else for (const [number, inner] of weights.entries()) yield* down(inner, depth + 1, [...caption, `${names[depth]} ${number}`]);
  }
  yield* down(map.weights, 0, []);
}

function cell(kind, text, scope) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (scope) made.scope = scope;
  return made;
}

function table(map, name, weights) {
  const shown = (token) => token.special ?? (token.text || token.piece);
  const rows = map.kind === "encoder" ? map.source.tokens : map.target.tokens;
  const columns = map.columns ?? map.source.tokens;
  const made = document.createElement("table");
  const caption = made.createCaption();
  caption.textContent = `${map.model}, ${map.kind}: ${name}. Each row says where that token looks.`;
  const head = made.createTHead().insertRow();
  head.append(cell("td", ""), ...columns.map((token) => cell("th", shown(token), "col")));
  const body = made.createTBody();
  weights.forEach((row, number) => {
    const line = body.insertRow();
    line.append(cell("th", shown(rows[number]), "row"), ...row.map((weight) => cell("td", weight.toFixed(3))));
  });
  return made;
}
