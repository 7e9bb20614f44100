// What the page knows, in one place. Views ask with `useStore`; they are drawn again when something came, at most once a second.
import {useEffect, useReducer} from "./vendor/hooks.js";

const REDRAWN_EVERY_MS = 1000;
const RATE_OVER_S = 6;
const STANDS_STILL_S = 5;

export const state = {
  link: {is: "connecting"}, // how the connection is: connecting, live, lost, refused
  begins: 0, // how often the stream began: what could not be read before may be asked for again
  now: null, // the newest observation
  branches: [], // the newest of branches that run
  isOld: false, // whether the service has another page than this
  fixed: null, // of a report: all that it has; nothing comes
  standing: {}, // by loop: since when it has not moved although there is work
  waiting: {}, // the same by question, of branches that run
};
const report = document.getElementById("report");
if (report) {
  state.fixed = JSON.parse(report.textContent);
  state.now = state.fixed.now;
  state.branches = state.now.branches;
  state.link = {is: "fixed"};
}
const listeners = new Set();
const seen = []; // observations of the last seconds
let due = null;
let drawn = 0;

export function changed({atOnce = false} = {}) {
  if (due !== null && !atOnce) return;
  clearTimeout(due);
  const wait = atOnce ? 0 : Math.max(0, drawn + REDRAWN_EVERY_MS - performance.now());
  due = setTimeout(() => {
    due = null;
    drawn = performance.now();
    for (const listener of [...listeners]) listener();
  }, wait);
}

export function useStore() {
  const [, redraw] = useReducer((times) => times + 1, 0);
  useEffect(() => {
    listeners.add(redraw);
    return () => listeners.delete(redraw);
  }, []);
  return state;
}

export function observed(now) {
  const before = state.now;
  state.now = now;
  state.branches = now.branches;
  seen.push(now);
  while (seen.length > 2 && seen[1].time < now.time - RATE_OVER_S) seen.shift();
  noteStanding(before, now);
  changed();
}

// How fast a count of a stream or loop grows, a second; null where that is not known yet.
export function growth(kind, name, key) {
  if (state.fixed) return ended(state.fixed.lines[kind], name, key);
  const newest = seen[seen.length - 1];
  const oldest = seen[0];
  if (!newest || newest.time <= oldest.time) return null;
  const of = (one) => one[kind].find((each) => each.name === name)?.[key];
  const [last, first] = [of(newest), of(oldest)];
  if (typeof last !== "number" || typeof first !== "number" || last < first) return null;
  return (last - first) / (newest.time - oldest.time);
}

// The same of a report, from the end of its lines.
function ended({times, series}, name, key) {
  const values = series[name]?.[key];
  const last = times.length - 1;
  const first = times.findIndex((time) => time >= times[last] - RATE_OVER_S * 2);
  if (!values || first >= last || values[first] === null || !(values[last] >= values[first])) return null;
  return (values[last] - values[first]) / (times[last] - times[first]);
}

// A loop stands still that has work to do and whose counts do not change.
function noteStanding(before, now) {
  const standing = {};
  for (const loop of now.loops) {
    const stream = now.streams.find((one) => one.name === loop.stream);
    const waiting = (loop.pending || 0) + ((stream && stream.not_propagated) || 0);
    const earlier = before && before.loops.find((one) => one.name === loop.name);
    const moved = !earlier || ["updates", "iteration", "prepares", "version", "pending"].some((key) => earlier[key] !== loop[key])
      || earlier.state !== loop.state && loop.state === "running";
    if ((waiting || loop.state !== "running") && !moved) standing[loop.name] = state.standing[loop.name] ?? before.time;
  }
  state.standing = standing;
  const waiting = {};
  for (const branch of now.branches) {
    const earlier = before && before.branches.find((one) => one.id === branch.id);
    const moved = !earlier || ["updates", "iteration", "prepares", "residual"].some((key) => earlier[key] !== branch[key]);
    if (!moved) waiting[branch.id] = state.waiting[branch.id] ?? before.time;
  }
  state.waiting = waiting;
}

// Since when a branch has not moved; null while it does.
export function standsSince(branch) {
  const since = state.waiting[branch.id];
  return since === undefined || state.now.time - since < STANDS_STILL_S ? null : since;
}

// Who keeps a loop from going on, in words; null while it moves.
export function holder(loop) {
  const since = state.standing[loop.name];
  if (since === undefined || state.now.time - since < STANDS_STILL_S) return null;
  const stream = state.now.streams.find((one) => one.name === loop.stream);
  if (loop.state !== "running") return {since, who: loop.error || "its workers do not answer"};
  const held = loop.workers.map((worker, index) => ({
    index, pending: worker.pending, waiting: stream ? stream.waiting[index] || 0 : 0, iteration: worker.iteration,
  })).filter((worker) => worker.pending || worker.waiting);
  held.sort((one, other) => one.iteration - other.iteration || other.waiting - one.waiting);
  if (!held.length) return {since, who: "messages between workers that have not arrived"};
  const [first] = held;
  const what = [first.waiting && `${first.waiting} records to apply`, first.pending && `${first.pending} vertices with work`].filter(Boolean);
  return {since, who: `worker ${first.index}, at iteration ${first.iteration}, with ${what.join(" and ")}`};
}
