// Now: whether each stream keeps up, how each loop stands, and which branches run.
import {useEffect, useState} from "./vendor/hooks.js";
import {worth} from "./answers.js";
import {html} from "./html.js";
import {growth, holder, standsSince, state, useStore} from "./store.js";
import {ask} from "./service.js";
import {Badge, Figure, Panel, Split, Table} from "./parts.js";
import {bytes, count, isNumber, plural, rate, real, seconds} from "./words.js";

const LOOKED_EVERY_MS = 5000;
const LOOP_STATES = {running: "good", unresponsive: "warn", failed: "bad"};
const SOURCE_STATES = {running: "good", ready: "off", finished: "off", stopped: "off", failed: "bad"};

export function Now() {
  const {now, branches} = useStore();
  if (!now) return html`<p class="empty">The first observation has not come yet.</p>`;
  return html`
    <${Totals} now=${now} />
    <div class="cards">${now.streams.map((stream) => html`<${Stream} key=${stream.name} stream=${stream} />`)}</div>
    <${Loops} now=${now} />
    ${state.fixed ? html`<${Panel} title="Frontiers" note="of loops that have work, and of branches: who keeps them from going on" wide><${Holders} of=${state.fixed.frontiers} /><//>` : null}
    <${Learning} loops=${now.loops.filter((loop) => loop.validation)} />
    <${Branches} branches=${branches} now=${now} />`;
}

function Totals({now}) {
  const behind = now.streams.reduce((sum, one) => sum + (one.not_read || 0) + (one.not_propagated || 0), 0);
  const failed = now.loops.filter((loop) => loop.state !== "running").length;
  const taken = now.streams.map((stream) => growth("streams", stream.name, "admitted"));
  const speed = taken.every((one) => one === null) ? null : taken.reduce((sum, one) => sum + (one || 0), 0);
  return html`
    <dl class="figures">
      <${Figure} label="Behind" value=${count(behind)} note="records" kind=${behind > 0 ? "work" : "good"} />
      <${Figure} label="Admitted" value=${rate(speed)} note="records/s" />
      <${Figure} label="Loops" value=${count(now.loops.length)} note=${failed ? `${failed} in trouble` : "all run"} kind=${failed ? "bad" : ""} />
      <${Figure} label="Branches" value=${count(now.queries.running)} note=${now.queries.waiting ? `${count(now.queries.waiting)} questions wait` : "nobody waits"} />
      <${Figure} label="Questions" value=${count(now.questions)} note="answered or ended" />
      <${Figure} label="Memory" value=${bytes(now.process.memory_bytes)} note="this process" />
    </dl>`;
}

function Stream({stream}) {
  const speed = growth("streams", stream.name, "admitted");
  const behind = (stream.not_read || 0) + (stream.not_propagated || 0) + stream.read_ahead_batches;
  const troubled = stream.sources.some((source) => source.last_error) || stream.not_logged;
  const badge = troubled ? html`<${Badge} kind="bad">trouble<//>` : behind ? html`<${Badge} kind="work">catching up<//>` : html`<${Badge} kind="good">up to date<//>`;
  return html`
    <section class="panel">
      <header><h2>${stream.name}</h2><span class="note">stream · ${plural(stream.loops.length, "loop")}</span>${badge}</header>
      <p class="headline"><b>${rate(speed)}</b> records/s <span class="note">${count(stream.admitted)} admitted · version ${count(stream.version)}</span></p>
      <${Split} label="behind" parts=${[
        {label: "not read", amount: stream.not_read, kind: "one", said: stream.not_read === null ? "unknown" : undefined},
        {label: "not admitted", amount: stream.read_ahead_batches, kind: "two", said: plural(stream.read_ahead_batches, "batch", "batches")},
        {label: "not propagated", amount: stream.not_propagated, kind: "three"},
      ]} />
      ${stream.not_logged ? html`<p class="fault"><b>Nothing is taken in:</b> ${stream.not_logged}</p>` : null}
      <${Table} label="Sources of ${stream.name}" keyOf=${(one) => one.name} rows=${stream.sources} empty="No source yet: nothing was pushed, and no file is read." columns=${[
        {title: "Source", of: (one) => one.name},
        {title: "State", of: (one) => html`<${Badge} kind=${one.last_error ? "warn" : SOURCE_STATES[one.state] || "off"}>${one.state}${one.last_error ? ", with an error" : ""}<//>`},
        {title: "Offset", number: true, of: (one) => count(one.offset)},
        {title: "Lag", number: true, of: (one) => count(one.lag_records)},
        {title: "Rows/s", number: true, of: (one) => rate(one.rows_per_s)},
        {title: "Rejected", number: true, of: (one) => count(one.rejected)},
      ]} />
      ${stream.sources.filter((one) => one.last_error).map((one) => html`<p class="fault"><b>${one.name}:</b> ${one.last_error}</p>`)}
      ${stream.sources_count > stream.sources.length ? html`<p class="note">and ${count(stream.sources_count - stream.sources.length)} more sources</p>` : null}
    </section>`;
}

function Loops({now}) {
  const held = now.loops.map((loop) => [loop, holder(loop)]).filter(([, who]) => who);
  return html`
    <${Panel} title="Loops" wide>
      ${held.map(([loop, who]) => html`<${Held} key=${loop.name} loop=${loop} who=${who} now=${now} />`)}
      <${Table} label="Loops" keyOf=${(loop) => loop.name} rows=${now.loops} empty="No loop runs." columns=${[
        {title: "Loop", of: (loop) => html`<a href="#residual/${encodeURIComponent(loop.name)}">${loop.name}</a>`},
        {title: "Program", of: (loop) => loop.program},
        {title: "State", of: (loop) => html`<${Badge} kind=${LOOP_STATES[loop.state]}>${loop.state}<//>${loop.age_s > 0 ? html` <span class="note">as of ${seconds(loop.age_s)} ago</span>` : null}`},
        {title: "Residual", number: true, of: (loop) => real(loop.residual)},
        {title: "Error", of: (loop) => loop.certifies && !state.fixed ? html`<${Wrong} loop=${loop.name} />` : "–"},
        {title: "Pending", number: true, of: (loop) => count(loop.pending)},
        {title: "Iteration by worker", number: true, of: (loop) => html`<${Iterations} loop=${loop} />`},
        {title: "Delay bound", number: true, of: (loop) => loop.delay_bound === null ? "none" : count(loop.delay_bound)},
        {title: "Updates/s", number: true, of: (loop) => rate(growth("loops", loop.name, "updates"))},
        {title: "Vertices", number: true, of: (loop) => count(loop.vertices)},
        {title: "Edges", number: true, of: (loop) => count(loop.edges)},
        {title: "Memory", number: true, of: (loop) => bytes(loop.memory_bytes)},
      ]} />
      ${now.loops.filter((loop) => loop.error).map((loop) => html`<p class="fault"><b>${loop.name}:</b> ${loop.error}</p>`)}
    <//>`;
}

