// The rerunnable example: the code runs twice, the provider charges once.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { cleaner, freePort, until } from "./support.mjs";

const example = fileURLToPath(new URL("../../examples/provider", import.meta.url));

function program(words, env = {}) {
  const child = spawn(words[0], words.slice(1), { stdio: "ignore", env: { ...process.env, ...env } });
  return {
    child,
    stop: async (signal = "SIGKILL") => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, "exit");
    },
  };
}

const answers = (url) => fetch(url).then(() => true, () => false);

/// Between shop and provider: passes requests on at once, and holds the answers back while `closed`.
async function slowDoor(to) {
  const door = { closed: false, passed: 0 };
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { host, connection, ...headers } = request.headers;
    const said = await fetch(`${to}${request.url}`,
      { method: request.method, headers, body: chunks.length ? Buffer.concat(chunks) : undefined });
    const body = await said.text();
    door.passed += 1;
    await until(() => !door.closed, 30_000, "an open door");
    response.writeHead(said.status, { "content-type": "application/json" });
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  door.url = `http://127.0.0.1:${server.address().port}`;
  door.stop = () => new Promise((done) => { server.closeAllConnections(); server.close(done); });
  return door;
}

test("K8, L-18: a shop that dies after the charge runs again, and the provider charges once", async (t) => {
  const clean = cleaner(t);
  const folder = await mkdtemp(path.join(tmpdir(), "callonce-provider-"));
  const [providerPort, shopPort, port] = [await freePort(), await freePort(), await freePort()];
  const provider = `http://127.0.0.1:${providerPort}`;
  clean({ stop: () => rm(folder, { recursive: true }) });
  clean(program([process.execPath, path.join(example, "provider.mjs"), String(providerPort)]));
  await until(() => answers(`${provider}/charges`));
  const door = clean(await slowDoor(provider));
  const startShop = () =>
    clean(program([process.execPath, path.join(example, "shop.mjs"), String(shopPort), door.url]));
  const shop = startShop();
  await until(() => answers(`http://127.0.0.1:${shopPort}`));
  clean(program([process.env.CALLONCE, "serve", "--config", path.join(example, "callonce.toml")],
    { SHOP_PORT: String(shopPort), SHOP_GATEWAY_PORT: String(port), SHOP_STORE: `${folder}/shop.db` }));
  await until(() => answers(`http://127.0.0.1:${port}/none`));

  const pay = () => fetch(`http://127.0.0.1:${port}/v1/payments`, {
    method: "POST",
    headers: { "x-api-key": "anna", "idempotency-key": "first", "content-type": "application/json" },
    body: '{"amount":700}',
  });
  door.closed = true;
  const lost = pay();
  await until(() => door.passed === 1, 10_000, "a charge");
  await shop.stop();
  assert.equal((await lost).status, 502, "cut off: nobody knows, so the claim is kept");
  door.closed = false;
  startShop();

  let settled;
  await until(async () => {
    settled = await pay();
    return settled.status === 201;
  }, 20_000, "a settled payment");
  const answer = await settled.json();
  assert.equal(answer.attempt, 2);
  const again = await pay();
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.deepEqual(await again.json(), answer);
  const charges = await (await fetch(`${provider}/charges`)).json();
  assert.equal(charges.length, 1);
  assert.equal(charges[0].asked, 2, "the code ran twice under one key");
  assert.equal(charges[0].id, answer.charge);
});
