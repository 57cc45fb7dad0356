// Files: dropped or chosen, translated by a job of the server, and fetched when they are done.

import { fetchFile, get, remove, upload } from "./api.js";
import { $ } from "./dom.js";
import { errorOf } from "./errors.js";
import { faultOfTerms, glossary } from "./glossary.js";
import { number, t, tn } from "./i18n.js";
import { complain } from "./messages.js";
import { state } from "./state.js";

const POLL = 600; // milliseconds
let running; // { id, control } of the job that is waited for

const pause = (signal) => new Promise((done) => {
  const timer = setTimeout(done, POLL);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

// Offer files if the server takes them; `formats` are the endings of their names.
export function offerFiles(formats) {
  $("file-box").hidden = formats.length === 0;
  $("file").accept = formats.join(",");
}

function show(file, job) {
  const { segments = 0, segments_done: done = 0 } = job?.progress ?? {};
  $("job").hidden = false;
  $("job-name").textContent = file.name;
  $("job-bar").hidden = job?.state === "done";
  if (segments) Object.assign($("job-bar"), { max: segments, value: done });
  else $("job-bar").removeAttribute("value");
  $("job-state").textContent = segments
    ? t("{done} of {all} passages", { done: number(done), all: number(segments) })
    : t("Translating…");
}

// The name of the translation, as the server names it.
const nameOf = (file) => file.name.replace(/(\.[^.]*)?$/, (ending) => `.${state.target}${ending}`);

async function finish(file, job, signal) {
  const link = $("job-download");
  URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(await fetchFile(`jobs/${job.id}/file`, signal));
  link.download = nameOf(file);
  link.textContent = t("Download {name}", { name: link.download });
  link.hidden = false;
  $("job-cancel").hidden = true;
  const doubtful = job.quality?.doubtful.length ?? 0;
  $("job-state").textContent = doubtful
    ? tn("Translated. Please check {count} passage.", "Translated. Please check {count} passages.", doubtful)
    : t("Translated.");
  await remove(`jobs/${job.id}`).catch(() => {}); // it is here now, and needs no place on the server
}

async function follow(file, control) {
  const form = new FormData();
  if (faultOfTerms()) throw new Error(faultOfTerms());
  const terms = glossary();
  const fields = { source: state.source, target: state.target, model: state.model, glossary: typeof terms === "object" ? JSON.stringify(terms) : terms };
  for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
  form.append("file", file);
  show(file);
  let job = await upload("jobs", form, control.signal);
  running = { id: job.id, control };
  while (!["done", "failed"].includes(job.state)) {
    await pause(control.signal);
    control.signal.throwIfAborted();
    job = await get(`jobs/${job.id}`, control.signal);
    show(file, job);
  }
  if (job.state === "failed") throw errorOf(job.error);
  await finish(file, job, control.signal);
}

async function translateFile(file) {
  await cancel();
  const control = new AbortController();
  running = { control };
  $("error").hidden = $("job-download").hidden = true;
  $("job-cancel").hidden = false;
  try {
    await follow(file, control);
  } catch (error) {
    if (running?.control === control) $("job").hidden = true;
    complain(error);
  } finally {
    if (running?.control === control) running = undefined;
  }
}

// Stop waiting, and tell the server that nobody needs the translation any more.
async function cancel() {
  const job = running;
  running = undefined;
  job?.control.abort();
  $("job").hidden = true;
  if (job?.id) await remove(`jobs/${job.id}`).catch(() => {});
}

export function listenToFiles() {
  const pane = $("file-box").closest(".pane");
  $("file").addEventListener("change", () => {
    const [file] = $("file").files;
    $("file").value = "";
    if (file) translateFile(file);
  });
  $("job-cancel").addEventListener("click", cancel);
  pane.addEventListener("dragover", (event) => {
    if ($("file-box").hidden || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    pane.classList.add("dropping");
  });
  pane.addEventListener("dragleave", (event) => { if (!pane.contains(event.relatedTarget)) pane.classList.remove("dropping"); });
  pane.addEventListener("drop", (event) => {
    pane.classList.remove("dropping");
    const [file] = event.dataTransfer.files;
    if ($("file-box").hidden || !file) return;
    event.preventDefault();
    translateFile(file);
  });
}
