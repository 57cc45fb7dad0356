// Files: dropped or chosen, each translated by a job of the server. Their list is still there after a reload.

import { after } from "./again.js";
import { fetchFile, get, remove, saveAs, upload } from "./api.js";
import { targetFor } from "./choices.js";
import { $, keep, kept, made, tell } from "./dom.js";
import { errorOf } from "./errors.js";
import { faultOfTerms, glossary } from "./glossary.js";
import { number, quoted, t, tn } from "./i18n.js";
import { formality } from "./requests.js";
import { AUTO, languageName } from "./session.js";
import { state } from "./state.js";

const NAME = "files"; // [name, job] of each in the storage of this tab
const POLL = 600; // milliseconds
const LATER = 3_000; // milliseconds until a server that cannot be reached is asked again
let files = []; // { name, content, job, error, control, parts }

const keepFiles = () => keep(NAME, files.some(({ job }) => job) ? JSON.stringify(files.filter(({ job }) => job).map(({ name, job }) => [name, job.id])) : "", "sessionStorage");

// Offer files if the server takes them; `formats` are the endings of their names.
export function offerFiles(formats) {
  $("file-box").hidden = formats.length === 0;
  $("file").accept = formats.join(",");
  if (formats.length) restore();
}

// What there is to say about a job, beside its progress.
const notesOf = ({ format, encoding, detected, target, formality_note: note, kept = [] }) => [
  format === "pdf" ? t("Text only: the translation of a PDF has no layout and no pictures.") : "",
  encoding ? t("Read as {encoding}; the translation of Windows-1252 is UTF-8.", { encoding }) : "",
  detected && detected === target ? t("This file is in {language} already.", { language: languageName(target) }) : "",
  note ?? "",
  kept.length ? t("Cells that stay as they are, because a table, a formula, a list or a filter finds them by their words: {words}", { words: quoted(kept) }) : "",
].filter(Boolean);

function showProgress({ job, parts }) {
  const { segments = 0, segments_done: done = 0 } = job?.progress ?? {};
  if (segments) Object.assign(parts.bar, { max: segments, value: done });
  else parts.bar.removeAttribute("value");
  return segments ? t("{done} of {all} passages", { done: number(done), all: number(segments) }) : t("Translating…");
}

// The passages that a person should check, with their translations.
function passages(doubtful, { source, detected, target }) {
  const rows = doubtful.map((one) => made("li", {}, made("span", { dir: "auto", lang: source === AUTO ? detected : source }, one.source), made("span", { dir: "auto", lang: target }, one.translation)));
  return made("details", {}, made("summary", {}, tn("{count} passage to check", "{count} passages to check", doubtful.length)), made("ol", {}, ...rows));
}

function show(file) {
  const { name, job, error, parts } = file;
  const done = job?.state === "done";
  const from = job?.detected ? t("{language} (detected)", { language: languageName(job.detected) }) : languageName(job?.source === AUTO ? "" : job?.source);
  const languages = job && from ? `${from} → ${languageName(job.target)}` : "";
  parts.bar.hidden = done || Boolean(error);
  parts.state.textContent = [languages, error ? "" : done ? t("Translated.") : showProgress(file)].filter(Boolean).join(" · ");
  tell(parts.error, error?.message ?? "");
  tell(parts.link, done ? t("Download {name}", { name: job.file_name }) : "");
  parts.remove.textContent = done || error ? t("Remove") : t("Cancel");
  parts.remove.setAttribute("aria-label", `${parts.remove.textContent} ${name}`);
  const doubtful = job?.quality?.doubtful ?? [];
  parts.more.replaceChildren(...(done ? [...notesOf(job).map((note) => made("p", {}, note)), ...(doubtful.length ? [passages(doubtful, job)] : [])] : []));
}

