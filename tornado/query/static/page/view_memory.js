// Memory and store: what loops take, what answers take that are kept, and how far what is stored is behind.
import {html} from "./html.js";
import {useStore} from "./store.js";
import {useLines} from "./lines.js";
import {Chart} from "./chart.js";
import {Badge, Empty, Figure, Panel, Table} from "./parts.js";
import {bytes, count, seconds} from "./words.js";

const MOST_LOOPS = 6;
const columnsOf = (now, name) => {
  const loop = now.loops.find((one) => one.name === name);
  return loop ? {memory_bytes: loop.memory_bytes} : null;
};

export function Memory() {
  const {now} = useStore();
  if (!now) return html`<${Empty}>The first observation has not come yet.<//>`;
  const loops = [...now.loops].sort((one, other) => (other.memory_bytes || 0) - (one.memory_bytes || 0));
  const total = loops.reduce((sum, loop) => sum + (loop.memory_bytes || 0), 0);
  const greatest = Math.max(1, ...loops.map((loop) => loop.memory_bytes || 0));
  const names = loops.slice(0, MOST_LOOPS).map((loop) => loop.name).sort();
  return html`
    <dl class="figures">
      <${Figure} label="Loops" value=${bytes(total)} note="graph and state, all workers" />
      <${Figure} label="Answers kept" value=${bytes(now.queries.retained_bytes)} note="${count(now.queries.retained)} of them" />
      <${Figure} label="This process" value=${bytes(now.process.memory_bytes)} note="resident" />
    </dl>
    ${names.length ? html`<${Over} names=${names} key=${names.join("|")} />` : null}
    <${Panel} title="Store" note="what is durable, by stream">
      <${Table} label="Checkpoints by stream" keyOf=${(stream) => stream.name} rows=${now.streams} empty="No stream." columns=${[
        {title: "Stream", of: (stream) => stream.name},
        {title: "State", of: (stream) => stored(stream)},
        {title: "Version", number: true, of: (stream) => count(stream.version)},
        {title: "Stored up to", number: true, of: (stream) => count(stream.checkpoints?.version)},
        {title: "Memory", number: true, of: (stream) => bytes(loops.filter((loop) => loop.stream === stream.name).reduce((sum, loop) => sum + (loop.memory_bytes || 0), 0))},
        {title: "Base", number: true, of: (stream) => bytes(stream.stored?.base_bytes)},
        {title: "Log", number: true, of: (stream) => bytes(stream.stored?.log_bytes)},
        {title: "Log records", number: true, of: (stream) => count(stream.stored?.log_records)},
        {title: "Age", number: true, of: (stream) => seconds(stream.checkpoints?.age_s)},
        {title: "Took", number: true, of: (stream) => seconds(stream.checkpoints?.duration_s)},
        {title: "Stored", number: true, of: (stream) => count(stream.checkpoints?.stored)},
        {title: "Failed", number: true, of: (stream) => count(stream.checkpoints?.failed)},
      ]} />
      ${now.streams.filter((stream) => stream.checkpoints?.last_error || stream.not_logged).map((stream) => html`<p class="fault"><b>${stream.name}:</b> ${stream.not_logged || stream.checkpoints.last_error}</p>`)}
    <//>
    <${Panel} title="Loops" note="the largest first">
      <${Table} label="Memory by loop" keyOf=${(loop) => loop.name} rows=${loops} empty="No loop runs." columns=${[
        {title: "Loop", of: (loop) => loop.name},
        {title: "Memory", number: true, of: (loop) => bytes(loop.memory_bytes)},
        {title: "Share", of: (loop) => html`<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width=${100 * (loop.memory_bytes || 0) / greatest} height="10" /></svg>`},
        {title: "Vertices", number: true, of: (loop) => count(loop.vertices)},
        {title: "Edges", number: true, of: (loop) => count(loop.edges)},
        {title: "Stream", of: (loop) => loop.stream},
      ]} />
    <//>`;
}

function stored(stream) {
  if (stream.not_logged) return html`<${Badge} kind="bad">nothing is taken in<//>`;
  if (!stream.checkpoints) return html`<${Badge} kind="off">no checkpoints<//>`;
  return stream.checkpoints.last_error ? html`<${Badge} kind="bad">the last failed<//>` : html`<${Badge} kind="good">stored<//>`;
}

function Over({names}) {
  const lines = useLines("loops", names, columnsOf);
  const series = names.map((label) => ({label, values: (lines.series[label]?.memory_bytes ?? []).map((value) => value === null ? null : value / 1e6)}));
  return html`<${Panel} title="Memory over time" note="the largest loops"><${Chart} label="Memory" times=${lines.times} series=${series} unit="MB" /><//>`;
}
