// Kernel regression with a slider: the server draws both pictures for a kernel and a width.

import "./header.js";
import { $ } from "./dom.js";
import { dark } from "./theme.js";

let waiting;

function draw() {
  const [kernel, width] = [$("kernel").value, Math.exp(Number($("width").value)).toFixed(2)];
  $("value").textContent = width;
  $("width").disabled = kernel === "average";
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const view of ["heatmap", "fit"]) $(view).src = `../pooling?${new URLSearchParams({ kernel, width, view, format: "svg", theme: dark() ? "dark" : "light" })}`;
  }, 100);
}

$("pooling").addEventListener("input", draw);
$("theme").addEventListener("click", draw);
draw();