// A new line of the list.
function added(name, job) {
  const file = { name, job, control: new AbortController() };
  file.parts = {
    bar: made("progress", { ariaLabel: name }), state: made("span", {}), error: made("p", { role: "alert" }),
    link: made("a", { href: "#", onclick: (event) => { event.preventDefault(); download(file); } }),
    remove: made("button", { type: "button", className: "small", onclick: () => forget(file) }), more: made("div", { className: "more" }),
  };
  const { bar, state: words, error, link, remove: button, more } = file.parts;
  words.setAttribute("role", "status");
  const box = made("li", {}, made("b", {}, name), words, bar, link, button, error, more);
  file.box = box;
  $("files-list").append(box);
  $("files").hidden = false;
  files.push(file);
  show(file);
  return file;
}

function fail(file, error) {
  if (error.name === "AbortError") return;
  file.error = error;
  show(file);
}

async function download(file) {
  try {
    saveAs(await fetchFile(`jobs/${file.job.id}/file`), file.job.file_name);
  } catch (error) {
    fail(file, error);
  }
}

// Take a file from the list and from the server, which works on it no longer.
async function forget(file) {
  file.control.abort();
  files = files.filter((one) => one !== file);
  file.box.remove();
  $("files").hidden = files.length === 0;
  keepFiles();
  if (file.job) await remove(`jobs/${file.job.id}`).catch(() => {});
}

// Ask for a job until it has ended. A file that turns out to be in the target language gets another target.
async function follow(file) {
  const { signal } = file.control;
  while (!["done", "failed"].includes(file.job.state)) {
    await after(POLL);
    signal.throwIfAborted();
    file.job = await get(`jobs/${file.job.id}`, signal).catch(async (error) => {
      if (!error.temporary) throw error;
      await after(LATER);
      return file.job;
    });
    show(file);
  }
  if (file.job.state === "failed") throw errorOf(file.job.error);
  const { id, detected, target } = file.job;
  if (!file.content || detected !== target || !targetFor(detected)) return;
  await send(file, { source: detected, target: targetFor(detected) });
  remove(`jobs/${id}`).catch(() => {});
  await follow(file);
}

async function send(file, pair = { source: state.source, target: state.target }) {
  const form = new FormData();
  const fault = faultOfTerms();
  if (fault) throw new Error(fault);
  const terms = glossary();
  const fields = { ...pair, model: state.model, formality: formality(), glossary: typeof terms === "object" ? JSON.stringify(terms) : terms };
  for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
  form.append("file", file.content);
  file.job = await upload("jobs", form, file.control.signal);
  keepFiles();
  show(file);
}

// Send files, one after the other; the server translates them in turn.
async function translateFiles(chosen) {
  for (const file of [...chosen].map((content) => Object.assign(added(content.name), { content }))) {
    try {
      await send(file);
      follow(file).catch((error) => fail(file, error));
    } catch (error) {
      fail(file, error);
    }
  }
}

// The list of an earlier load of the page, without jobs that have expired.
async function restore() {
  const known = files.length ? [] : JSON.parse(kept(NAME, "sessionStorage") ?? "[]");
  for (const [name, id] of known) {
    const job = await get(`jobs/${id}`).catch(() => undefined);
    if (!job) continue;
    const file = added(name, job);
    follow(file).catch((error) => fail(file, error));
  }
  keepFiles();
}

export function listenToFiles() {
  $("file").addEventListener("change", () => {
    translateFiles($("file").files);
    $("file").value = "";
  });
  addEventListener("language", () => files.forEach(show));
  const has = (event) => event.dataTransfer?.types.includes("Files");
  const end = () => { $("drop").hidden = true; };
  document.addEventListener("dragover", (event) => {
    if (!has(event)) return;
    event.preventDefault(); // otherwise the browser opens a dropped file, and the text is gone
    $("drop").hidden = $("file-box").hidden;
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) end(); });
  document.addEventListener("drop", (event) => {
    end();
    if (!has(event)) return;
    event.preventDefault();
    if (!$("file-box").hidden) translateFiles(event.dataTransfer.files);
  });
}
