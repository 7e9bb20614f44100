// Questions: ask one, watch it, read the answer; and what was asked before.
import {useEffect, useRef, useState} from "./vendor/hooks.js";
import {html} from "./html.js";
import {state, useStore} from "./store.js";
import {ask} from "./service.js";
import {Rows, State, Summary, prefix, worth} from "./answers.js";
import {Empty, Fault, Panel} from "./parts.js";
import {count, plural, seconds, time} from "./words.js";

const WAIT_S = 10;

export function Questions() {
  const {now} = useStore();
  const [asked, take] = useState(null);
  if (!now) return html`<${Empty}>The first observation has not come yet.<//>`;
  if (state.fixed) return html`<${History} newest=${now.questions} loops=${now.loops} />`;
  return html`
    <div class="beside">
      <${Panel} title="Ask"><${Form} loops=${now.loops} onAsked=${take} /><//>
      ${asked ? html`<${Asked} key=${asked.id} query=${asked} />` : html`<${Panel} title="Answer"><${Empty}>Ask, or choose a question below. An exact one forks a branch, whose answer is for exactly what had come in before.<//><//>`}
    </div>
    <${History} newest=${now.questions} loops=${now.loops} onChosen=${take} />`;
}

function Form({loops, onAsked}) {
  const form = useRef(null);
  const {begins} = useStore();
  const [error, fail] = useState(null);
  const [waits, wait] = useState(false);
  useEffect(() => fail((before) => before?.status === 0 ? null : before), [begins]); // it can be reached again
  const send = async (event) => {
    event.preventDefault();
    const given = new FormData(form.current);
    fail(null);
    wait(true);
    try {
      const body = bodyOf(given);
      const query = await ask("v1/queries?ids=string", {method: "POST", body});
      delete form.current.dataset.touched;
      onAsked({...query, selects: Boolean(body.vertices || body.top || body.paths)});
    } catch (problem) {
      fail(problem);
    }
    wait(false);
  };
  return html`
    <form class="ask" ref=${form} onSubmit=${send} onInput=${() => { form.current.dataset.touched = ""; }}>
      <label>Loop <select name="loop">${loops.map((loop) => html`<option>${loop.name}</option>`)}</select></label>
      <label>How <select name="mode"><option value="exact">exact</option><option value="certified">certified, now</option><option value="approximate">approximate, now</option></select></label>
      <label class="long">Vertices <input name="vertices" placeholder="all; or 4, 5, 99" autocomplete="off" spellcheck="false" /></label>
      <label class="long">Ways to <input name="paths" placeholder="nowhere; or 4, 5" autocomplete="off" spellcheck="false" /></label>
      <label>Top <input name="top" type="number" min="1" placeholder="all" /></label>
      <label>Deadline in s <input name="deadline" type="number" min="0.001" step="any" value="30" /></label>
      <label class="long">Parameters <input name="parameters" placeholder="source=3, tolerance=1e-6" autocomplete="off" spellcheck="false" /></label>
      <label class="check"><input type="checkbox" name="check" /> have it checked</label>
      <button disabled=${waits || !loops.length}>${waits ? "Asking …" : "Ask"}</button>
    </form>
    <${Fault} error=${error} />`;
}

function bodyOf(given) {
  const body = {loop: given.get("loop"), mode: given.get("mode")};
  for (const name of ["vertices", "paths"]) {
    const named = given.get(name).split(",").map((one) => one.trim()).filter(Boolean);
    if (named.length) body[name] = named;
  }
  if (given.get("top")) body.top = Number(given.get("top"));
  if (given.get("deadline")) body.deadline_s = Number(given.get("deadline"));
  if (given.get("check")) body.check = true;
  const text = given.get("parameters").trim();
  if (text) body.parameters = text.startsWith("{") ? JSON.parse(text) : Object.fromEntries(text.split(",").map((pair) => {
    const [name, ...value] = pair.split("=");
    if (!value.length) throw Object.assign(new Error(`“${pair.trim()}” is no parameter.`), {hint: "Write them as name=value, separated by commas, or as JSON."});
    return [name.trim(), valueOf(value.join("=").trim())];
  }));
  return body;
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// A question under way is waited for; while it runs, what the service tells of its branch is shown.
function Asked({query: given}) {
  const store = useStore();
  const [query, take] = useState(given);
  const [loop, know] = useState(null);
  const [error, fail] = useState(null);
  const isOver = (one) => !["queued", "running"].includes(one.state);
  const isRead = useRef(false);
  useEffect(() => {
    if (isRead.current) return undefined;
    const stop = new AbortController();
    const follow = async () => {
      try {
        let found = await ask(`v1/queries/${given.id}`, {signal: stop.signal});
        while (!isOver(found)) found = await ask(`v1/queries/${given.id}?wait_s=${WAIT_S}&ids=string`, {signal: stop.signal});
        know(await ask(`v1/loops/${encodeURIComponent(found.loop)}`, {signal: stop.signal}).catch(() => null));
        take(found);
        fail(null);
        isRead.current = true;
      } catch (problem) {
        if (problem.name !== "AbortError") fail(problem);
      }
    };
    follow();
    return () => stop.abort();
  }, [given.id, store.begins]);
  const runs = store.branches.find((one) => one.id === query.id);
  const shown = isOver(query) ? query : {...query, ...runs};
  const hasRows = isOver(query) && query.certificate && loop;
  return html`
    <${Panel} title="Answer" note="${query.loop} · ${query.mode}" actions=${!isOver(query) ? html`<button class="small" onClick=${() => ask(`v1/queries/${query.id}`, {method: "DELETE"}).then(take, fail)}>Cancel</button>` : null}>
      <div role="status"><${Summary} query=${shown} /></div>
      <${Fault} error=${error} />
      ${hasRows ? html`<${Rows} query=${query} loop=${loop} selects=${given.selects} />` : null}
    <//>`;
}

