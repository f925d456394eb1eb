// The curves of a run: drawn from /runs/RUN/curves, and updated while the run is in progress.
"use strict";

const HEIGHT = 190;
const SLOWEST_S = 30;
const charts = document.querySelector(".charts");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const faint = (name) => `color-mix(in srgb, ${colour(name)} 45%, transparent)`;
const share = (value) => (value == null ? "–" : value.toFixed(3));
const number = (value) => (value == null ? "–" : Number(value.toPrecision(4)).toString());

const VERDICTS = {
  accepted: "accepted", wrong_answer: "wrong", runtime_error: "runtime", time_limit: "time", output_limit: "output",
  memory_limit: "memory", compile_error: "compile", no_program: "none", sandbox_error: "sandbox",
};
const IDLE = { idle_generation: "memory", idle_verification: "wrong", idle_training: "accepted" };
const SECONDS = { generation_s: "memory", verification_wait_s: "wrong", update_s: "accepted", weight_sync_s: "runtime" };

// The moving average over a twentieth of the points, at least five.
function smoothed(values) {
  const reach = Math.floor(Math.max(5, Math.floor(values.length / 20)) / 2);
  return values.map((_, place) => {
    const near = values.slice(Math.max(0, place - reach), place + reach + 1).filter((value) => value != null);
    return near.length ? near.reduce((a, b) => a + b) / near.length : null;
  });
}

// A pale line for the values of the steps, a strong one for their moving average.
function line(label, values, name, format) {
  return {
    data: [values, smoothed(values)],
    series: [
      { label, stroke: faint(name), width: 1, points: { show: false }, value: (_, value) => format(value) },
      { label: "mean", stroke: colour(name), width: 2, points: { show: false }, value: (_, value) => format(value) },
    ],
  };
}

// Stacked areas; the highest is drawn first, and each shows its own value in the legend.
function layers(values, colours, format) {
  const names = Object.keys(colours).filter((name) => values[name]?.some((value) => value > 0));
  let sum = values[names[0]]?.map(() => 0) ?? [];
  const tops = names.map((name) => (sum = sum.map((below, place) => below + (values[name][place] ?? 0))));
  const series = names.map((name) => ({
    label: name.replace(/_s$/, "").replaceAll("_", " "),
    stroke: colour(colours[name]),
    fill: colour(colours[name]),
    width: 0,
    points: { show: false },
    value: (_, __, ___, place) => format(place == null ? null : values[name][place]),
  }));
  return { data: tops.reverse(), series: series.reverse() };
}

const byShortName = (values, names, prefix) => Object.fromEntries(names.map((name) => [name, values[prefix + name]]));

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
  return { title: "Pass rate", data: tables.length > 1 ? uPlot.join(tables) : tables[0], series, bands: held.length ? [band] : [], top: 1 };
}

// Of supervised fine-tuning, which verifies no program.
function supervised({ steps, values }) {
  const losses = line("in training", values.loss, "memory", number);
  if (values.eval_during_loss.some((value) => value != null)) {
    const point = { show: true, size: 8, fill: colour("compile"), stroke: colour("ground") };
    losses.data.push(values.eval_during_loss);
    losses.series.push({ label: "validation", stroke: colour("compile"), width: 2, points: point, spanGaps: true, value: (_, value) => number(value) });
  }
  const gradients = line("gradient norm", values.grad_norm, "memory", number);
  const speeds = line("tokens per second", values.tokens_per_s, "memory", number);
  return [
    { title: "Loss, nats per token", data: [steps, ...losses.data], series: losses.series },
    { title: "Gradient norm", data: [steps, ...gradients.data], series: gradients.series },
    { title: "Tokens per second", data: [steps, ...speeds.data], series: speeds.series, bottom: 0 },
  ].filter((chart) => chart.data[0].length);
}

