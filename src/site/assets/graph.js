// Draws the relations between the datasets. The page has them as a list too, so nothing is lost without this script.
"use strict";
(() => {
  const NODES_MAX = 1500;
  const STEP = 60, GAP = 3, MARGIN = 24, TOP = 64;
  const section = document.getElementById("graph");
  if (!section || typeof d3 === "undefined") return;
  const said = section.querySelector(".graph-said");

  const extent = (nodes, axis) => nodes.reduce(([least, most], node) => [Math.min(least, node[axis]), Math.max(most, node[axis])], [Infinity, -Infinity]);
  const radius = (node) => 4 + Math.min(10, Math.log10(1 + node.size));

  // Datasets without a relation would only be dust around the others.
  const connected = ({ nodes, edges }) => {
    const ends = new Set(edges.flatMap((edge) => [edge.source, edge.target]));
    return { edges: edges.map((edge) => ({ ...edge })), nodes: nodes.filter((node) => ends.has(node.id)).map((node) => ({ ...node })) };
  };

  const draw = ({ nodes, edges }) => {
    const box = section.querySelector(".graph-box");
    const tools = box.querySelector(".graph-tools");
    const svg = d3.select(box).insert("svg", ":first-child").attr("role", "group")
      .attr("aria-labelledby", "graph-title").attr("aria-describedby", "graph-help").attr("tabindex", 0);
    let width, height;
    const measure = () => {
      ({ clientWidth: width, clientHeight: height } = svg.node());
      svg.attr("viewBox", `0 0 ${width} ${height}`);
    };
    measure();
    const plane = svg.append("g");
    const lines = plane.append("g").selectAll("line").data(edges).join("line").attr("class", "edge");
    lines.append("title").text((edge) => edge.label);
    const links = plane.append("g").selectAll("a").data(nodes).join("a")
      .attr("class", "node").attr("href", (node) => section.dataset.datasets + encodeURIComponent(node.slug));
    links.append("circle").attr("r", radius);
    links.append("title").text((node) => node.title);
    const labels = links.append("text").text((node) => node.title)
      .each(function (node) { node.label = this.getBBox(); });

    // Dots and labels keep their size at any zoom. A label stands where it covers no other label and no dot, the labels of
    // datasets with most relations first; where there is no such place, it is not shown.
    const byRelations = (one, other) => other.relations - one.relations;
    let pointed = null, at = d3.zoomIdentity;
    const label = () => {
      const { left, top } = box.getBoundingClientRect(), own = tools.getBoundingClientRect();
      const taken = [[own.left - left, own.top - top, own.right - left, own.bottom - top]];
      const seen = [];
      for (const node of nodes) {
        const [x, y] = at.apply([node.x, node.y]), r = radius(node);
        node.place = null;
        if (x < 0 || y < 0 || x > width || y > height) continue;
        seen.push({ node, x, y, r });
        taken.push([x - r, y - r, x + r, y + r]);
      }
      seen.sort((one, other) => (other.node === pointed) - (one.node === pointed) || byRelations(one.node, other.node));
      for (const { node, x, y, r } of seen) {
        const { width: w, height: h } = node.label;
        const places = [[r + GAP, -h / 2], [-r - GAP - w, -h / 2], [-w / 2, -r - GAP - h], [-w / 2, r + GAP]];
        node.place = places.find(([dx, dy]) => {
          const [x0, y0, x1, y1] = [x + dx - 1, y + dy - 1, x + dx + w + 1, y + dy + h + 1];
          if (x0 < 0 || y0 < 0 || x1 > width || y1 > height) return false;
          if (taken.some(([left, top, right, bottom]) => x0 < right && left < x1 && y0 < bottom && top < y1)) return false;
          taken.push([x0, y0, x1, y1]);
          return true;
        }) ?? null;
      }
      labels.attr("display", ({ place }) => (place ? null : "none"))
        .attr("x", ({ place }) => place?.[0]).attr("y", ({ place, label }) => place && place[1] - label.y);
    };

    const isNear = (node, other) => node === other
      || edges.some(({ source, target }) => (source === node && target === other) || (source === other && target === node));
    const point = (node) => {
      pointed = node;
      links.classed("faded", (other) => node && !isNear(node, other));
      lines.classed("near", ({ source, target }) => node && (source === node || target === node));
      said.textContent = node ? node.title : "";
      label();
    };
    for (const name of ["mouseenter", "focus"]) links.on(name, (_, node) => point(node));
    for (const name of ["mouseleave", "blur"]) links.on(name, () => point(null));

    const zoom = d3.zoom().scaleExtent([0.1, 8]).on("zoom", ({ transform }) => {
      at = transform;
      plane.attr("transform", at);
      links.attr("transform", (node) => `translate(${node.x},${node.y}) scale(${1 / at.k})`);
      label();
    });
    svg.call(zoom);
    const showAll = () => {
      const [left, right] = extent(nodes, "x"), [top, bottom] = extent(nodes, "y");
      const room = [Math.max(1, width - 2 * MARGIN), Math.max(1, height - TOP - MARGIN)];
      const scale = Math.min(2, room[0] / Math.max(1, right - left), room[1] / Math.max(1, bottom - top));
      const middle = [width / 2 - scale * (left + right) / 2, (height + TOP - MARGIN) / 2 - scale * (top + bottom) / 2];
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

    // The layout is as wide as the screen lets it be, and is made at once: nothing moves unless the reader moves it.
    const shape = Math.sqrt(width / height);
    d3.forceSimulation(nodes)
      .force("link", d3.forceLink(edges).id((node) => node.id).distance(90))
      .force("charge", d3.forceManyBody().strength(-220).distanceMax(500))
      .force("collide", d3.forceCollide().radius((node) => radius(node) + 12))
      .force("x", d3.forceX().strength(0.06 / shape))
      .force("y", d3.forceY().strength(0.06 * shape))
      .stop()
      .tick(nodes.length > 300 ? 120 : 300);
    for (const { source, target } of edges) for (const end of [source, target]) end.relations = (end.relations ?? 0) + 1;
    lines.attr("x1", (edge) => edge.source.x).attr("y1", (edge) => edge.source.y)
      .attr("x2", (edge) => edge.target.x).attr("y2", (edge) => edge.target.y);
    showAll();
    window.addEventListener("resize", () => { measure(); showAll(); });
  };

  section.hidden = false;
  fetch(section.dataset.url)
    .then((answer) => { if (!answer.ok) throw new Error(answer.statusText); return answer.json(); })
    .then(({ data }) => connected(data))
    .then((graph) => { if (graph.nodes.length > NODES_MAX) said.textContent = section.dataset.tooLarge; else draw(graph); })
    .catch(() => { said.textContent = section.dataset.failed; });
})();
