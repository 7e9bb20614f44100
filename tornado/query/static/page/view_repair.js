// Repair: what removals took back, and what that cost.
import {html} from "./html.js";
import {growth, useStore} from "./store.js";
import {growthOf, useLines} from "./lines.js";
import {Chart} from "./chart.js";
import {Empty, Figure, Panel, Table} from "./parts.js";
import {count, rate, real} from "./words.js";

const MOST_LOOPS = 6;
const columnsOf = (now, name) => {
  const loop = now.loops.find((one) => one.name === name);
  return loop ? {waves: loop.waves, updates: loop.updates} : null;
};

export function Repair() {
  const {now} = useStore();
  if (!now) return html`<${Empty}>The first observation has not come yet.<//>`;
  const names = now.loops.filter((loop) => loop.waves).map((loop) => loop.name).slice(0, MOST_LOOPS);
  const sum = (key) => now.loops.reduce((total, loop) => total + (loop[key] || 0), 0);
  const left = now.streams.reduce((total, stream) => total + (stream.window ? Number(stream.window.left) : 0), 0);
  return html`
    <dl class="figures">
      <${Figure} label="Waves" value=${count(sum("waves"))} note="of invalidation, all loops" />
      <${Figure} label="Invalidations" value=${count(sum("invalidations"))} note="values taken back, to be found anew" />
      <${Figure} label="Missing removals" value=${count(sum("missing_removals"))} note="of edges that were not there" />
      <${Figure} label="Overtaken commits" value=${count(sum("overtaken"))} note="at the last allowed iteration" />
      <${Figure} label="Left a window" value=${count(left)} note="edges, by themselves" />
    </dl>
    ${names.length ? html`<${Waves} names=${names} key=${names.join("|")} />` : null}
    <${Panel} title="By loop" note="a wave takes back what a removed edge supported, then the loop computes it anew">
      <${Table} label="Repair by loop" keyOf=${(loop) => loop.name} rows=${now.loops} empty="No loop runs." columns=${[
        {title: "Loop", of: (loop) => loop.name},
        {title: "Program", of: (loop) => loop.program},
        {title: "Waves", number: true, of: (loop) => count(loop.waves)},
        {title: "Invalidations", number: true, of: (loop) => count(loop.invalidations)},
        {title: "A wave", number: true, of: (loop) => real(loop.waves ? loop.invalidations / loop.waves : null)},
        {title: "Waves/s", number: true, of: (loop) => rate(growth("loops", loop.name, "waves"))},
        {title: "Updates/s", number: true, of: (loop) => rate(growth("loops", loop.name, "updates"))},
        {title: "Updates a record", number: true, of: (loop) => real(perRecord(now, loop))},
        {title: "Missing removals", number: true, of: (loop) => count(loop.missing_removals)},
        {title: "Overtaken", number: true, of: (loop) => count(loop.overtaken)},
      ]} />
    <//>`;
}

// What a record that came in took of late, of either kind.
function perRecord(now, loop) {
  const taken = growth("streams", loop.stream, "admitted");
  const updates = growth("loops", loop.name, "updates");
  return taken > 0 && updates !== null ? updates / taken : null;
}

function Waves({names}) {
  const lines = useLines("loops", names, columnsOf);
  const growing = (column) => names.map((label) => ({label, values: growthOf(lines.times, lines.series[label]?.[column])}));
  return html`<div class="cards">
    <${Panel} title="Waves of invalidation"><${Chart} label="Waves" times=${lines.times} series=${growing("waves")} unit="/s" /><//>
    <${Panel} title="Updates beside them"><${Chart} label="Updates" times=${lines.times} series=${growing("updates")} unit="/s" /><//>
  </div>`;
}
