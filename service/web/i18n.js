// The language of the page. English is in the source; messages.de.json and messages.fr.json map it to other languages,
// as gettext's catalogues do: a message to its translation, or a singular to its [singular, plural].

import { keep, kept } from "./dom.js";

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français" };
const NAME = "language"; // in the browser's storage
const ATTRIBUTES = ["aria-label", "placeholder", "title"];
const UNTRANSLATED = "script, style, noscript, [translate=no]";

export let language = "en";
let messages = {};
let written = []; // [function that writes a message into the page, the message]

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

export const number = (value, digits = 0) => value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const percent = (share) => (share < 0.001 ? `< ${number(0.1, 1)} %` : `${number(share * 100, share < 0.1 ? 1 : 0)} %`);

// A message in the language of the page; {name} is replaced by a value.
export const t = (text, values = {}) => filled(messages[text] ?? text, values);

export const quoted = (words) => words.map((word) => t("“{word}”", { word })).join(", ");

// A message with a {count}, which decides between singular and plural.
export function tn(one, many, count, values = {}) {
  const form = new Intl.PluralRules(language).select(count) === "one" ? 0 : 1;
  return filled((messages[one] ?? [one, many])[form], { count: number(count), ...values });
}

// The language of a tag, without its country or script.
export const base = (tag) => tag.toLowerCase().split(/[-_]/)[0];

// The name of a language in the language of the page; `english` is the server's name for it.
export function nameOf(code, english) {
  if (!code || (english && language === "en")) return english ?? "";
  const name = new Intl.DisplayNames([language], { type: "language", fallback: "none" }).of(code) ?? english ?? code;
  return name[0].toLocaleUpperCase(language) + name.slice(1);
}

function preferred() {
  const wanted = [kept(NAME), ...navigator.languages].filter(Boolean).map(base);
  return wanted.find((code) => code in LANGUAGES) ?? "en";
}

const plain = (text) => text.replace(/\s+/g, " ").trim();

// The messages of the page as it was loaded, and where they are written.
function collect() {
  const found = [[(text) => { document.title = text; }, document.title]];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const [at, message] = [node, plain(node.data)];
    if (!/\p{L}/u.test(message) || node.parentElement.closest(UNTRANSLATED)) continue;
    const [before, after] = [/^\s*/.exec(node.data)[0], /\s*$/.exec(node.data)[0]];
    found.push([(text) => { at.data = before + text + after; }, message]);
  }
  for (const name of ATTRIBUTES) {
    for (const element of document.body.querySelectorAll(`[${name}]`)) {
      if (!element.closest(UNTRANSLATED)) found.push([(text) => element.setAttribute(name, text), element.getAttribute(name)]);
    }
  }
  return found;
}

async function use(code) {
  const answer = code === "en" ? null : await fetch(new URL(`messages.${code}.json`, import.meta.url));
  messages = answer?.ok ? await answer.json() : {};
  language = !answer || answer.ok ? code : "en";
  document.documentElement.lang = language;
  for (const [write, message] of written) write(t(message));
}

// Show the page in the visitor's language. `list` switches it; then the event "language" tells scripts to write again.
export async function startLanguage(list) {
  written = collect();
  await use(preferred()).catch(() => {}); // the page is in English then
  list.replaceChildren(...Object.entries(LANGUAGES).map(([code, name]) => Object.assign(new Option(name, code), { lang: code })));
  list.value = language;
  list.addEventListener("change", async () => {
    keep(NAME, list.value);
    await use(list.value).catch(() => {});
    list.value = language;
    dispatchEvent(new Event("language"));
  });
}