// A loop that stands still.
function Held({loop, who, now}) {
  const asks = loop.state === "running" ? `v1/loops/${encodeURIComponent(loop.name)}/frontier` : null;
  return html`<${Still} asks=${asks} name=${loop.name} forS=${now.time - who.since} who=${` Held by ${who.who}.`} />`;
}

// What stands still: its workers are asked, while it does, who keeps its frontier from passing.
function Still({asks, name, forS, who = ""}) {
  const [found, take] = useState(null);
  useEffect(() => {
    if (!asks) return undefined;
    const look = () => ask(asks).then(take, () => take(null));
    look();
    const timer = setInterval(() => document.hidden || look(), LOOKED_EVERY_MS);
    return () => clearInterval(timer);
  }, [asks]);
  return html`
    <p class="fault warn" role="status"><b>${name} stands still</b> for ${seconds(forS)}.${who}${found && asks ? html` ${token(found)}` : null}</p>
    ${found && asks ? html`<${Holders} of=${[found]} />` : null}`;
}

const at = (timestamp) => timestamp ? timestamp.join("/") : "no timestamp";
const whose = (one) => one.worker === null ? "between workers" : `worker ${one.worker}`;

// The first who has something to do, or the first of all.
function token({waiting, timestamp, holders, not_begun: late = []}) {
  if (late.length) return `${late.map((worker) => `Worker ${worker}`).join(", ")} ${late.length > 1 ? "have" : "has"} not begun it.`;
  const first = holders.find((one) => one.records || one.vertices) ?? holders[0];
  if (!first) return "Nothing keeps its frontier.";
  return `Its frontier (${waiting}) is at ${at(timestamp)}; ${whose(first)} keeps it by a ${first.by} at ${first.port}, timestamp ${at(first.timestamp)}.`;
}

