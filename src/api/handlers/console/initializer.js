// The page may lie behind a path, so the server is where the page is and not where the document thinks it is.
window.addEventListener("load", async () => {
  const server = new URL("..", document.baseURI).href.replace(/\/$/, "");
  const answer = await fetch(`${server}/api/v1/openapi.json`);
  if (!answer.ok) {
    document.getElementById("swagger-ui").textContent = `openapi.json: HTTP ${answer.status}`;
    return;
  }
  const spec = await answer.json();
  spec.servers = [{ url: server }];
  window.ui = SwaggerUIBundle({
    spec,
    dom_id: "#swagger-ui",
    deepLinking: true,
    displayRequestDuration: true,
    filter: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
  });
});
