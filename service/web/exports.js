// What a view can be saved as, linked to and repeated with.

import { citation, curlOf, save } from "./api.js";
import { $, made } from "./dom.js";
import { fitsLink, here, state } from "./state.js";

const FILES = [["svg", "SVG"], ["png", "PNG"], ["html", "HTML"], ["csv", "CSV"], ["npz", "npz"], ["json", "JSON"], ["bertviz", "BertViz"], ["pharaoh", "Pharaoh"], ["vega", "Vega-Lite"]];
const ENDINGS = { pharaoh: "txt", bertviz: "json", vega: "vl.json" };

// `fieldsOf` gives the fields of a request for a format.
export function showExports(fieldsOf, model, complain) {
  const single = !["compare", "contrast", "models"].includes(state.view);
  const onlyData = state.view === "steps";
  const offered = onlyData ? Object.fromEntries(FILES.map(([format]) => [format, format === "json"])) : { bertviz: single && state.kind !== "occlusion", pharaoh: single && state.kind === "cross" };
  $("downloads").replaceChildren(...FILES.filter(([format]) => offered[format] ?? true).map(([format, label]) => {
    const name = `attention-${model}-${state.view}.${ENDINGS[format] ?? format}`;
    const link = made("a", { href: citation(fieldsOf(format)), download: name }, label); // to copy; a click sends the text in a body instead
    link.addEventListener("click", (event) => {
      event.preventDefault();
      save(fieldsOf(format), name).catch(complain);
    });
    return made("li", {}, link);
  }));
  const { digest, ...fields } = fieldsOf(state.view === "table" || onlyData ? "json" : "svg");
  $("curl").textContent = curlOf(fields);
  $("link").href = here();
  $("link-note").hidden = fitsLink();
}
