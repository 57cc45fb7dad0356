// What can be chosen, and what a model is called in a list.

const $ = (id) => document.getElementById(id);

// Fill a list with [value, label]; gives the value that is chosen then.
export function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, label]) => new Option(label, value, false, value === chosen)));
  select.value = entries.some(([value]) => value === chosen) ? chosen : entries[0]?.[0] ?? "";
  return select.value;
}

// What tells a model from the others of its pair: how it is built and what it was measured with.
export function modelLabel(one, others) {
  const built = `${one.architecture[0].toUpperCase()}${one.architecture.slice(1)}`;
  const alike = others.filter((other) => other.architecture === one.architecture).length > 1;
  const score = one.card?.scores?.[0];
  const measured = Number.isFinite(score?.score) ? `${score.metric} ${score.score.toFixed(1)}` : "";
  return [built, alike ? one.name : "", measured, one.default && others.length > 1 ? "default" : ""].filter(Boolean).join(" · ");
}

// The box as high as its text, and how much of what the server takes it holds.
export function fit(text, limit) {
  const box = $("text");
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight + 2, innerHeight * 0.6)}px`;
  const length = [...text].length;
  const number = (value) => value.toLocaleString("en");
  $("count").textContent = Number.isFinite(limit) ? `${number(length)} / ${number(limit)} characters` : "";
  $("count").classList.toggle("over", length > limit);
}
