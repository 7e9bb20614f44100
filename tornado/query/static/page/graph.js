// A small graph, drawn by sigma, which is loaded when the first graph is. Who does not see it reads the table beside it.
import {useEffect, useRef, useState} from "./vendor/hooks.js";
import {html} from "./html.js";
import {load} from "./chart.js";
import {plural} from "./words.js";

const MOST_NODES = 3000;
const LABELLED_EDGES = 200;
const COLOURS = {begin: "--line-2", end: "--line-1", way: "--soft"};
const SIZES = {begin: 9, end: 9, way: 5};
let loading = null;

const library = () => {
  loading ??= load("vendor/graphology.js").then(() => load("vendor/sigma.js"));
  return loading;
};

// `nodes` is a map of {label, x, y, kind}, `edges` a list of {from, to, label}.
export function Graph({label, nodes, edges}) {
  const box = useRef(null);
  const [failure, fail] = useState(null);
  useEffect(() => {
    let drawn = null;
    let gone = false;
    const draw = () => {
      drawn?.kill();
      if (box.current) drawn = make(box.current, nodes, edges);
    };
    if (nodes.size <= MOST_NODES) {
      library().then(() => {
        if (gone) return;
        draw();
        addEventListener("themechange", draw);
      }).catch((error) => fail(error.message));
    }
    return () => {
      gone = true;
      removeEventListener("themechange", draw);
      drawn?.kill();
    };
  }, [nodes.size, edges.length, label]);
  if (nodes.size > MOST_NODES) return html`<p class="note">${plural(nodes.size, "vertex", "vertices")} are too many to draw.</p>`;
  if (failure) return html`<p class="note">It cannot be drawn here: ${failure}</p>`;
  return html`<div class="graph" ref=${box} role="img" aria-label="${label}: ${plural(nodes.size, "vertex", "vertices")} and ${plural(edges.length, "edge")}; the table below has them in words"></div>`;
}

function make(node, nodes, edges) {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const graph = new graphology.MultiDirectedGraph();
  for (const [name, one] of nodes) graph.addNode(name, {x: one.x, y: one.y, label: String(one.label), size: SIZES[one.kind], color: colour(COLOURS[one.kind])});
  for (const edge of edges) graph.addEdge(edge.from, edge.to, {label: edge.label, size: 3, color: colour("--off"), type: "arrow"});
  const plain = {color: colour("--ink")};
  return new Sigma(graph, node, {
    renderEdgeLabels: edges.length <= LABELLED_EDGES, labelColor: plain, edgeLabelColor: {color: colour("--soft")}, labelFont: "system-ui, sans-serif",
    labelSize: 14, edgeLabelSize: 12, labelRenderedSizeThreshold: 4, stagePadding: 45, allowInvalidContainer: true,
    // Above the vertex, not on the edge that leaves it.
    defaultDrawNodeLabel: (context, one, settings) => {
      if (!one.label) return;
      context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
      context.fillStyle = plain.color;
      context.textAlign = "center";
      context.fillText(one.label, one.x, one.y - one.size - 5);
      context.textAlign = "start";
    },
    // Sigma's own draws a white card under the label, which nobody could read in the dark.
    defaultDrawNodeHover: () => {},
  });
}
