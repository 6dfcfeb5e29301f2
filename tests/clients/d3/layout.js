// Lays a graph of relations out with d3-force, as a page would, and checks that every node finds a place.
//
//     node layout.js graph.json
//
// graph.json holds `data` of GET /api/v1/datasets/relations/graph. Exit code 0 only if D3 accepts it without a change.

import { readFileSync } from "node:fs";
import { forceCenter, forceLink, forceManyBody, forceSimulation } from "d3-force";

const TICKS = 300;

function fail(message) {
  console.error(message);
  process.exit(1);
}

const { nodes, edges } = JSON.parse(readFileSync(process.argv[2], "utf8"));
if (!Array.isArray(nodes) || !Array.isArray(edges) || nodes.length === 0 || edges.length === 0) {
  fail("the graph has no nodes or no edges, so there is nothing to lay out");
}

// forceLink throws "node not found" for an edge that dangles.
const simulation = forceSimulation(nodes)
  .force("link", forceLink(edges).id((d) => d.id))
  .force("charge", forceManyBody())
  .force("center", forceCenter(0, 0))
  .stop();
simulation.tick(TICKS);

const lost = nodes.filter((node) => !Number.isFinite(node.x) || !Number.isFinite(node.y));
if (lost.length > 0) fail(`without a place: ${lost.map((node) => node.id).join(", ")}`);
const loose = edges.filter((edge) => typeof edge.source !== "object" || typeof edge.target !== "object");
if (loose.length > 0) fail(`${loose.length} edges are tied to no node`);
const places = new Set(nodes.map((node) => `${node.x.toFixed(3)},${node.y.toFixed(3)}`));
if (places.size !== nodes.length) fail("two datasets were put at the same place");
console.log(`D3 laid out ${nodes.length} datasets and ${edges.length} relations`);
