// An answer: what it is worth in words, what it is for, what it took, and its rows.
import {useEffect, useState} from "./vendor/hooks.js";
import {html} from "./html.js";
import {ask, keep} from "./service.js";
import {Graph} from "./graph.js";
import {Neighbours} from "./neighbours.js";
import {Badge, Fault, Table} from "./parts.js";
import {count, isNumber, plural, real, seconds} from "./words.js";

const ROWS = 100;
const STATES = {converged: "good", running: "work", queued: "work", deadline: "warn", cancelled: "off", failed: "bad"};

export const State = ({state}) => html`<${Badge} kind=${STATES[state] || "off"}>${state}<//>`;

// What a certificate promises, in a few words.
export function worth(certificate) {
  if (!certificate) return "no values";
  const checked = certificate.checked ? ", checked" : "";
  const order = certificate.order ? `, order ${certificate.order}` : "";
  switch (certificate.kind) {
    case "exact": return `exact${checked}`;
    case "bound": return `within ${real(certificate.bound)} (${certificate.norm})${order}${checked}`;
    case "gap": return `gap ${real(certificate.bound)}${checked}`;
    case "stationary": return `stationary${checked}`;
    default: return certificate.reason ? `none: ${certificate.reason}` : certificate.side ? `none; ${certificate.side} bounds` : "none: a look at what the loop has";
  }
}

// What a learner makes small, and the bound that proves how far it may be from the least.
function objective(certificate) {
  if (isNumber(certificate?.primal)) return `${real(certificate.primal)}${isNumber(certificate.dual) ? `, the least is at least ${real(certificate.dual)}` : ""}`;
  return isNumber(certificate?.inertia) ? `${real(certificate.inertia)} (inertia)` : null;
}

export const prefix = (offsets, version) => {
  const sources = Object.entries(offsets || {});
  const named = sources.slice(0, 3).map(([source, offset]) => `${source}: ${count(offset)}`).join(", ");
  return `version ${count(version)}${named ? ` · ${named}` : ""}${sources.length > 3 ? ` and ${sources.length - 3} more` : ""}`;
};

export function Summary({query}) {
  const snapshot = query.snapshot;
  return html`<dl class="facts">
    <div><dt>State</dt><dd><${State} state=${query.state} />${query.stopped_by ? html` <span class="note">stopped by ${query.stopped_by}</span>` : null}</dd></div>
    <div><dt>Worth</dt><dd>${worth(query.certificate)}</dd></div>
    ${objective(query.certificate) ? html`<div><dt>Objective</dt><dd>${objective(query.certificate)}</dd></div>` : null}
    <div><dt>Prefix</dt><dd>${snapshot ? prefix(snapshot.offsets, snapshot.version) : "–"}</dd></div>
    <div><dt>Latency</dt><dd>${seconds(query.elapsed_s)}</dd></div>
    <div><dt>Work</dt><dd>${plural(query.updates, "update")}, ${plural(query.prepares, "prepare")}, iteration ${count(query.iteration)}${query.start ? `, ${query.start} start` : ""}</dd></div>
  </dl>
  ${query.error ? html`<${Fault} error=${{message: query.error.detail, hint: query.error.hint}} />` : null}`;
}

