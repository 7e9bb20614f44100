// What is around a vertex: drawn, and in words beside it.
import {useState} from "./vendor/hooks.js";
import {html} from "./html.js";
import {ask} from "./service.js";
import {Graph} from "./graph.js";
import {Fault, Table} from "./parts.js";
import {count, plural, real} from "./words.js";

const MOST = 50; // in each direction

export function Neighbours({loop, first}) {
  const [found, take] = useState(null);
  const [error, fail] = useState(null);
  const look = (event) => {
    event.preventDefault();
    const vertex = new FormData(event.currentTarget).get("vertex").trim();
    ask(`v1/loops/${encodeURIComponent(loop)}/neighbours?${new URLSearchParams({vertex, limit: MOST, ids: "string"})}`)
      .then((answer) => { take(answer); fail(null); }, (problem) => { take(null); fail(problem); });
  };
  return html`
    <form class="let-in" onSubmit=${look}><label>Around vertex <input name="vertex" defaultValue=${first} autocomplete="off" spellcheck="false" required /></label><button class="small">Draw it</button></form>
    <${Fault} error=${error} />
    ${found ? html`<${Drawn} found=${found} />` : null}`;
}

function Drawn({found: {vertex, known, out, into, edges_out: away, edges_into: coming}}) {
  if (!known) return html`<p class="note">Vertex ${vertex} was never seen.</p>`;
  const nodes = new Map([[vertex, {label: vertex, x: 0, y: 0, kind: "begin"}]]);
  // On a circle: from whom edges come on the left, to whom they lead on the right.
  for (const [ends, side] of [[into, Math.PI], [out, 0]]) {
    ends.forEach((end, place) => {
      const angle = side + Math.PI * ((place + 0.5) / ends.length - 0.5);
      if (!nodes.has(end.vertex)) nodes.set(end.vertex, {label: end.vertex, x: Math.cos(angle), y: Math.sin(angle), kind: "way"});
    });
  }
  const edges = [
    ...into.filter((end) => end.vertex !== vertex).map((end) => ({from: end.vertex, to: vertex, label: real(end.weight)})),
    ...out.map((end) => ({from: vertex, to: end.vertex, label: real(end.weight)})),
  ];
  const rows = [...into.map((end) => ({...end, how: "in"})), ...out.map((end) => ({...end, how: "out"}))];
  const shown = (some, all, words) => some.length < all ? `${count(some.length)} of ${plural(all, "edge")} ${words}` : `${plural(all, "edge")} ${words}`;
  return html`
    <p class="note">${shown(into, coming, "in")}, ${shown(out, away, "out")}, as they are now</p>
    ${edges.length ? html`<${Graph} key=${vertex} label="Around ${vertex}" nodes=${nodes} edges=${edges} />` : null}
    <${Table} label="Edges around ${vertex}" rows=${rows} empty="It has no edges." columns=${[
      {title: "Edge", of: (row) => row.how},
      {title: "Vertex", of: (row) => row.vertex},
      {title: "Weight", number: true, of: (row) => real(row.weight)},
    ]} />`;
}
