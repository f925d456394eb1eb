// The curves of a run: drawn from /runs/RUN/curves, and drawn again while the run goes on.
"use strict";

const HEIGHT = 190;
const SLOWEST_S = 30;
const charts = document.querySelector(".charts");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const faint = (name) => `color-mix(in srgb, ${colour(name)} 45%, transparent)`;
const share = (value) => (value == null ? "–" : value.toFixed(3));
const figure = (value) => (value == null ? "–" : Number(value.toPrecision(4)).toString());

const VERDICTS = {
  accepted: "accepted", wrong_answer: "wrong", runtime_error: "runtime", time_limit: "time", output_limit: "output",
  memory_limit: "memory", compile_error: "compile", no_program: "none", sandbox_error: "sandbox",
};
const IDLE = { idle_generation: "memory", idle_verification: "wrong", idle_training: "accepted" };
const SECONDS = { sampling_s: "memory", verifying_s: "wrong", updating_s: "accepted", syncing_s: "runtime" };

// The mean over the points around each: a twentieth of all, and at least five.
function smoothed(values) {
  const reach = Math.floor(Math.max(5, Math.floor(values.length / 20)) / 2);
  return values.map((_, place) => {
    const near = values.slice(Math.max(0, place - reach), place + reach + 1).filter((value) => value != null);
    return near.length ? near.reduce((a, b) => a + b) / near.length : null;
  });
}

// A pale line for what each step had, a strong one for the mean around it.
function line(label, values, name, told) {
  return {
    data: [values, smoothed(values)],
    series: [
      { label, stroke: faint(name), width: 1, points: { show: false }, value: (_, value) => told(value) },
      { label: "mean", stroke: colour(name), width: 2, points: { show: false }, value: (_, value) => told(value) },
    ],
  };
}

// Layers that stand on each other; the highest is drawn first, and each shows its own value.
function layers(values, colours, told) {
  const names = Object.keys(colours).filter((name) => values[name]?.some((value) => value > 0));
  let sum = values[names[0]]?.map(() => 0) ?? [];
  const tops = names.map((name) => (sum = sum.map((below, place) => below + (values[name][place] ?? 0))));
  const series = names.map((name) => ({
    label: name.replace(/_s$/, "").replaceAll("_", " "),
    stroke: colour(colours[name]),
    fill: colour(colours[name]),
    width: 0,
    points: { show: false },
    value: (_, __, ___, place) => told(place == null ? null : values[name][place]),
  }));
  return { data: tops.reverse(), series: series.reverse() };
}

const named = (values, names, prefix) => Object.fromEntries(names.map((name) => [name, values[prefix + name]]));

function accepted(points) {
  const trained = line("in training", points.values.pass_rate, "memory", share);
  const held = points.held_out;
  const tables = [[points.steps, ...trained.data]];
  const series = [...trained.series];
  if (held.length) {
    tables.push([held.map((one) => one.step), ...["pass_at_1", "low", "high"].map((key) => held.map((one) => one[key]))]);
    const edge = { stroke: "transparent", class: "quiet", points: { show: false }, spanGaps: true, value: (_, value) => share(value) };
    const point = { show: true, size: 8, fill: colour("compile"), stroke: colour("ground") };
    series.push({ label: "held out", stroke: colour("compile"), width: 2, points: point, spanGaps: true, value: (_, value) => share(value) });
    series.push({ ...edge, label: "low" }, { ...edge, label: "high" });
  }
  const band = { series: [5, 4], fill: `color-mix(in srgb, ${colour("compile")} 15%, transparent)` };
  return { title: "Programs accepted", data: tables.length > 1 ? uPlot.join(tables) : tables[0], series, bands: held.length ? [band] : [], top: 1 };
}

function described(points) {
  const { steps, values } = points;
  const rewards = line("reward", values.reward_mean, "memory", share);
  const lengths = line("tokens", values.tokens_mean, "memory", figure);
  const verdicts = layers(named(values, Object.keys(VERDICTS), "share_"), VERDICTS, share);
  const seconds = layers(values, SECONDS, figure);
  const idle = Object.entries(IDLE).filter(([name]) => values[name].some((value) => value != null)).map(([name, one]) => ({
    label: name.replace("idle_", ""), stroke: colour(one), width: 1.5, points: { show: false }, value: (_, value) => share(value),
  }));
  return [
    accepted(points),
    { title: "Verdicts", data: [steps, ...verdicts.data], series: verdicts.series, top: 1 },
    { title: "Reward", data: [steps, ...rewards.data], series: rewards.series },
    { title: "Length of an answer, tokens", data: [steps, ...lengths.data], series: lengths.series },
    { title: "Seconds of a step", data: [steps, ...seconds.data], series: seconds.series, bottom: 0 },
    { title: "Share of a step in which nothing was done", data: [steps, ...Object.keys(IDLE).slice(0, idle.length).map((name) => values[name])], series: idle, top: 1 },
  ].filter((chart) => chart.series.length && chart.data[0].length);
}

