// What people do: typing, choosing, pointing, copying.

import { fit, showChoices } from "./choices.js";
import { keepKey } from "./key.js";
import { complain, say } from "./messages.js";
import { sentences } from "./session.js";
import { VIEWS, here, remember, state } from "./state.js";
import { clear, look, translate } from "./translation.js";
import { choose, showView } from "./view.js";

const $ = (id) => document.getElementById(id);

// `open` asks the server anew, `begin` shows what the address says.
export function listen({ open, begin }) {
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    state.sentence = "0";
    translate();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("form").requestSubmit();
  });
  for (const name of ["text", "target_text", "beam_size", "length_penalty", "alternatives"]) {
    $(name).addEventListener("input", () => { state[name] = $(name).value; remember(); });
  }
  $("text").addEventListener("input", () => {
    fit();
    if (!state.text) clear();
  });
  $("key").addEventListener("change", () => {
    keepKey($("key").value);
    $("error").hidden = true;
    open();
  });
  $("target_text").addEventListener("change", () => { if (sentences().length) look().catch(complain); });
  $("live").addEventListener("change", () => { state.live = $("live").checked ? "1" : ""; remember(); });
  for (const name of ["source", "target", "model"]) {
    $(name).addEventListener("change", () => {
      state[name] = $(name).value;
      if (name !== "model") Object.assign(state, { model: "", leg: "1" });
      Object.assign(state, { layer: "", head: "" });
      showChoices();
      remember();
      if (state.text && sentences().length) translate();
    });
  }
  for (const name of ["kind", "layer", "head", "tokens", "specials"]) {
    $(name).addEventListener("change", () => {
      state[name] = $(name).value;
      if (name === "kind") Object.assign(state, { layer: "", head: "" });
      showView();
    });
  }
  $("views").addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab.dataset.view);
  });
  $("views").addEventListener("keydown", (event) => {
    const at = VIEWS.indexOf(state.view);
    const next = { ArrowRight: (at + 1) % VIEWS.length, ArrowLeft: (at + VIEWS.length - 1) % VIEWS.length, Home: 0, End: VIEWS.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(VIEWS[next]);
    $(`tab-${VIEWS[next]}`).focus();
  });
  const copied = { "copy-translation": () => $("translation").textContent, "copy-link": here, "copy-curl": () => $("curl").textContent };
  for (const [button, text] of Object.entries(copied)) {
    $(button).addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text());
        say("Copied");
      } catch {
        say("The browser does not allow this page to copy. Select the text instead.");
      }
    });
  }
  window.addEventListener("hashchange", begin);
}
