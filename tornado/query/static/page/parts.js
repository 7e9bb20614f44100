// Pieces that several views are made of.
import {html} from "./html.js";
import {count, seconds} from "./words.js";

// A sign, a word and a colour: none of them says it alone.
const SIGNS = {
  good: "●", work: "◐", warn: "▲", bad: "✕", off: "○",
};

export const Badge = ({kind, children}) => html`<span class="badge ${kind}"><span aria-hidden="true">${SIGNS[kind]}</span> ${children}</span>`;

export const Panel = ({title, note, actions, children, wide}) => html`
  <section class="panel ${wide ? "wide" : ""}">
    <header><h2>${title}</h2>${note ? html`<span class="note">${note}</span>` : null}${actions || null}</header>
    ${children}
  </section>`;

export const Figure = ({label, value, note, kind}) => html`
  <div class="figure ${kind || ""}"><dt>${label}</dt><dd>${value}${note ? html`<small>${note}</small>` : null}</dd></div>`;

export const Empty = ({children}) => html`<p class="empty">${children}</p>`;

// Columns: {title, of, number?, grows?}. Wide tables scroll by themselves, also by keyboard.
export const Table = ({label, columns, rows, keyOf, empty}) => rows.length === 0 && empty
  ? html`<${Empty}>${empty}<//>`
  : html`
  <div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.number ? "number" : ""}>${column.title}</th>`)}</tr></thead>
      <tbody>${rows.map((row, place) => html`<tr key=${keyOf ? keyOf(row) : place}>${columns.map((column, at) => at === 0
        ? html`<th scope="row" class=${column.number ? "number" : ""}>${column.of(row)}</th>`
        : html`<td class="${column.number ? "number" : ""} ${column.grows ? "grows" : ""}">${column.of(row)}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;

// Parts of one amount, as a bar with a legend that says the numbers: {label, amount, kind, said?}.
export function Split({label, parts}) {
  const known = parts.map((part) => Math.max(0, part.amount || 0));
  const total = known.reduce((sum, amount) => sum + amount, 0);
  return html`
    <div class="split">
      <div class="bar" role="img" aria-label="${label}: ${parts.map((part) => `${part.label} ${part.said ?? count(part.amount)}`).join(", ")}">
        ${total ? parts.map((part, place) => known[place] ? html`<span class="part ${part.kind}" style=${{flexGrow: known[place] / total}}></span>` : null)
          : html`<span class="part none" style=${{flexGrow: 1}}></span>`}
      </div>
      <ul>${parts.map((part) => html`<li><span class="swatch ${part.kind}" aria-hidden="true"></span>${part.label} <b>${part.said ?? count(part.amount)}</b></li>`)}</ul>
    </div>`;
}

export const Ago = ({since, now}) => seconds(Math.max(0, now - since));

export const Fault = ({error}) => error ? html`<div class="fault" role="alert"><b>${error.message}</b>${error.hint ? html` <span>${error.hint}</span>` : null}</div>` : null;