const PAGE = 100;
const ROW_REM = 2.2;

// The newest are fetched when there are newer ones; older ones when they are scrolled to. Only rows that are seen are in the document.
function History({newest, loops, onChosen}) {
  const [rows, take] = useState(state.fixed?.questions ?? []);
  const [kept, keep] = useState(state.fixed ? rows.length : null);
  const [error, fail] = useState(null);
  const [filter, choose] = useState({loop: "", state: ""});
  const [scroll, move] = useState(0);
  const box = useRef(null);
  const busy = useRef(false);
  const query = (extra) => new URLSearchParams(Object.entries({limit: PAGE, ...filter, ...extra}).filter(([, value]) => value !== ""));
  useEffect(() => {
    if (state.fixed) return;
    ask(`v1/observations/questions?${query({})}`).then((found) => {
      keep(found.kept);
      fail(null);
      take((before) => {
        const first = found.questions[found.questions.length - 1]?.number ?? 0;
        // Where more have come than a page has, what lies between is fetched when it is scrolled to.
        const joins = before.length && before[0].number >= first;
        return joins ? [...found.questions, ...before.filter((row) => row.number < first)] : found.questions;
      });
    }).catch(fail);
  }, [newest, filter.loop, filter.state, state.begins]);
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize) * ROW_REM;
  const first = Math.max(0, Math.floor(scroll / size) - 5);
  const fits = state.fixed ? rows.filter((row) => (!filter.loop || row.loop === filter.loop) && (!filter.state || row.state === filter.state)) : rows;
  const shown = fits.slice(first, first + 40);
  const scrolled = (event) => {
    move(event.currentTarget.scrollTop);
    const last = rows[rows.length - 1];
    const isNear = event.currentTarget.scrollTop + event.currentTarget.clientHeight > (rows.length - 15) * size;
    if (!isNear || busy.current || !last || last.number <= 1 || state.fixed) return;
    busy.current = true;
    ask(`v1/observations/questions?${query({before: last.number})}`).then((found) => take((before) => [...before, ...found.questions.filter((row) => row.number < before[before.length - 1].number)]))
      .catch(() => {}).finally(() => { busy.current = false; });
  };
  const change = (key) => (event) => { if (!state.fixed) take([]); move(0); if (box.current) box.current.scrollTop = 0; choose({...filter, [key]: event.currentTarget.value}); };
  return html`
    <${Panel} title="History" note="${plural(newest, "question")} since the service began${kept === null ? "" : `; the last ${count(kept)} are kept`}">
      <div class="filters">
        <label>Loop <select onChange=${change("loop")}><option value="">all</option>${loops.map((loop) => html`<option>${loop.name}</option>`)}</select></label>
        <label>Ended <select onChange=${change("state")}><option value="">in any way</option>${["converged", "deadline", "cancelled", "failed"].map((name) => html`<option>${name}</option>`)}</select></label>
      </div>
      ${rows.length ? html`
      <div class="scroll tall" tabindex="0" role="region" aria-label="Questions that ended" ref=${box} onScroll=${scrolled}>
        <table aria-rowcount=${kept}>
          <thead><tr><th scope="col">Ended</th><th scope="col">Loop</th><th scope="col">Asked</th><th scope="col">State</th><th scope="col">Worth</th><th scope="col" class="number">Latency</th><th scope="col" class="number">Updates</th><th scope="col" class="number">Iteration</th><th scope="col">Prefix</th><th scope="col"><span class="hidden">Open</span></th></tr></thead>
          <tbody>
            <tr aria-hidden="true" class="space"><td colspan="10" style=${{height: `${first * size}px`}}></td></tr>
            ${shown.map((row) => html`<tr key=${row.number}>
              <th scope="row">${time(row.ended)}</th><td>${row.loop}</td><td>${askedFor(row)}</td><td><${State} state=${row.state} /></td><td>${worth(row.certificate)}</td>
              <td class="number">${seconds(row.elapsed_s)}</td><td class="number">${count(row.updates)}</td><td class="number">${count(row.iteration)}</td><td title=${row.error || ""}>${row.error ? row.error.slice(0, 60) : prefix(row.offsets, row.version)}</td>
              <td>${state.fixed ? null : html`<button class="small" onClick=${() => onChosen({...row, selects: row.vertices_count !== null || row.top !== null || row.paths_count !== null})} aria-label="Open question ${row.id}">Open</button>`}</td></tr>`)}
            <tr aria-hidden="true" class="space"><td colspan="10" style=${{height: `${Math.max(0, rows.length - first - shown.length) * size}px`}}></td></tr>
          </tbody>
        </table>
      </div>` : error ? html`<${Empty}>They could not be read. ${error.message} ${error.hint}<//>` : kept === null ? null : html`<${Empty}>No question has ended yet.<//>`}
    <//>`;
}

function askedFor(row) {
  const parts = [row.mode === "exact" ? "" : row.mode];
  if (row.vertices) parts.push(row.vertices_count > 3 ? plural(row.vertices_count, "vertex", "vertices") : row.vertices.join(", "));
  if (row.top) parts.push(`top ${row.top}`);
  if (row.paths_count) parts.push(`${row.paths_count === 1 ? "a way" : `${row.paths_count} ways`}`);
  if (!row.vertices && !row.top && !row.paths_count) parts.push("all vertices");
  parts.push(...Object.entries(row.parameters).map(([name, value]) => `${name}=${value}`));
  return parts.filter(Boolean).join(" · ");
}
