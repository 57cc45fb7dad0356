// The heads of a layer in colours: lines from each token to what it looks at, heads that can be switched, and a hover
// that follows one token, as in BertViz.

import { attention } from "./api.js";
import { $, button, drawn, made, rove } from "./dom.js";
import { percent, t } from "./i18n.js";
import { fieldsOfView } from "./requests.js";
import { remember, state } from "./state.js";
import { columnsOf, labels, rowsOf } from "./tokens.js";

const COLOURS = 8; // in the style sheet; more heads repeat them
const ROW = 30; // height of a token
const MIDDLE = 100; // width of the lines' picture
const LEAST = 0.02; // weights below are not drawn

let shown; // the last answer, with weights [head][row][column]
let followed; // [side, number] of the token that is followed
let locked = false; // whether it stays when the pointer leaves

const count = () => shown.weights.length;
const on = () => {
  const wanted = state.heads.split(",").filter(Boolean).map(Number).filter((head) => head < count());
  return state.heads === "none" ? [] : wanted.length ? wanted : shown.weights.map((_, head) => head);
};

function choose(heads) {
  state.heads = heads.length === count() ? "" : heads.join(",") || "none";
  remember();
  paint();
}

function showSwitches() {
  const active = on();
  const focused = document.activeElement?.dataset?.head;
  $("head-switches").replaceChildren(...shown.weights.map((_, head) => {
    const own = button(t("head {number}", { number: head + 1 }), active.includes(head), { className: `small head c${head % COLOURS}` });
    own.dataset.head = head;
    return own;
  }), button(t("all heads"), active.length === count(), { id: "head-all" }));
  if (focused !== undefined) $("head-switches").querySelector(`[data-head="${focused}"]`)?.focus();
}

const weight = (head, row, column) => shown.weights[head][row][column] ?? 0;

function drawLines() {
  const [rows, columns] = [shown.weights[0].length, shown.weights[0][0].length];
  const svg = $("head-lines");
  const high = Math.max(rows, columns) * ROW;
  svg.setAttribute("viewBox", `0 0 ${MIDDLE} ${high}`);
  svg.style.height = `${high}px`;
  const [side, only] = followed ?? [];
  const lines = [];
  for (const head of on()) {
    for (let row = 0; row < rows; row += 1) {
      if (side === "from" && row !== only) continue;
      for (let column = 0; column < columns; column += 1) {
        const value = weight(head, row, column);
        if (value < LEAST || (side === "to" && column !== only)) continue;
        const beside = (head - (count() - 1) / 2) * Math.min(3, ROW / 2 / count()); // so that no head hides another
        const place = { x1: 0, y1: (row + 0.5) * ROW + beside, x2: MIDDLE, y2: (column + 0.5) * ROW + beside };
        lines.push(drawn("line", { ...place, class: `c${head % COLOURS}`, "stroke-opacity": value.toFixed(2) }));
      }
    }
  }
  svg.replaceChildren(...lines);
}

// Bars beside the tokens of the other side: how much each head looks there.
function showBars() {
  const [side, only] = followed ?? [];
  for (const [box, own] of [["head-from", "from"], ["head-to", "to"]]) {
    [...$(box).children].forEach((token, at) => {
      token.classList.toggle("on", side === own && at === only);
      const bars = side === undefined || side === own ? [] : on().map((head) => {
        const bar = made("i", { className: `c${head % COLOURS}` });
        bar.style.setProperty("--p", (own === "to" ? weight(head, only, at) : weight(head, at, only)).toFixed(3));
        return bar;
      });
      token.querySelector(".bars").replaceChildren(...bars);
    });
  }
}

function tell() {
  if (!followed) return void ($("heads-note").textContent = "");
  const [side, only] = followed;
  const [from, to] = [names("from"), names("to")];
  const found = on().map((head) => {
    const row = side === "from" ? shown.weights[head][only] : shown.weights[head].map((weights) => weights[only]);
    const best = row.reduce((most, value, at) => ((value ?? 0) > (row[most] ?? 0) ? at : most), 0);
    return t("head {number}: “{token}” {percent}", { number: head + 1, token: (side === "from" ? to : from)[best], percent: percent(row[best] ?? 0) });
  }).join(t("; "));
  const token = (side === "from" ? from : to)[only];
  $("heads-note").textContent = side === "from" ? t("“{token}” looks most at {found}", { token, found }) : t("“{token}” is looked at most by {found}", { token, found });
}

function paint() {
  showSwitches();
  drawLines();
  showBars();
  tell();
}

const names = (side) => labels((side === "to" ? columnsOf : rowsOf)(shown));

function showTokens() {
  for (const [box, side] of [["head-from", "from"], ["head-to", "to"]]) {
    $(box).replaceChildren(...names(side).map((name, at) => {
      const token = made("button", { type: "button", dir: "auto", tabIndex: at === 0 ? 0 : -1 }, made("span", {}, name), made("span", { className: "bars" }));
      Object.assign(token.dataset, { side, number: at });
      return token;
    }));
  }
}

function followToken(element, lock = locked) {
  const token = element?.closest?.("[data-side]");
  const next = token ? [token.dataset.side, Number(token.dataset.number)] : undefined;
  locked = Boolean(next) && lock;
  if (followed?.join() === next?.join()) return;
  followed = next;
  drawLines();
  showBars();
  tell();
}

// Ask for all heads of the chosen layer of the chosen sentence and draw them.
export async function show(signal) {
  shown = await attention(fieldsOfView("json"), signal);
  followed = undefined;
  locked = false;
  $("head-from-title").textContent = { cross: t("Translation"), encoder: t("Your text"), decoder: t("Translation") }[shown.kind];
  $("head-to-title").textContent = { cross: t("Your text"), encoder: t("Your text"), decoder: t("Translation so far") }[shown.kind];
  $("head-view").classList.toggle("across", shown.kind === "cross"); // the text is on the left, as in every view
  showTokens();
  paint();
}

function listen() {
  $("head-switches").addEventListener("click", (event) => {
    if (event.target.closest("#head-all")) return choose(shown.weights.map((_, head) => head));
    const head = event.target.closest("[data-head]")?.dataset.head;
    if (head === undefined || event.detail > 1) return;
    const active = on();
    choose(active.includes(Number(head)) ? active.filter((one) => one !== Number(head)) : [...active, Number(head)].sort((one, other) => one - other));
  });
  $("head-switches").addEventListener("dblclick", (event) => {
    const head = event.target.closest("[data-head]")?.dataset.head;
    if (head !== undefined) choose([Number(head)]);
  });
  for (const id of ["head-from", "head-to"]) {
    const box = $(id);
    box.addEventListener("pointerover", (event) => { if (!locked) followToken(event.target); });
    box.addEventListener("pointerleave", () => { if (!locked) followToken(); });
    box.addEventListener("focusin", (event) => followToken(event.target));
    box.addEventListener("focusout", () => { if (!locked) followToken(); });
    box.addEventListener("click", (event) => {
      const token = event.target.closest("[data-side]");
      const same = locked && followed?.join() === [token?.dataset.side, token?.dataset.number].join();
      followToken(same ? undefined : token, !same);
    });
    box.addEventListener("keydown", (event) => rove(event, [...box.children], "ArrowUp", "ArrowDown"));
  }
}

listen();
