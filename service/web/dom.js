// Elements of the page, new ones, and what the browser keeps for it.

export const $ = (id) => document.getElementById(id);

// A new element with its properties and what stands in it.
export function made(kind, properties = {}, ...content) {
  const element = Object.assign(document.createElement(kind), properties);
  element.append(...content);
  return element;
}

// The same for a picture, whose elements have attributes.
export function drawn(kind, attributes, ...content) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...content);
  return element;
}

// Say something in a box, which is hidden where there is nothing to say.
export const tell = (box, text) => Object.assign(box, { hidden: !text, textContent: text });

// A small button; `pressed` is undefined for one that is no switch.
export function button(text, pressed, properties = {}) {
  return made("button", { type: "button", className: "small", ariaPressed: pressed === undefined ? null : String(pressed), ...properties }, text);
}

// The cell of a table with a bar as long as a share of it.
export function bar(share) {
  const cell = made("td", { className: "bar" });
  cell.style.setProperty("--p", share.toFixed(4));
  return cell;
}

// Put a box below a part of a pane, as far as that can be seen.
export function putBelow(box, part) {
  const pane = part.closest(".pane");
  pane.append(box);
  const { top, bottom } = pane.getBoundingClientRect();
  box.style.top = `${Math.min(part.getBoundingClientRect().bottom, bottom - 40) - top + 4}px`;
}

// How many entries two lists, or characters two texts, share at their beginnings, and then at their ends.
export function shared(one, other) {
  const most = Math.min(one.length, other.length);
  let [begin, end] = [0, 0];
  while (begin < most && one[begin] === other[begin]) begin += 1;
  while (end < most - begin && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return [begin, end];
}

// Keys that move the focus among elements of which the Tab key reaches one.
export function rove(event, all, back, on) {
  const at = all.indexOf(event.target);
  const to = { [on]: (at + 1) % all.length, [back]: at - 1, Home: 0, End: -1 }[event.key];
  if (at < 0 || to === undefined) return undefined;
  event.preventDefault();
  const next = all.at(to);
  [all[at].tabIndex, next.tabIndex] = [-1, 0];
  next.focus();
  return next;
}

// What the browser keeps; where it stores nothing, a choice lasts as long as the page.
export function kept(name, storage = "localStorage") {
  try { return window[storage].getItem(name); } catch { return null; }
}
export function keep(name, value, storage = "localStorage") {
  try {
    if (value) window[storage].setItem(name, value);
    else window[storage].removeItem(name);
  } catch { /* as above */ }
}
