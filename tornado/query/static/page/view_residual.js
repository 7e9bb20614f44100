// Residual over time: of main loops, and of every branch while it converges; with what each iteration took.
import {useEffect, useState} from "./vendor/hooks.js";
import {html} from "./html.js";
import {state, useStore} from "./store.js";
import {ask, onBranches} from "./service.js";
import {growthOf, useLines} from "./lines.js";
import {Chart} from "./chart.js";
import {Empty, Panel} from "./parts.js";

const MOST_LOOPS = 6;
const MOST_BRANCHES = 6;

export function Residual({of}) {
  const {now} = useStore();
  const all = now ? now.loops.map((loop) => loop.name) : [];
  const [chosen, choose] = useState(null);
  useEffect(() => choose(of ? [of] : null), [of]);
  if (!now) return html`<${Empty}>The first observation has not come yet.<//>`;
  const names = (chosen ?? all.slice(0, MOST_LOOPS)).filter((name) => all.includes(name));
  const toggle = (name) => choose(names.includes(name) ? names.filter((one) => one !== name) : [...names, name].slice(-MOST_LOOPS));
  return html`
    <fieldset class="choice"><legend>Loops, at most ${MOST_LOOPS}</legend>${all.map((name) => html`
      <label><input type="checkbox" checked=${names.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}</fieldset>
    <${OfLoops} key=${names.join("|")} names=${names} />
    <${OfBranches} />`;
}

const rowOf = (now, name) => now.loops.find((loop) => loop.name === name) ?? null;
const columnsOf = (now, name) => {
  const loop = rowOf(now, name);
  return loop && {residual: loop.residual, pending: loop.pending, iteration: loop.iteration, updates: loop.updates, prepares: loop.prepares};
};

function OfLoops({names}) {
  const lines = useLines("loops", names, columnsOf);
  const series = (column) => names.map((label) => ({label, values: lines.series[label]?.[column] ?? []}));
  const growing = (column) => names.map((label) => ({label, values: growthOf(lines.times, lines.series[label]?.[column])}));
  if (!names.length) return html`<${Empty}>Choose a loop.<//>`;
  return html`
    <${Panel} title="Residual of main loops" note="how much the last iteration changed, in powers of ten; the bottom is 0">
      <${Chart} label="Residual" times=${lines.times} series=${series("residual")} logs height=${260} />
    <//>
    <div class="cards">
      <${Panel} title="Vertices with work"><${Chart} label="Pending" times=${lines.times} series=${series("pending")} unit="vertices" /><//>
      <${Panel} title="Iterations"><${Chart} label="Iterations" times=${lines.times} series=${growing("iteration")} unit="/s" /><//>
      <${Panel} title="Updates"><${Chart} label="Updates" times=${lines.times} series=${growing("updates")} unit="/s" /><//>
      <${Panel} title="Prepares"><${Chart} label="Prepares" times=${lines.times} series=${growing("prepares")} unit="/s" /><//>
    </div>`;
}

function OfBranches() {
  const [lines, take] = useState({times: [], series: {}});
  useEffect(() => {
    let asked = 0;
    const look = () => {
      if (performance.now() - asked < 1000) return;
      asked = performance.now();
      ask("v1/observations/lines/branches").then(take).catch(() => {});
    };
    if (state.fixed) {
      take(state.fixed.lines.branches);
      return undefined;
    }
    look();
    return onBranches(look);
  }, []);
  const names = Object.keys(lines.series).slice(-MOST_BRANCHES);
  const first = Math.max(0, Math.min(...names.map((name) => lines.series[name].residual.findIndex((value) => value !== null)).filter((at) => at >= 0)));
  const times = lines.times.slice(first);
  return html`
    <${Panel} title="Residual of branches" note="the newest ${MOST_BRANCHES} that ran longer than a look takes">
      ${names.length ? html`<${Chart} label="Residual of branches" times=${times} series=${names.map((label) => ({label, values: lines.series[label].residual.slice(first)}))} logs height=${260} />`
        : html`<${Empty}>No branch has run for long enough to be seen.<//>`}
    <//>`;
}
