// Lines over time, drawn by uPlot, which is loaded when the first chart is. A summary in words stands beside each for those who do not see it.
import {useEffect, useRef} from "./vendor/hooks.js";
import {html} from "./html.js";
import {count, isNumber, real, time} from "./words.js";

const COLOURS = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [14, 4]];
const DRAWN_EVERY_MS = 500;
let loading = null;

export function load(file) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = new URL(file, import.meta.url);
    script.onload = done;
    script.onerror = () => failed(new Error(`${file} cannot be loaded`));
    document.head.append(script);
  });
}

const library = () => {
  loading ??= window.uPlot ? Promise.resolve() : load("vendor/uplot.js");
  return loading;
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// `times` are seconds since 1970, `series` are {label, values}; `logs` draws powers of ten, with 0 at the bottom, a tenth of the least beside.
export function Chart({label, times, series, logs, height = 220, unit = ""}) {
  const box = useRef(null);
  const drawn = useRef({plot: null, key: "", at: 0});
  const key = `${series.map((one) => one.label).join("|")}|${logs}|${unit}`;
  const floor = logs ? floorOf(series) : null;
  const data = [times, ...series.map((one) => logs ? one.values.map((value) => value === 0 ? floor : value) : one.values)];
  const newest = useRef(data);
  newest.current = data;

  useEffect(() => {
    let gone = false;
    let watcher = null;
    const draw = () => {
      if (!box.current) return;
      drawn.current.plot?.destroy();
      drawn.current.plot = make(box.current, {series, logs, height: heightOf(height), unit}, newest.current);
    };
    library().then(() => {
      if (gone || !box.current) return; // the box goes a moment before what this leaves behind is cleared away
      draw();
      watcher = new ResizeObserver(() => box.current && drawn.current.plot?.setSize({width: box.current.clientWidth, height: heightOf(height)}));
      watcher.observe(box.current);
    });
    addEventListener("themechange", draw);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      gone = true;
      watcher?.disconnect();
      removeEventListener("themechange", draw);
      scheme.removeEventListener("change", draw);
      drawn.current.plot?.destroy();
      drawn.current.plot = null;
    };
  }, [key, height]);

  useEffect(() => {
    const one = drawn.current;
    if (one.plot && performance.now() - one.at > DRAWN_EVERY_MS) {
      one.at = performance.now();
      one.plot.setData(newest.current);
    }
  });

  return html`<figure class="chart">
    <div class="plot" ref=${box} style=${{minHeight: `${heightOf(height)}px`}} role="img" aria-label="${label}: ${series.map(summary(times)).join("; ")}"></div>
    <figcaption>${series.map((one, place) => html`<span class="key"><svg width="26" height="8" aria-hidden="true"><line x1="1" x2="25" y1="4" y2="4" class="line-${place % COLOURS.length + 1}" stroke-width="2.5" stroke-dasharray=${DASHES[place % DASHES.length].join(" ")} /></svg>${one.label} <b>${said(last(one.values), unit)}</b></span>`)}</figcaption>
  </figure>`;
}

function floorOf(series) {
  let least = Infinity;
  for (const one of series) for (const value of one.values) if (value > 0 && value < least) least = value;
  return least === Infinity ? 1e-3 : 10 ** (Math.floor(Math.log10(least)) - 1);
}

const heightOf = (height) => Math.round(height * Math.max(1, parseFloat(getComputedStyle(document.documentElement).fontSize) / 16));
const last = (values) => {
  for (let place = values.length - 1; place >= 0; place--) if (isNumber(values[place])) return values[place];
  return null;
};
const said = (value, unit) => `${unit === "" ? real(value) : Math.abs(value) >= 1000 ? count(value) : real(value)}${unit && value !== null ? ` ${unit}` : ""}`;
const summary = (times) => (one) => {
  const known = one.values.filter(isNumber);
  if (!known.length) return `${one.label} is not known`;
  return `${one.label} from ${real(known[0])} at ${time(times[0])} to ${real(known[known.length - 1])}, least ${real(known.reduce((a, b) => Math.min(a, b)))}, greatest ${real(known.reduce((a, b) => Math.max(a, b)))}`;
};

function make(node, {series, logs, height, unit}, data) {
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const font = `${Math.round(size * 0.8)}px system-ui, sans-serif`;
  const axis = {stroke: colour("--soft"), font, grid: {stroke: colour("--rule"), width: 1}, ticks: {stroke: colour("--line"), width: 1}};
  return new uPlot({
    width: node.clientWidth, height, legend: {show: false}, cursor: {y: false, points: {size: 7}},
    scales: {x: {time: true}, y: logs ? {distr: 3, log: 10, range: (_, least, most) => [least ?? 1e-3, Math.max(most ?? 1, (least ?? 1e-3) * 10)]} : {range: (_, least, most) => [Math.min(0, least ?? 0), most > 0 ? most * 1.08 : 1]}},
    axes: [
      {...axis, space: size * 5, values: [[3600, "{HH}:{mm}"], [60, "{HH}:{mm}"], [1, "{HH}:{mm}:{ss}"], [0.001, ":{ss}.{fff}"]].map((row) => [row[0], row[1], null, null, null, null, null, null, 1])},
      {...axis, size: size * 4, values: (_, values) => values.map((value) => value === null ? "" : Math.abs(value) >= 1000 ? count(value) : real(value))},
    ],
    series: [{}, ...series.map((one, place) => ({
      label: one.label, stroke: colour(COLOURS[place % COLOURS.length]), width: 2, dash: DASHES[place % DASHES.length], spanGaps: true, points: {show: data[0].length < 4},
    }))],
  }, data, node);
}
