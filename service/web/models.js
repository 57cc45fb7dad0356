// The models of this server, for people: languages, measured quality, size, data, and what the manifest says of them.

import { get } from "./api.js";
import { nameOf, number, startLanguage, t } from "./i18n.js";
import { followTheme } from "./theme.js";

const $ = (id) => document.getElementById(id);

function made(kind, content = "", more = {}) {
  const element = Object.assign(document.createElement(kind), more);
  element.append(...[content].flat());
  return element;
}

const millions = (count) => (Number.isFinite(count) ? t("{count} million", { count: number(count / 1e6, 1) }) : "");

function scores(found) {
  const head = made("tr", [t("Test set"), t("Measure"), t("Score")].map((text) => made("th", text, { scope: "col" })));
  const rows = found.map((one) => made("tr", [made("td", one.test_set ?? ""), made("td", one.metric ?? ""), made("td", Number.isFinite(one.score) ? number(one.score, 1) : "")]));
  return made("div", made("table", [made("caption", t("Measured on text that the model was not trained on")), made("thead", head), made("tbody", rows)]), { className: "figure" });
}

// The data that a model learnt from, with licence and credit where the card has them.
function sources(data) {
  const shown = (one) => (typeof one === "string" ? one : [one.name ?? one.corpus, one.licence, one.credit ?? one.attribution].filter(Boolean).join(" · "));
  return made("ul", [data].flat().map((one) => made("li", shown(one))));
}

// For which of its pairs a model is used if nobody chooses one.
function defaults({ name, pairs }, named) {
  const own = pairs.filter((pair) => pair.default);
  if (!own.length) return t("no; choose it as {model}", { model: name });
  if (own.length === pairs.length) return t("yes");
  const shown = own.map((pair) => `${named(pair.source)} → ${named(pair.target)}`).join(", ");
  return t("for {pairs}; otherwise choose it as {model}", { pairs: shown, model: name });
}

function section(model, named) {
  const card = model.card ?? {};
  const align = model.attention?.align;
  const facts = {
    [t("Architecture")]: model.architecture,
    [t("Default for these languages")]: defaults(model, named),
    [t("Parameters")]: millions(card.parameters),
    [t("Runs as")]: t("{precision} on {device}", model),
    [t("Longest sentence")]: t("{tokens} tokens", { tokens: model.limits.source_tokens }),
    [t("Alignment head")]: align ? t("layer {layer}, head {head}", align) : "",
    [t("Version")]: model.version,
    [t("Digest")]: model.digest,
  };
  const list = made("dl", Object.entries(facts).filter(([, value]) => value).flatMap(([name, value]) => [made("dt", name), made("dd", value)]), { className: "facts" });
  const names = (codes) => codes.map(named).join(", ");
  const parts = [made("h2", `${names(model.sources)} → ${names(model.targets)}: ${model.name}`), list];
  if (card.scores?.length) parts.push(scores(card.scores));
  if (card.notes) parts.push(made("p", String(card.notes)));
  if (card.data) parts.push(made("h3", t("Trained on")), sources(card.data));
  return made("section", parts, { className: "card" });
}

async function show() {
  try {
    const [{ models }, languages] = await Promise.all([get("models"), get("languages")]);
    const named = (code) => nameOf(code, languages.find((one) => one.code === code)?.name);
    $("models").replaceChildren(...models.map((model) => section(model, named)));
    $("status").textContent = models.length ? "" : t("No model is loaded yet. Try again in a moment.");
  } catch (error) {
    const keyWanted = ["key_required", "invalid_key"].includes(error.code);
    $("status").textContent = keyWanted ? t("This server requires an API key. Enter it on the Translate page in this tab.") : error.message;
  }
}

async function start() {
  let labelTheme = () => {};
  await startLanguage($("language"), () => { labelTheme(); show(); });
  labelTheme = followTheme($("theme"), () => {});
  await show();
}

start();