function chartsOf(points) {
  const { steps, values } = points;
  if (!values.pass_rate.some((value) => value != null)) return supervised(points);
  const rewards = line("reward", values.reward_mean, "memory", share);
  const lengths = line("tokens", values.tokens_mean, "memory", number);
  const verdicts = layers(byShortName(values, Object.keys(VERDICTS), "fraction_"), VERDICTS, share);
  const seconds = layers(values, SECONDS, number);
  const idle = Object.entries(IDLE).filter(([name]) => values[name].some((value) => value != null)).map(([name, one]) => ({
    label: name.replace("idle_", ""), stroke: colour(one), width: 1.5, points: { show: false }, value: (_, value) => share(value),
  }));
  return [
    accepted(points),
    { title: "Verdicts", data: [steps, ...verdicts.data], series: verdicts.series, top: 1 },
    { title: "Reward", data: [steps, ...rewards.data], series: rewards.series },
    { title: "Completion length, tokens", data: [steps, ...lengths.data], series: lengths.series },
    { title: "Step time, seconds", data: [steps, ...seconds.data], series: seconds.series, bottom: 0 },
    { title: "Idle fraction of a step", data: [steps, ...Object.keys(IDLE).slice(0, idle.length).map((name) => values[name])], series: idle, top: 1 },
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
    // Without a pointer, the legend shows the last step.
    hooks: { setCursor: [(plot) => { if (plot.cursor.idx == null) showLast(plot); }], setData: [showLast] },
  };
}

function showLast(plot) {
  plot.setLegend({ idx: plot.data[0].length - 1 });
}

let drawn = [];
let shape = "";
let last = null;

function draw(points) {
  const width = (figure) => Math.floor(figure.getBoundingClientRect().width);
  const current = chartsOf(points);
  const before = shape;
  shape = JSON.stringify([points.width, current.map((chart) => chart.series.map((one) => one.label))]);
  last = points;
  if (shape === before) {
    drawn.forEach((plot, i) => {
      plot.series.slice(1).forEach((one, at) => (one.value = current[i].series[at].value));
      plot.setData(current[i].data);
    });
    return;
  }
  drawn.forEach((plot) => plot.destroy());
  charts.querySelectorAll("figure").forEach((old) => old.remove());
  const figures = current.map((chart) => {
    const made = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = chart.title + (points.width > 1 ? `, means of ${points.width} steps` : "");
    made.className = "chart";
    made.append(caption);
    return charts.appendChild(made);
  });
  drawn = current.map((chart, i) => new uPlot(options(chart, width(figures[i])), chart.data, figures[i]));
  drawn.forEach(showLast);
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

async function refresh() {
  const response = await fetch(`${charts.dataset.run}/progress`);
  if (!response.ok) return;
  const focused = document.activeElement?.getAttribute?.("href");
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of fresh.querySelectorAll("[data-fresh]")) document.getElementById(part.id).replaceWith(part);
  if (focused) [...document.querySelectorAll("[data-fresh] a")].find((link) => link.getAttribute("href") === focused)?.focus();
}

let seen = "";
let newest = Date.now();

async function poll() {
  const begin = performance.now();
  let live = true;
  try {
    const response = await fetch(`${charts.dataset.run}/curves?seen=${encodeURIComponent(seen)}`);
    if (response.status === 200) {
      const points = await response.json();
      draw(points);
      if (seen) await refresh();
      ({ seen, live } = points);
      newest = Date.now();
    } else if (response.status !== 204) throw new Error(response.statusText);
    const quiet = Math.round((Date.now() - newest) / 60000);
    news.textContent = live ? `Live: this page updates itself${quiet ? `; no change for ${quiet} min` : ""}.` : "";
  } catch {
    news.textContent = "The server does not respond; retrying.";
  }
  // At most a twentieth of the server's time.
  const pause = Math.min(SLOWEST_S * 1000, Math.max(1000, 20 * (performance.now() - begin)));
  if (live) setTimeout(poll, pause);
}

charts.prepend(news);
new ResizeObserver(() => drawn.forEach((plot) => {
  const width = Math.floor(plot.root.parentElement.getBoundingClientRect().width);
  if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
})).observe(charts);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
poll();
