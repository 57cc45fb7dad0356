// The models of this server, for people: languages, measured quality, size, data, and what the manifest says of them.

import { get } from "./api.js";
import { followTheme } from "./theme.js";

const $ = (id) => document.getElementById(id);

function made(kind, content = "", more = {}) {
  const element = Object.assign(document.createElement(kind), more);
  element.append(...[content].flat());
  return element;
}

const millions = (count) => (Number.isFinite(count) ? `${(count / 1e6).toFixed(1)} million` : "");

function scores(found) {
  const head = made("tr", ["Test set", "Measure", "Score"].map((text) => made("th", text, { scope: "col" })));
  const rows = found.map((one) => made("tr", [made("td", one.test_set ?? ""), made("td", one.metric ?? ""), made("td", one.score?.toFixed(1) ?? "")]));
  return made("div", made("table", [made("caption", "Measured on text that the model was not trained on"), made("thead", head), made("tbody", rows)]), { className: "figure" });
}

// The data that a model learnt from, with licence and credit where the card has them.
function sources(data) {
  const shown = (one) => (typeof one === "string" ? one : [one.name ?? one.corpus, one.licence, one.credit ?? one.attribution].filter(Boolean).join(" · "));
  return made("ul", [data].flat().map((one) => made("li", shown(one))));
}

// For which of its pairs a model is used if nobody chooses one.
function defaults({ name, pairs }, named) {
  const own = pairs.filter((pair) => pair.default);
  if (!own.length) return `no; choose it as ${name}`;
  if (own.length === pairs.length) return "yes";
  return `for ${own.map((pair) => `${named(pair.source)} → ${named(pair.target)}`).join(", ")}; otherwise choose it as ${name}`;
}

function section(model, named) {
  const card = model.card ?? {};
  const align = model.attention?.align;
  const facts = {
    "Architecture": model.architecture,
    "Default for these languages": defaults(model, named),
    "Parameters": millions(card.parameters),
    "Runs as": `${model.precision} on ${model.device}`,
    "Longest sentence": `${model.limits.source_tokens} tokens`,
    "Alignment head": align ? `layer ${align.layer}, head ${align.head}` : "",
    "Version": model.version,
    "Digest": model.digest,
  };
  const list = made("dl", Object.entries(facts).filter(([, value]) => value).flatMap(([name, value]) => [made("dt", name), made("dd", value)]), { className: "facts" });
  const names = (codes) => codes.map(named).join(", ");
  const parts = [made("h2", `${names(model.sources)} → ${names(model.targets)}: ${model.name}`), list];
  if (card.scores?.length) parts.push(scores(card.scores));
  if (card.notes) parts.push(made("p", String(card.notes)));
  if (card.data) parts.push(made("h3", "Trained on"), sources(card.data));
  return made("section", parts, { className: "card" });
}

async function show() {
  followTheme($("theme"), () => {});
  try {
    const [{ models }, languages] = await Promise.all([get("models"), get("languages")]);
    const named = (code) => languages.find((one) => one.code === code)?.name ?? code;
    $("models").replaceChildren(...models.map((model) => section(model, named)));
    $("status").textContent = models.length ? "" : "No model is loaded yet. Try again in a moment.";
  } catch (error) {
    const keyWanted = ["key_required", "invalid_key"].includes(error.code);
    $("status").textContent = keyWanted ? "This server requires an API key. Enter it on the Translate page in this tab." : error.message;
  }
}

show();
