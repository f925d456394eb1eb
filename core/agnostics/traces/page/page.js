"use strict";
// Every text of the program reaches the page as the text of a node, never as markup.
const trace = JSON.parse(document.getElementById("trace").textContent);
const events = trace.events;
const EVERY = 500; // events between two states that are kept
const kept = [{ scopes: [] }];
let at = 0;

function element(name, text, classes) {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text !== undefined) show(made, text);
  return made;
}

// Control characters, direction overrides and other invisible ones are shown by their numbers.
function show(target, text) {
  target.replaceChildren();
  for (const part of text.split(/([^\P{C}\n\t]|[\u2028\u2029\u00ad])/u)) {
    if (part && (/^[^\P{C}\n\t]$/u.test(part) || /^[\u2028\u2029\u00ad]$/.test(part))) {
      const code = part.codePointAt(0);
      const odd = document.createElement("span");
      odd.className = "odd";
      odd.textContent = code < 0x20 ? String.fromCharCode(0x2400 + code) : "U+" + code.toString(16).toUpperCase().padStart(4, "0");
      target.append(odd);
    } else if (part) target.append(part);
  }
}

function step(scopes, event) {
  const left = scopes.slice(0, event.depth + (event.kind === "call" ? 0 : 1));
  while (left.length <= event.depth) left.push({ name: left.length === event.depth ? event.name : undefined, line: 0, locals: new Map() });
  const locals = new Map(left[event.depth].locals);
  for (const name of event.gone || []) locals.delete(name);
  for (const [name, value] of Object.entries(event.changed || {})) locals.set(name, value);
  left[event.depth] = { name: event.name, line: event.line, locals };
  return left;
}

function scopesAt(place) {
  let index = Math.min(Math.floor(place / EVERY), kept.length - 1);
  let { scopes } = kept[index];
  for (let number = index * EVERY; number <= place; number++) {
    if (number % EVERY === 0 && number / EVERY === kept.length) kept.push({ scopes });
    scopes = step(scopes, events[number]);
  }
  return scopes;
}

const code = document.getElementById("code");
trace.lines.forEach((line, number) => {
  const item = element("li", line);
  item.dataset.n = number + 1;
  code.append(item);
});

function row(name, value, classes, isCut) {
  const made = element("tr", undefined, classes);
  made.append(element("th", name), element("td", value, isCut ? "cut" : ""));
  made.firstChild.scope = "row";
  return made;
}

function draw() {
  const event = events[at];
  const scopes = scopesAt(at);
  const failed = event.kind === "exception";
  for (const item of code.querySelectorAll(".here, .caller")) item.className = "";
  for (const scope of scopes.slice(0, -1)) if (scope.line) code.children[scope.line - 1].className = "caller";
  const here = code.children[event.line - 1];
  here.className = failed ? "here failed" : "here";
  const top = here.offsetTop - code.clientHeight / 2;
  if (here.offsetTop < code.scrollTop || here.offsetTop + here.offsetHeight > code.scrollTop + code.clientHeight) code.scrollTop = top;

  document.getElementById("event").className = failed ? "event failed" : "event";
  show(document.getElementById("kind"), event.kind);
  show(document.getElementById("source"), event.source.trim());
  const value = document.getElementById("value");
  value.className = (event.cut || []).includes("value") && event.value !== undefined ? "value cut" : "value";
  show(value, event.value === undefined ? "" : "→ " + event.value);

  const locals = document.getElementById("locals");
  const changed = event.changed || {};
  locals.replaceChildren();
  for (const [name, text] of scopes[event.depth].locals)
    locals.append(row(name, text, Object.hasOwn(changed, name) ? "changed" : "", text.endsWith("…")));
  for (const name of event.gone || []) if (!Object.hasOwn(changed, name)) locals.append(row(name, "", "gone"));
  document.getElementById("none").hidden = locals.children.length > 0;

  const stack = document.getElementById("stack");
  stack.replaceChildren(...scopes.map((scope, depth) => {
    const item = element("li");
    const unnamed = scope.name === undefined ? "(not traced)" : depth ? "(anonymous)" : "main program";
    item.append(element("span", scope.name || unnamed), element("span", scope.line ? "line " + scope.line : "", "quiet"));
    return item;
  }));
  const slider = document.getElementById("slider");
  slider.value = at;
  slider.setAttribute("aria-valuetext", `event ${at + 1} of ${events.length}: ${event.kind}, line ${event.line}`);
  document.getElementById("place").textContent = `event ${at + 1} of ${events.length}`;
}

function go(place) {
  at = Math.max(0, Math.min(events.length - 1, place));
  draw();
}

// The next or previous event that is not within a call made here, or that is in the scope around.
function over(direction, depth) {
  let place = at + direction;
  while (place >= 0 && place < events.length && events[place].depth > depth) place += direction;
  go(place);
}

const moves = {
  first: () => go(0), last: () => go(events.length - 1), back: () => go(at - 1), next: () => go(at + 1),
  over: () => over(1, events[at].depth), "over-back": () => over(-1, events[at].depth), out: () => over(1, events[at].depth - 1),
};
const keys = {
  ArrowRight: "next", j: "next", " ": "next", ArrowLeft: "back", k: "back", ArrowDown: "over", n: "over", ArrowUp: "over-back",
  p: "over-back", o: "out", Home: "first", End: "last",
};
document.addEventListener("keydown", (pressed) => {
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey || !Object.hasOwn(keys, pressed.key)) return;
  if (pressed.key === " " && pressed.target instanceof HTMLButtonElement) return;
  if (events.length) moves[keys[pressed.key]]();
  pressed.preventDefault();
});
for (const button of document.querySelectorAll("button")) button.addEventListener("click", () => moves[button.dataset.move]());
const slider = document.getElementById("slider");
slider.max = Math.max(0, events.length - 1);
slider.addEventListener("input", () => go(Number(slider.value)));
for (const name of ["input", "stdout", "stderr"]) {
  const part = document.getElementById(name);
  show(part.querySelector("pre"), trace[name]);
  part.hidden = !trace[name];
}
if (events.length) draw();
else document.getElementById("empty").hidden = false;
for (const control of document.querySelectorAll(".bar button, .bar input")) control.disabled = !events.length;
