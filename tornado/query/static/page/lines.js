// What was observed before the page was opened or while nobody saw it, fetched whenever the stream begins, and what has come since: one table of times and columns for each kind.
import {useEffect, useReducer, useRef} from "./vendor/hooks.js";
import {ask} from "./service.js";
import {state, useStore} from "./store.js";

const MOST_ROWS = 1500;

// Lines of the given names; `rowOf` says what an observation has of one: an object of columns, or null.
export function useLines(kind, names, rowOf) {
  const {begins} = useStore();
  const [, redraw] = useReducer((times) => times + 1, 0);
  const kept = useRef({key: null, times: [], series: {}});
  const key = names.join("\u0000");
  if (kept.current.key !== key) kept.current = {key, times: [], series: {}};
  const mine = kept.current;
  const fixed = state.fixed?.lines[kind];

  useEffect(() => {
    if (fixed) return;
    const query = names.map((name) => `names=${encodeURIComponent(name)}`).join("&");
    ask(`v1/observations/lines/${kind}?${query}`).then((found) => {
      // What came meanwhile stands behind it.
      const since = mine.times.findIndex((time) => time > (found.times[found.times.length - 1] ?? 0));
      const late = since < 0 ? [] : mine.times.slice(since);
      const size = found.times.length;
      for (const [name, columns] of Object.entries(mine.series)) {
        found.series[name] ??= {};
        for (const [column, values] of Object.entries(columns)) {
          const before = found.series[name][column] ?? new Array(size).fill(null);
          found.series[name][column] = before.concat(since < 0 ? [] : values.slice(since));
        }
      }
      mine.times = found.times.concat(late);
      mine.series = found.series;
      redraw();
    }).catch(() => {}); // what comes from now on is shown all the same
  }, [kind, key, begins]);

  if (fixed) return fixed;
  const now = state.now;
  if (now && !(mine.times[mine.times.length - 1] >= now.time)) {
    const size = mine.times.push(now.time);
    const rows = Object.fromEntries(names.map((name) => [name, rowOf(now, name)]));
    for (const name of new Set([...names, ...Object.keys(mine.series)])) {
      const row = rows[name];
      const columns = mine.series[name] ??= {};
      for (const column of new Set([...Object.keys(columns), ...Object.keys(row || {})])) {
        columns[column] ??= new Array(size - 1).fill(null);
        columns[column].length = size - 1;
        columns[column].push(row?.[column] ?? null);
      }
    }
    if (size > MOST_ROWS) thin(mine);
  }
  return mine;
}

// Every second row of the older two thirds goes.
function thin(mine) {
  const old = Math.floor(mine.times.length * 2 / 3);
  const keep = (_, place) => place >= old || place % 2 === 0;
  mine.times = mine.times.filter(keep);
  for (const columns of Object.values(mine.series)) for (const [name, values] of Object.entries(columns)) columns[name] = values.filter(keep);
}

// From counts that only grow, how much a second; a count that falls began anew.
export function growthOf(times, values) {
  if (!values) return [];
  let known = null;
  return values.map((value, place) => {
    if (typeof value !== "number") return null;
    const before = known;
    known = [times[place], value];
    return before && value >= before[1] ? (value - before[1]) / (times[place] - before[0]) : null;
  });
}
