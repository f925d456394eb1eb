// The pages from the keyboard: the help line at the foot of each says how.
"use strict";

document.documentElement.classList.add("js");

const MOVES = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
const LINKS = { n: ".pages a[rel=next]", "[": ".group a[rel=prev]", "]": ".group a[rel=next]", u: ".crumbs a[rel=up]" };

function rows() {
  return [...document.querySelectorAll("main .row")].filter((row) => row.offsetParent !== null);
}

function move(by) {
  const all = rows();
  if (!all.length) return false;
  const at = all.findIndex((row) => row.contains(document.activeElement) || row.parentElement === document.activeElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
  (next.closest("summary") || next.querySelector("a")).focus();
  return true;
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea");
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // An arrow scrolls a text that has the focus, and the page until a row was chosen.
  const arrow = event.key.startsWith("Arrow");
  if (arrow && (event.target.closest("pre") || !event.target.closest(".row, summary"))) return;
  if (event.key === "/") {
    document.querySelector(".find input").select();
    document.querySelector(".find input").focus();
  } else if (event.key in MOVES) {
    if (!move(MOVES[event.key])) return;
  } else if (event.key in LINKS) {
    const link = document.querySelector(LINKS[event.key]);
    if (!link) return;
    link.click();
  } else return;
  event.preventDefault();
}

document.addEventListener("keydown", pressed);

// A choice in a filter is enough; without JavaScript there is the button.
for (const field of document.querySelectorAll(".filter select")) {
  field.addEventListener("change", () => field.form.requestSubmit());
}
