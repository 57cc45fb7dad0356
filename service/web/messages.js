// What the page says about what it does, and what went wrong.

import { $ } from "./dom.js";
import { key } from "./key.js";

export function say(text) {
  $("status").textContent = text;
}

export function complain(error) {
  if (error.name === "AbortError") return;
  $("error").textContent = error.message;
  if (error.fromServer) $("error").lang = "en"; // the server's messages are in English
  else $("error").removeAttribute("lang");
  $("error").hidden = false;
  say("");
  if (["key_required", "invalid_key"].includes(error.code)) askForKey();
}

export function askForKey() {
  $("key-box").hidden = false;
  $("key").value = key();
  $("key").focus();
}