function Holders({of}) {
  const rows = of.flatMap((one) => one.holders.map((holder) => ({...holder, loop: one.query ? `${one.loop}, question ${one.query}` : one.loop, frontier: one.timestamp})));
  return html`<${Table} label="Frontiers" rows=${rows} empty="No loop has work: nothing is held back." columns=${[
    {title: "Loop", of: (row) => row.loop},
    {title: "Frontier", number: true, of: (row) => at(row.frontier)},
    {title: "Kept by", of: (row) => whose(row)},
    {title: "Operator", of: (row) => row.operator},
    {title: "By", of: (row) => row.count > 1 ? plural(row.count, row.by) : `a ${row.by}`},
    {title: "Timestamp", number: true, of: (row) => at(row.timestamp)},
    {title: "Holds it now", of: (row) => row.holds ? "yes" : "no"},
    {title: "To apply", number: true, of: (row) => count(row.records)},
    {title: "Vertices with work", number: true, of: (row) => count(row.vertices)},
  ]} />`;
}

// Points are predicted before they are learnt from: how well, of late and over all.
function Learning({loops}) {
  if (!loops.length) return null;
  const both = (loop, key, say) => html`${say(loop.validation[`recent_${key}`])} <span class="note">${say(loop.validation[key])}</span>`;
  const share = (value) => isNumber(value) ? `${(100 * value).toFixed(1)} %` : "–";
  return html`
    <${Panel} title="Learning" note="what was predicted of points before they were learnt from: of late, and over all" wide>
      <${Table} label="Learning" keyOf=${(loop) => loop.name} rows=${loops} columns=${[
        {title: "Loop", of: (loop) => loop.name},
        {title: "Points", number: true, of: (loop) => both(loop, "points", count)},
        {title: "Mean loss", number: true, of: (loop) => both(loop, "loss", real)},
        {title: "Right", number: true, of: (loop) => both(loop, "accuracy", share)},
        {title: "Mean error", number: true, of: (loop) => both(loop, "absolute_error", real)},
        {title: "Squared", number: true, of: (loop) => both(loop, "squared_error", real)},
      ]} />
    <//>`;
}

// How far what a loop has may be from exact: a certified question, asked when somebody wants to know.
function Wrong({loop}) {
  const [found, take] = useState(null);
  const look = () => ask("v1/queries?wait_s=5", {method: "POST", body: {loop, mode: "certified", top: 1}})
    .then((query) => take(worth(query.certificate)), (problem) => take(problem.message));
  return html`<button class="small" onClick=${look} aria-label="How wrong is ${loop} now?">${found ?? "How wrong?"}</button>`;
}

// The least iteration of all workers, and by how much each is beyond it.
function Iterations({loop}) {
  if (!loop.workers.length) return count(loop.iteration);
  const least = Math.min(...loop.workers.map((worker) => worker.iteration));
  return html`${count(least)} <span class="note">${loop.workers.map((worker) => `+${worker.iteration - least}`).join(" ")}</span>`;
}

function Branches({branches, now}) {
  const {queries} = now;
  const cancel = (id) => ask(`v1/queries/${id}`, {method: "DELETE"}).catch(() => {});
  return html`
    <${Panel} title="Branches that run" note=${queries.states ? `${plural(queries.states.converged || 0, "question")} converged so far` : ""} wide>
      ${state.fixed ? null : branches.map((one) => [one, standsSince(one)]).filter(([, since]) => since !== null).map(([one, since]) => html`<${Still} key=${one.id} asks=${`v1/queries/${one.id}/frontier`} name="Question ${one.id}" forS=${now.time - since} />`)}
      <${Table} label="Branches that run" keyOf=${(one) => one.id} rows=${branches} empty="None at the moment. A question forks one." columns=${[
        {title: "Question", of: (one) => html`<code>${one.id}</code>`},
        {title: "Loop", of: (one) => one.loop},
        {title: "For", number: true, of: (one) => seconds(one.elapsed_s)},
        {title: "Deadline", number: true, of: (one) => seconds(one.deadline_s)},
        {title: "Start", of: (one) => one.start || "–"},
        {title: "Iteration", number: true, of: (one) => count(one.iteration)},
        {title: "Updates", number: true, of: (one) => count(one.updates)},
        {title: "Residual", number: true, of: (one) => real(one.residual)},
        {title: "", of: (one) => state.fixed ? null : html`<button class="small" onClick=${() => cancel(one.id)} aria-label="Cancel question ${one.id}">Cancel</button>`},
      ]} />
    <//>`;
}