// The rows of an answer, a table of the loop at a time and a page of it at a time. `first` is what came with the answer.
export function Rows({query, loop, first, selects}) {
  const tables = selects || !loop ? [] : loop.tables;
  const [table, choose] = useState(tables[0]?.name ?? null);
  const [pages, turn] = useState([null]);
  const [page, take] = useState(first ?? null);
  const [error, fail] = useState(null);
  useEffect(() => {
    const after = pages[pages.length - 1];
    const parameters = new URLSearchParams({ids: "string", limit: ROWS});
    if (after !== null) parameters.set("after", after);
    if (tables.length > 1) parameters.set("table", table);
    let gone = false;
    ask(`v1/queries/${query.id}/result?${parameters}`).then((found) => gone || (take(found), fail(null)), (problem) => gone || fail(problem));
    return () => { gone = true; };
  }, [query.id, table, pages.length]);
  if (error) return html`<${Fault} error=${error} />`;
  if (!page) return null;
  const rows = page.values ?? [];
  const columns = rows.length ? Object.keys(rows[0]) : [];
  return html`
    ${tables.length > 1 ? html`<fieldset class="choice"><legend>Table</legend>${tables.map((one) => html`<label><input type="radio" name="table" checked=${one.name === table} onChange=${() => { turn([null]); choose(one.name); }} /> ${one.name}</label>`)}</fieldset>` : null}
    ${page.unknown?.length ? html`<p class="note">Never seen: ${page.unknown.slice(0, 20).join(", ")}${page.unknown.length > 20 ? ` and ${page.unknown.length - 20} more` : ""}</p>` : null}
    ${page.paths ? html`<${Ways} paths=${page.paths} />` : null}
    ${page.predictions ? html`<${Table} label="Predictions" rows=${page.predictions} columns=${Object.keys(page.predictions[0] || {}).map((name) => ({title: name, number: true, of: (row) => cell(row[name])}))} />` : null}
    ${columns.length ? html`<${Table} label="Rows of the answer" rows=${rows} columns=${[
      ...columns.map((name) => ({title: name, number: rows.every((row) => typeof row[name] !== "string" || isWhole(row[name])), of: (row) => cell(row[name])})),
      ...(bars(rows, columns)),
    ]} />` : page.predictions ? null : html`<p class="empty">No rows.</p>`}
    ${rows[0]?.vertex !== undefined && loop?.edges ? html`<${Neighbours} key=${query.id} loop=${query.loop} first=${page.paths?.[0]?.vertex ?? rows[0].vertex} />` : null}
    <div class="pages">
      ${pages.length > 1 ? html`<button class="small" onClick=${() => turn(pages.slice(0, -1))}>Back</button>` : null}
      ${page.next !== null && page.next !== undefined ? html`<button class="small" onClick=${() => turn([...pages, page.next])}>More</button>` : null}
      <button class="small" onClick=${() => keep(`v1/queries/${query.id}/result`, `answer-${query.id}.json`).catch(fail)}>All as JSON</button>
    </div>`;
}

// The ways to vertices: each as a line of text, and all of them drawn.
function Ways({paths}) {
  const nodes = new Map();
  const edges = new Map();
  paths.forEach((path, row) => path.vertices.forEach((vertex, step) => {
    const isEnd = step === path.vertices.length - 1;
    const before = nodes.get(vertex);
    nodes.set(vertex, {label: vertex, x: before?.x ?? step, y: before?.y ?? -row, kind: step === 0 ? "begin" : isEnd || before?.kind === "end" ? "end" : before?.kind ?? "way"});
    if (step) edges.set(`${path.vertices[step - 1]} ${vertex}`, {from: path.vertices[step - 1], to: vertex, label: real(path.weights[step - 1])});
  }));
  return html`
    ${nodes.size > 1 ? html`<${Graph} label="Ways to ${plural(paths.length, "vertex", "vertices")}" nodes=${nodes} edges=${[...edges.values()]} />` : null}
    <${Table} label="Ways" rows=${paths} columns=${[
      {title: "To", of: (path) => path.vertex},
      {title: "Value", number: true, of: (path) => cell(path.value)},
      {title: "Edges", number: true, of: (path) => path.vertices.length ? count(path.vertices.length - 1) : "–"},
      {title: "Way", grows: true, of: (path) => path.vertices.length ? short(path.vertices).join(" → ") : "there is none"},
    ]} />`;
}

const short = (vertices) => vertices.length > 24 ? [...vertices.slice(0, 12), `(${vertices.length - 24} more)`, ...vertices.slice(-12)] : vertices;

const isWhole = (text) => /^-?\d+$/.test(text);

function cell(value) {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return value.slice(0, 12).map(cell).join(", ") + (value.length > 12 ? ", …" : "");
  return typeof value === "number" ? String(Number(value.toPrecision(12))) : String(value);
}

// The last column of numbers once more, as bars from zero: coefficients and ranks are compared at a glance.
function bars(rows, columns) {
  const name = columns[columns.length - 1];
  const known = rows.map((row) => row[name]).filter(isNumber);
  if (columns.length < 2 || known.length < 2) return [];
  const least = Math.min(0, ...known);
  const width = Math.max(0, ...known) - least || 1;
  const at = (value) => 100 * (value - least) / width;
  return [{title: "", of: (row) => isNumber(row[name]) ? html`<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    <rect class=${row[name] < 0 ? "below" : ""} x=${Math.min(at(0), at(row[name]))} width=${Math.max(0.6, Math.abs(at(row[name]) - at(0)))} height="10" /></svg>` : null}];
}
