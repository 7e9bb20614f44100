// Workers: how the work is shared, and each on one time line, which stays after it is gone.
import {useEffect, useReducer, useRef} from "./vendor/hooks.js";
import {html} from "./html.js";
import {state, useStore} from "./store.js";
import {ask} from "./service.js";
import {growthOf} from "./lines.js";
import {Badge, Empty, Figure, Panel, Table} from "./parts.js";
import {bytes, count, isNumber, plural, rate, seconds, time} from "./words.js";

const FETCHED_EVERY_MS = 4000;
const WIDTH = 1000;
const LANE = 34;
const NOTHING = {times: [], series: {}};

export function Workers() {
  const {now} = useStore();
  const [, redraw] = useReducer((times) => times + 1, 0);
  const lines = useRef({workers: NOTHING, use: NOTHING});
  useEffect(() => {
    if (state.fixed) {
      lines.current = state.fixed.lines;
      redraw();
      return undefined;
    }
    const look = () => Promise.all(["workers", "use"].map((kind) => ask(`v1/observations/lines/${kind}`))).then(([workers, use]) => {
      lines.current = {workers, use};
      redraw();
    }).catch(() => {});
    look();
    const timer = setInterval(() => document.hidden || look(), FETCHED_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  if (!now) return html`<${Empty}>The first observation has not come yet.<//>`;
  const restarts = Math.max(0, ...now.loops.map((loop) => loop.restarts || 0));
  const most = Math.max(0, ...now.streams.map((stream) => stream.applied.length));
  return html`
    <dl class="figures">
      <${Figure} label="Workers" value=${count(most)} note="share all streams" />
      <${Figure} label="Replaced" value=${count(restarts)} note=${restarts ? "times, since some were lost or moved" : "never lost"} kind=${restarts ? "bad" : ""} />
      <${Figure} label="To apply" value=${count(now.streams.reduce((sum, one) => sum + one.waiting.reduce((a, b) => a + b, 0), 0))} note="records that wait for a worker" />
    </dl>
    ${now.workers.length ? html`<${Use} now=${now} lines=${lines.current.use} />` : null}
    ${now.streams.map((stream) => html`<${OfStream} key=${stream.name} stream=${stream} lines=${lines.current.workers} now=${now} />`)}`;
}

// What each worker does with its time: the share of a core that it has, of the rest what it waits for others, and what it sends them.
function Use({now, lines}) {
  const lanes = lanesOf(lines, "", (columns) => ({speeds: growthOf(lines.times, columns.busy_s), waits: growthOf(lines.times, columns.waited_s), sent: growthOf(lines.times, columns.sent_bytes)}));
  const newest = Math.max(0, ...lanes.map((lane) => lane.set));
  const lastOf = (worker, column) => lanes.find((lane) => lane.worker === worker && lane.set === newest)?.[column].filter((one) => one !== null).pop() ?? null;
  const share = (value) => isNumber(value) ? `${Math.round(100 * value)} %` : "–";
  const rows = now.workers.map((use, worker) => ({...use, worker, busy: lastOf(worker, "speeds"), waits: lastOf(worker, "waits"), sent: lastOf(worker, "sent")}));
  const idle = ({busy, waits}) => isNumber(busy) && isNumber(waits) ? Math.max(0, 1 - busy - waits) : null;
  return html`
    <${Panel} title="Busy, waiting, idle" note="shares of the time: on a core, for others, with nothing to do">
      ${lanes.length && lines.times.length > 1 ? html`<${TimeLine} lanes=${lanes} times=${lines.times} newest=${newest} what="busy, and dashed above it waiting for others" speak=${share} />` : html`<${Empty}>The time line begins with the next observations.<//>`}
      <${Table} label="What workers cost" keyOf=${(row) => row.worker} rows=${rows} columns=${[
        {title: "Worker", of: (row) => row.worker},
        {title: "Busy", number: true, of: (row) => share(row.busy)},
        {title: "Waiting", number: true, of: (row) => share(row.waits)},
        {title: "Idle", number: true, of: (row) => share(idle(row))},
        {title: "Time of a core", number: true, of: (row) => seconds(row.busy_s)},
        {title: "Waited in all", number: true, of: (row) => seconds(row.waited_s)},
        {title: "Sent to others/s", number: true, of: (row) => bytes(row.sent)},
        {title: "Sent in all", number: true, of: (row) => row.sent_bytes === null ? "shares memory" : bytes(row.sent_bytes)},
      ]} />
    <//>`;
}

// Names are STREAM/WORKER/LOSSES, of what is of no stream WORKER/LOSSES; a stream may have a slash.
function lanesOf(lines, stream, columnsOf) {
  const found = [];
  for (const [name, columns] of Object.entries(lines.series)) {
    const cut = name.split("/");
    const [worker, set] = cut.splice(-2).map(Number);
    if (cut.join("/") !== stream) continue;
    const [values] = Object.values(columns);
    const seen = values.map((value, place) => value === null ? -1 : place).filter((place) => place >= 0);
    found.push({worker, set, first: seen[0], last: seen[seen.length - 1], ...columnsOf(columns)});
  }
  return found.sort((one, other) => one.worker - other.worker || one.set - other.set);
}

function OfStream({stream, lines, now}) {
  const lanes = lanesOf(lines, stream.name, (columns) => ({speeds: growthOf(lines.times, columns.applied)}));
  const newest = Math.max(0, ...lanes.map((lane) => lane.set));
  const loops = now.loops.filter((loop) => loop.stream === stream.name);
  const rows = stream.applied.map((applied, worker) => ({
    worker, applied, waiting: stream.waiting[worker] || 0,
    pending: loops.reduce((sum, loop) => sum + (loop.workers[worker]?.pending || 0), 0),
    updates: loops.reduce((sum, loop) => sum + (loop.workers[worker]?.updates || 0), 0),
    speed: lanes.find((lane) => lane.worker === worker && lane.set === newest)?.speeds.filter((one) => one !== null).pop() ?? null,
  }));
  const total = rows.reduce((sum, row) => sum + row.applied, 0);
  return html`
    <${Panel} title=${stream.name} note="stream · ${plural(rows.length, "worker")}">
      ${lanes.length && lines.times.length > 1 ? html`<${TimeLine} lanes=${lanes} times=${lines.times} newest=${newest} what="records applied a second" speak=${rate} />` : html`<${Empty}>The time line begins with the next observations.<//>`}
      <${Table} label="Workers of ${stream.name}" keyOf=${(row) => row.worker} rows=${rows} columns=${[
        {title: "Worker", of: (row) => row.worker},
        {title: "State", of: (row) => row.waiting || row.pending ? html`<${Badge} kind="work">busy<//>` : html`<${Badge} kind="good">idle<//>`},
        {title: "Applied", number: true, of: (row) => count(row.applied)},
        {title: "Share", number: true, of: (row) => total ? `${Math.round(100 * row.applied / total)} %` : "–"},
        {title: "Records/s", number: true, of: (row) => rate(row.speed)},
        {title: "Waiting", number: true, of: (row) => count(row.waiting)},
        {title: "Vertices with work", number: true, of: (row) => count(row.pending)},
        {title: "Updates", number: true, of: (row) => count(row.updates)},
      ]} />
    <//>`;
}

function TimeLine({lanes, times, newest, what, least = 1, speak}) {
  const workers = [...new Set(lanes.map((lane) => lane.worker))];
  const begin = times[0];
  const length = Math.max(1e-9, times[times.length - 1] - begin);
  const x = (place) => (times[place] - begin) / length * WIDTH;
  const top = Math.max(least, ...lanes.flatMap((lane) => lane.speeds.filter((one) => one !== null)));
  const most = Math.max(0, ...lanes.flatMap((lane) => (lane.sent || []).filter(isNumber)));
  const sends = most ? `; line: sent to others, up to ${bytes(most)}/s` : "";
  const gone = lanes.filter((lane) => lane.set < newest);
  const said = workers.map((worker) => `worker ${worker}: ${plural(lanes.filter((lane) => lane.worker === worker).length, "process", "processes")} so far`).join(", ");
  return html`
    <div class="lanes">
      <ul aria-hidden="true">${workers.map((worker) => html`<li>${worker}</li>`)}</ul>
      <svg viewBox="0 0 ${WIDTH} ${workers.length * LANE}" preserveAspectRatio="none" role="img" aria-label="${what}${sends} over time; ${said}">
        ${lanes.map((lane) => {
          const base = (workers.indexOf(lane.worker) + 1) * LANE - 4;
          const y = (speed) => (base - speed / top * (LANE - 10)).toFixed(1);
          const points = lane.speeds.map((speed, place) => speed === null ? null : `${x(place).toFixed(1)},${y(speed)}`).filter(Boolean);
          const above = (lane.waits || []).map((wait, place) => wait === null || lane.speeds[place] === null ? null : [place, lane.speeds[place], Math.min(top, lane.speeds[place] + wait)]).filter(Boolean);
          const [from, to] = [x(lane.first), x(lane.last)];
          return html`<g class=${lane.set < newest ? "lane gone" : "lane"}>
            <line x1=${from} x2=${to} y1=${base} y2=${base} />
            ${points.length ? html`<polygon points="${points[0].split(",")[0]},${base} ${points.join(" ")} ${points[points.length - 1].split(",")[0]},${base}" />` : null}
            ${above.length ? html`<polygon class="waits" points="${above.map(([place, , high]) => `${x(place).toFixed(1)},${y(high)}`).join(" ")} ${above.reverse().map(([place, low]) => `${x(place).toFixed(1)},${y(low)}`).join(" ")}" />` : null}
            ${most ? html`<polyline points=${lane.sent.map((sent, place) => isNumber(sent) ? `${x(place).toFixed(1)},${(base - sent / most * (LANE - 10)).toFixed(1)}` : null).filter(Boolean).join(" ")} />` : null}
            ${lane.set < newest ? html`<line class="end" x1=${to} x2=${to} y1=${base - LANE + 8} y2=${base + 3} />` : null}
          </g>`;
        })}
      </svg>
      <div class="ends"><span>${time(begin)}</span><span>${what}, up to ${speak(top)}${sends}</span><span>${time(times[times.length - 1])}</span></div>
    </div>
    ${gone.length ? html`<p class="note">Gone: ${gone.map((lane) => `worker ${lane.worker} (${lane.set + 1}. set), last seen ${time(times[lane.last])}, after ${seconds(times[lane.last] - times[lane.first])}`).join("; ")}</p>` : null}`;
}
