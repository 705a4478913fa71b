// A gateway, an application that is not idempotent, and a wire between client and gateway that can be cut.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/// Awaits `condition()` to become true, asking often; fails after `ms`.
export async function until(condition, ms = 10_000, what = "condition") {
  const end = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`${what} did not come about in ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/// The application: `answer(count, body, request)` says what its n-th effect answers, and may take its time.
export async function application(answer) {
  const effects = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    effects.push({ body, headers: request.headers, url: request.url });
    const said = await answer(effects.length, body, request);
    response.writeHead(said.status ?? 200, { "content-type": "application/json", ...said.headers });
    response.end(JSON.stringify(said.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: server.address().port,
    effects,
    stop: () => new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    }),
  };
}

const givenPorts = new Set();

/// Each is given out once: the kernel may take one again that was just let go.
export async function freePort() {
  const probe = net.createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (givenPorts.has(port)) return freePort();
  givenPorts.add(port);
  return port;
}

/// `callonce serve` before `app`, on a SQLite file of its own.
export async function gateway(app, settings = "") {
  const folder = await mkdtemp(path.join(tmpdir(), "callonce-clients-"));
  const [port, admin] = [await freePort(), await freePort()];
  const config = path.join(folder, "callonce.toml");
  await writeFile(config, `
listen = "127.0.0.1:${port}"
upstream = "http://127.0.0.1:${app.port}"
admin = "127.0.0.1:${admin}"
[store]
url = "sqlite:${folder}/callonce.db"
[scope]
from = "header:Authorization"
[defaults]
key = "optional"
lease = "3s"
timeout = "2500ms"
${settings}
`);
  const child = spawn(process.env.CALLONCE, ["serve", "--config", config], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => { output += text; });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the gateway ended: ${output}`);
    return fetch(`http://127.0.0.1:${admin}/readyz`).then((r) => r.ok, () => false);
  }, 10_000, "a ready gateway");
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
      await rm(folder, { recursive: true });
    },
  };
}

/// A wire to `port` that drops its first `losses` answers: the bytes come back, the client never sees them.
export async function lossyWire(port, losses) {
  let left = losses;
  const server = net.createServer((client) => {
    const behind = net.connect(port, "127.0.0.1");
    client.on("error", () => behind.destroy());
    behind.on("error", () => client.destroy());
    client.pipe(behind);
    behind.on("data", (bytes) => {
      if (left > 0) {
        left -= 1;
        client.resetAndDestroy();
        behind.destroy();
      } else {
        client.write(bytes);
      }
    });
    behind.on("end", () => client.end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, stop: () => new Promise((done) => server.close(done)) };
}

/// Stops what a test started, in reverse order, whatever became of the test.
export function cleaner(context) {
  const started = [];
  context.after(async () => {
    for (const each of started.reverse()) await each.stop();
  });
  return (each) => (started.push(each), each);
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
