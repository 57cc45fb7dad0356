// The models of this server, for people: a card each with languages, quality, size and licence; the rest is folded.

import { after } from "./again.js";
import { asOperator, get, post } from "./api.js";
import { $, made } from "./dom.js";
import { inEveryLanguage } from "./header.js";
import { nameOf, number, t, tn } from "./i18n.js";

const SENTENCES = { en: "I lost 7 keys yesterday.", fr: "J'ai perdu 7 clés hier.", de: "Ich habe gestern 7 Schlüssel verloren." };

const millions = (count) => t("{count} million", { count: number(count / 1e6, 1) });
const list = (facts) => made("dl", { className: "facts" }, ...Object.entries(facts).filter(([, value]) => value).flatMap(([name, value]) => [made("dt", {}, name), made("dd", {}, value)]));
const folded = (title, content) => made("details", {}, made("summary", {}, title), content);

// What a BLEU score means for a reader, with the usual limits.
function inWords(score) {
  if (score >= 40) return t("good");
  if (score >= 30) return t("understandable");
  return score >= 20 ? t("the gist, with errors") : t("rough");
}

// The mean BLEU of a model on the test sets of a kind of text, in words and as a number.
function quality(found, kind) {
  const own = found.filter((one) => one.metric === "BLEU" && one.test_set?.startsWith(kind) && Number.isFinite(one.score));
  if (!own.length) return "";
  const mean = own.reduce((sum, one) => sum + one.score, 0) / own.length;
  return `${inWords(mean)} (BLEU ${number(mean, 1)})`;
}

function size(count) {
  if (!Number.isFinite(count)) return "";
  return t("{words}: {count} parameters", { words: count < 5e7 ? t("small") : t("large"), count: millions(count) });
}

// How long a short sentence takes, measured when the page is opened; its number makes it one that no cache has.
async function speed({ name, sources: [source], targets: [target] }, place) {
  const began = performance.now();
  await post("translate", { q: SENTENCES[source]?.replace("7", 100 + Math.floor(Math.random() * 900)), source, target, model: name });
  place.textContent = t("{words}: {seconds} s for a sentence", { words: performance.now() - began < 1000 ? t("fast") : t("slow"), seconds: number((performance.now() - began) / 1000, 2) });
}

function scores(found) {
  const head = made("tr", {}, ...[t("Test set"), t("Measure"), t("Score")].map((text) => made("th", { scope: "col" }, text)));
  const rows = found.map((one) => made("tr", {}, ...[one.test_set ?? "", one.metric ?? "", Number.isFinite(one.score) ? number(one.score, 1) : ""].map((text) => made("td", {}, text))));
  return made("div", { className: "figure" }, made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows)));
}

// The data that a model learnt from, with licence and credit where the card has them.
function sources(data) {
  const shown = (one) => (typeof one === "string" ? one : [one.name ?? one.corpus, one.licence, one.credit ?? one.attribution].filter(Boolean).join(" · "));
  return made("ul", {}, ...[data].flat().map((one) => made("li", {}, shown(one))));
}

function licences(data) {
  const [first, ...others] = new Set([data ?? []].flat().map((one) => one.licence).filter(Boolean));
  return others.length ? tn("{first} and {count} other", "{first} and {count} others", others.length, { first }) : first;
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
  const found = card.scores ?? [];
  const names = (codes) => codes.map(named).join(", ");
  const parts = [made("h2", {}, `${names(model.sources)} → ${names(model.targets)}: ${model.name}`), list({
    [t("Everyday sentences")]: quality(found, "everyday"),
    [t("News")]: quality(found, "newstest"),
    [t("Size")]: size(card.parameters),
    [t("Speed")]: model.state === "ready" && SENTENCES[model.sources[0]] ? made("span", { className: "speed" }, "…") : "",
    [t("Licences of its data")]: licences(card.data),
    [t("Default for these languages")]: defaults(model, named),
  })];
  if (found.length) parts.push(folded(t("Measured on text that the model was not trained on"), scores(found)));
  if (card.data) parts.push(folded(t("Training data and licences"), sources(card.data)));
  parts.push(folded(t("Details"), list({
    [t("Architecture")]: model.architecture,
    [t("Runs as")]: t("{precision} on {device}", model),
    [t("Longest sentence")]: t("{tokens} tokens", { tokens: model.limits.source_tokens }),
    [t("Alignment head")]: align ? t("layer {layer}, head {head}", align) : "",
    [t("Version")]: model.version,
    [t("Digest")]: model.digest,
    [t("Notes")]: card.notes,
  })));
  return made("section", { className: "card" }, ...parts);
}

async function show() {
  try {
    const [{ models }, languages] = await Promise.all([get("models"), get("languages")]);
    const named = (code) => nameOf(code, languages.find((one) => one.code === code)?.name);
    models.sort((one, other) => other.default - one.default); // the defaults first
    const cards = models.map((model) => section(model, named));
    $("models").replaceChildren(...cards);
    $("status").textContent = models.length ? "" : t("No model is loaded yet. Try again in a moment.");
    for (const [at, model] of models.entries()) {
      const place = cards[at].querySelector(".speed");
      if (place) await speed(model, place).catch(() => { place.textContent = "–"; });
    }
  } catch (error) {
    const keyWanted = ["key_required", "invalid_key"].includes(error.code);
    $("status").textContent = keyWanted ? t("This server requires an API key. Enter it on the Translate page in this tab.") : error.message;
  }
}

const WAIT = 1000; // milliseconds between two looks at a model that is being added

// A button for each language that can be added, with what is downloaded for it.
async function showPublished() {
  const token = $("token").value;
  $("adding").textContent = t("Reading the published lists…");
  try {
    const { models } = await asOperator("published", token);
    const buttons = models.map(({ source, target, source_name: from, target_name: to, bytes, model, licence }) => {
      const words = { pair: `${nameOf(source, from)} → ${nameOf(target, to)}`, size: number(bytes / 1e6, 0) };
      const label = bytes ? t("Add {pair}, {size} MB", words) : t("Add {pair}", words);
      const button = made("button", { type: "button", className: "small", title: [model, licence].filter(Boolean).join(", ") }, label);
      button.onclick = () => add({ source, target }, token);
      return button;
    });
    $("published").replaceChildren(...buttons);
    $("adding").textContent = models.length ? "" : t("Every published pair is served already.");
  } catch (error) {
    $("adding").textContent = error.message;
  }
}

async function add(pair, token) {
  for (const button of $("published").children) button.disabled = true;
  $("adding").textContent = t("The model is fetched, checked and added. This takes a minute or two.");
  try {
    let found = await asOperator("published", token, pair);
    while (found.state === "running") {
      await after(WAIT);
      found = await asOperator("published/state", token);
    }
    if (found.state === "added") await Promise.all([show(), showPublished()]);
    else for (const button of $("published").children) button.disabled = false;
    $("adding").textContent = found.message;
  } catch (error) {
    $("adding").textContent = error.message;
  }
}

$("operator").onsubmit = showPublished;
$("operator").querySelector("button").disabled = false;
inEveryLanguage(show);
