// The search that found a translation, step by step: what a step looks at, what may follow, and the beams as a tree.

import { attention } from "./api.js";
import { $, bar, made } from "./dom.js";
import { usesGlossary } from "./glossary.js";
import { number, percent, quoted, t } from "./i18n.js";
import { fieldsOfView } from "./requests.js";
import { model } from "./session.js";
import { state } from "./state.js";
import { labels, probability as chance } from "./tokens.js";
import { drawTree, follow, label, textOf } from "./tree.js";

let shown; // the last answer
let step = 0;

const outcomes = () => ({ live: t("stays in the beam"), finished: t("finished"), pruned: t("pruned") });

function named(at) {
  const { hypotheses, best } = shown.search;
  const node = hypotheses[at];
  if (node.parent === null) return t("nothing written yet");
  const parts = [quoted([textOf(hypotheses, at)]), outcomes()[node.outcome], t("log-probability {total}", { total: number(node.total, 2) })];
  if (best.includes(at)) parts.push(t("on the way to the translation"));
  return parts.join(", ");
}

// The hypotheses that the step continues; the one that leads to the translation comes first.
function continued() {
  const { hypotheses, best } = shown.search;
  const others = hypotheses.map((node, at) => [node, at]).filter(([node, at]) => node.next && (node.step ?? -1) === step - 1 && at !== best[step]);
  return [best[step], ...others.map(([, at]) => at)];
}

function showSource(own) {
  const weights = shown.weights[step];
  const { tokens } = shown.source;
  const kept = labels(tokens).map((name, at) => [name, at]).filter(([, at]) => state.specials === "keep" || !tokens[at].special);
  const whole = state.specials === "renormalise" ? kept.reduce((sum, [, at]) => sum + weights[at], 0) : 1;
  $("step-other").hidden = own;
  $("step-source").hidden = !own;
  $("step-source").replaceChildren(...kept.map(([name, at]) => {
    const share = weights[at] / whole;
    const token = made("li", { dir: "auto" }, name, made("small", {}, percent(share)));
    token.style.setProperty("--p", share.toFixed(3));
    return token;
  }));
}

function showNext(at) {
  const { hypotheses, best } = shown.search;
  const taken = new Set(hypotheses.filter((node) => node.parent === at && node.outcome !== "pruned").map((node) => node.id));
  const written = at === best[step] ? hypotheses[best[step + 1]].id : undefined;
  $("step-next").replaceChildren(...hypotheses[at].next.map(({ id, piece, logprob }) => {
    const kept = id === written ? t("in the translation") : taken.has(id) ? t("kept") : "";
    const cells = [made("th", { scope: "row", dir: "auto" }, label(piece)), made("td", {}, percent(chance(logprob))), bar(chance(logprob)), made("td", {}, kept)];
    return made("tr", { className: id === written ? "on" : "" }, ...cells);
  }));
}

function showBeam() {
  const { hypotheses, best } = shown.search;
  const lines = hypotheses.map((node, at) => [node, at]).filter(([node]) => node.step === step);
  $("step-beam").replaceChildren(...lines.map(([node, at]) => {
    const score = node.score === undefined ? "" : t("score {score}", { score: number(node.score, 2) });
    const cells = [percent(chance(node.logprob)), number(node.total, 2), [outcomes()[node.outcome], score].filter(Boolean).join(", ")];
    const own = made("th", { scope: "row", dir: "auto" }, textOf(hypotheses, at) || label(node.piece));
    return made("tr", { className: `${node.outcome}${at === best[step + 1] ? " on" : ""}` }, own, ...cells.map((text) => made("td", {}, text)));
  }));
}

// Show one step; `of`: the hypothesis that it continues, without it the one that leads to the translation.
function showStep(wanted, of) {
  const { hypotheses, best } = shown.search;
  const last = best.length - 2;
  step = Math.min(Math.max(wanted, 0), last);
  const before = continued();
  const at = before.includes(of) ? of : before[0];
  Object.assign($("step"), { max: last, value: step });
  $("step-back").disabled = step === 0;
  $("step-on").disabled = step === last;
  $("step-of").replaceChildren(...before.map((node) => new Option(textOf(hypotheses, node) || t("nothing written yet"), node, false, node === at)));
  const token = hypotheses[best[step + 1]];
  const values = { number: step + 1, count: last + 1, token: label(token.piece), percent: percent(chance(token.logprob)) };
  $("step-note").textContent = t("Step {number} of {count}: the translation gets “{token}” ({percent}).", values);
  $("step").setAttribute("aria-valuetext", $("step-note").textContent);
  showSource(at === best[step]);
  showNext(at);
  showBeam();
  follow($("step-tree"), step);
}

// The first step that looks at words of the text, and not only at its end.
function telling() {
  const { tokens } = shown.source;
  const shares = shown.search.best.slice(1).map((_, at) => shown.weights[at].reduce((sum, weight, column) => sum + (tokens[column].special ? 0 : weight), 0));
  return shares.findIndex((share) => share >= Math.max(...shares) / 2);
}

// Ask for the search of the chosen sentence and show the first step that shows something, or the one that was shown before.
export async function show(signal) {
  const found = await attention(fieldsOfView("json"), signal);
  const same = shown?.target.text === found.target.text && shown?.source.text === found.source.text;
  shown = found;
  $("step-own").hidden = !state.target_text && !usesGlossary();
  const align = model()?.attention.align;
  $("step-consume").hidden = align?.step !== "consume" || shown.layer !== align.layer || shown.head !== align.head;
  $("step-shortlist").hidden = !shown.search.shortlist;
  $("step-target").textContent = shown.target.text;
  drawTree($("step-tree"), shown.search, named);
  $("step-tree").setAttribute("aria-label", t("The hypotheses of the search as a tree; the table has those of the step"));
  showStep(same ? step : telling());
}

function listen() {
  $("step").addEventListener("input", () => showStep(Number($("step").value)));
  $("step-back").addEventListener("click", () => showStep(step - 1));
  $("step-on").addEventListener("click", () => showStep(step + 1));
  $("step-of").addEventListener("change", () => showStep(step, Number($("step-of").value)));
  $("step-tree").addEventListener("click", (event) => {
    const at = Number(event.target.closest("[data-node]")?.dataset.node);
    const node = shown?.search.hypotheses[at];
    if (node?.next) showStep((node.step ?? -1) + 1, at);
    else if (node) showStep(node.step);
  });
}

listen();