function options(chart, width) {
  const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 } };
  const range = (_, low, high) => {
    if (chart.top) return [0, chart.top];
    const room = (high - low || Math.abs(high) || 1) * 0.05;
    return [chart.bottom ?? low - room, high + room];
  };
  return {
    width, height: HEIGHT,
    scales: { x: { time: false }, y: { range } },
    axes: [{ ...axis, size: 30 }, { ...axis, size: 48 }],
    cursor: { sync: { key: "steps" }, drag: { x: true, y: false } },
    series: [{ label: "step" }, ...chart.series],
    bands: chart.bands ?? [],
    // Where the pointer is nowhere, the legend tells of the last step.
    hooks: { setCursor: [(plot) => { if (plot.cursor.idx == null) tellLast(plot); }], setData: [tellLast] },
  };
}

function tellLast(plot) {
  plot.setLegend({ idx: plot.data[0].length - 1 });
}

let drawn = [];
let shape = "";
let last = null;

function draw(points) {
  const width = (figure) => Math.floor(figure.getBoundingClientRect().width);
  const wanted = described(points);
  const before = shape;
  shape = JSON.stringify([points.width, wanted.map((chart) => chart.series.map((one) => one.label))]);
  last = points;
  if (shape === before) {
    drawn.forEach((plot, i) => {
      plot.series.slice(1).forEach((one, at) => (one.value = wanted[i].series[at].value));
      plot.setData(wanted[i].data);
    });
    return;
  }
  drawn.forEach((plot) => plot.destroy());
  charts.querySelectorAll("figure").forEach((old) => old.remove());
  const figures = wanted.map((chart) => {
    const made = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = chart.title + (points.width > 1 ? `, means of ${points.width} steps` : "");
    made.className = "chart";
    made.append(caption);
    return charts.appendChild(made);
  });
  drawn = wanted.map((chart, i) => new uPlot(options(chart, width(figures[i])), chart.data, figures[i]));
  drawn.forEach(tellLast);
}

function redraw() {
  drawn.forEach((plot) => plot.destroy());
  charts.querySelectorAll("figure").forEach((old) => old.remove());
  drawn = [];
  shape = "";
  if (last) draw(last);
}

const news = document.createElement("p");
news.className = "news";
news.setAttribute("role", "status");

async function renew() {
  const answer = await fetch(`${charts.dataset.run}/progress`);
  if (!answer.ok) return;
  const focused = document.activeElement?.getAttribute?.("href");
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of fresh.querySelectorAll("[data-fresh]")) document.getElementById(part.id).replaceWith(part);
  if (focused) [...document.querySelectorAll("[data-fresh] a")].find((link) => link.getAttribute("href") === focused)?.focus();
}

let seen = "";
let newest = Date.now();

async function look() {
  const begin = performance.now();
  let live = true;
  try {
    const answer = await fetch(`${charts.dataset.run}/curves?seen=${encodeURIComponent(seen)}`);
    if (answer.status === 200) {
      const points = await answer.json();
      draw(points);
      if (seen) await renew();
      ({ seen, live } = points);
      newest = Date.now();
    } else if (answer.status !== 204) throw new Error(answer.statusText);
    const quiet = Math.round((Date.now() - newest) / 60000);
    news.textContent = live ? `Live: this page renews itself${quiet ? `; nothing new for ${quiet} min` : ""}.` : "";
  } catch {
    news.textContent = "The server does not answer; trying again.";
  }
  // Never more than a twentieth of the server's time.
  const pause = Math.min(SLOWEST_S * 1000, Math.max(1000, 20 * (performance.now() - begin)));
  if (live) setTimeout(look, pause);
}

charts.prepend(news);
new ResizeObserver(() => drawn.forEach((plot) => {
  const width = Math.floor(plot.root.parentElement.getBoundingClientRect().width);
  if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
})).observe(charts);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
look();
