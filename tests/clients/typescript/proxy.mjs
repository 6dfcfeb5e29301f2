// A TCP proxy that cuts connections. Knows no HTTP.

import { connect, createServer } from "node:net";

/// Listens before the server of `url`. The n-th connection is cut after `cuts[n]` bytes of answers, those beyond the last cut never.
export async function cuttingProxy(t, url, cuts) {
  const { hostname, port } = new URL(url);
  let connections = 0;
  const sockets = new Set();
  const proxy = createServer((client) => {
    let left = cuts[connections] ?? Infinity;
    connections += 1;
    const server = connect(Number(port), hostname);
    const close = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", close);
      socket.on("close", close);
    }
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => {
      // Not faster than the client reads, or all of a long answer would lie in this proxy.
      if (!client.write(bytes.subarray(0, left))) server.pause();
      left -= bytes.length;
      if (left <= 0) client.end(() => close());
    });
    client.on("drain", () => server.resume());
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${proxy.address().port}`, connections: () => connections };
}
