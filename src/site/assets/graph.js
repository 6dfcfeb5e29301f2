// Draws the relations between the datasets. The page has them as a list too, so nothing is lost without this script.
"use strict";
(() => {
  const NODES_MAX = 1500;
  const WIDTH = 960, HEIGHT = 600, STEP = 60;
  const section = document.getElementById("graph");
  if (!section || typeof d3 === "undefined") return;
  const said = section.querySelector(".graph-said");

  const radius = (node) => 4 + Math.min(10, Math.log10(1 + node.size));

  // Datasets without a relation would only be dust around the others.
  const connected = ({ nodes, edges }) => {
    const ends = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
    return { edges: edges.map((edge) => ({ ...edge })), nodes: nodes.filter((node) => ends.has(node.id)).map((node) => ({ ...node })) };
  };

  const draw = ({ nodes, edges }) => {
    const box = d3.select(section.querySelector(".graph-box"));
    const svg = box.insert("svg", ":first-child")
      .attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`).attr("role", "group")
      .attr("aria-labelledby", "graph-title").attr("aria-describedby", "graph-help").attr("tabindex", 0);
    const plane = svg.append("g");
    const lines = plane.append("g").selectAll("line").data(edges).join("line").attr("class", "edge");
    lines.append("title").text((edge) => edge.label);
    const links = plane.append("g").selectAll("a").data(nodes).join("a")
      .attr("class", "node").attr("href", (node) => section.dataset.datasets + encodeURIComponent(node.slug));
    links.append("circle").attr("r", radius);
    links.append("title").text((node) => node.title);
    links.append("text").attr("x", (node) => radius(node) + 3).attr("y", 4).text((node) => node.title);

    const isNear = (node, other) => node === other
      || edges.some(({ source, target }) => (source === node && target === other) || (source === other && target === node));
    const point = (node) => {
      links.classed("faded", (other) => node && !isNear(node, other));
      lines.classed("near", ({ source, target }) => node && (source === node || target === node));
      said.textContent = node ? node.title : "";
    };
    for (const name of ["mouseenter", "focus"]) links.on(name, (_, node) => point(node));
    for (const name of ["mouseleave", "blur"]) links.on(name, () => point(null));

    const zoom = d3.zoom().scaleExtent([0.1, 8]).on("zoom", ({ transform }) => plane.attr("transform", transform));
    svg.call(zoom);
    const showAll = () => {
      const xs = nodes.map((node) => node.x), ys = nodes.map((node) => node.y);
      const [left, right, top, bottom] = [Math.min(...xs) - 40, Math.max(...xs) + 140, Math.min(...ys) - 40, Math.max(...ys) + 40];
      const scale = Math.min(2, WIDTH / (right - left), HEIGHT / (bottom - top));
      const middle = [WIDTH / 2 - scale * (left + right) / 2, HEIGHT / 2 - scale * (top + bottom) / 2];
      svg.call(zoom.transform, d3.zoomIdentity.translate(...middle).scale(scale));
    };
    const zoomBy = (factor) => (factor > 0 ? svg.call(zoom.scaleBy, factor) : showAll());
    for (const button of section.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => zoomBy(Number(button.dataset.zoom)));
    }
    const keys = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
    svg.on("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (keys[event.key]) svg.call(zoom.translateBy, ...keys[event.key]);
      else if (event.key === "+" || event.key === "-") zoomBy(event.key === "+" ? 1.5 : 0.6667);
      else if (event.key === "0") showAll();
      else return;
      event.preventDefault();
    });

    const place = () => {
      lines.attr("x1", (edge) => edge.source.x).attr("y1", (edge) => edge.source.y)
        .attr("x2", (edge) => edge.target.x).attr("y2", (edge) => edge.target.y);
      links.attr("transform", (node) => `translate(${node.x},${node.y})`);
    };
    const simulation = d3.forceSimulation(nodes)
      .force("link", d3.forceLink(edges).id((node) => node.id).distance(90))
      .force("charge", d3.forceManyBody().strength(-220).distanceMax(500))
      .force("collide", d3.forceCollide().radius((node) => radius(node) + 12))
      .force("x", d3.forceX(WIDTH / 2).strength(0.05))
      .force("y", d3.forceY(HEIGHT / 2).strength(0.08))
      .stop();
    // The layout is made at once: nothing moves unless the reader moves it.
    simulation.tick(nodes.length > 300 ? 120 : 300);
    place();
    showAll();
  };

  section.hidden = false;
  fetch(section.dataset.url)
    .then((answer) => { if (!answer.ok) throw new Error(answer.statusText); return answer.json(); })
    .then(({ data }) => connected(data))
    .then((graph) => { if (graph.nodes.length > NODES_MAX) said.textContent = section.dataset.tooLarge; else draw(graph); })
    .catch(() => { said.textContent = section.dataset.failed; });
})();
