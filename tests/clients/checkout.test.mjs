// The checkout example behind the gateway, with its own configuration: what ACP and UCP demand of keys.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { freePort, until } from "./support.mjs";

const example = fileURLToPath(new URL("../../examples/agentic-checkout", import.meta.url));
let folder, shop, gateway, base, shopBase;
let keys = 0;
const freshKey = () => `key-${++keys}`;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "callonce-checkout-"));
  const [shopPort, port] = [await freePort(), await freePort()];
  shop = spawn(process.execPath, [path.join(example, "server.mjs"), String(shopPort)], { stdio: "ignore" });
  gateway = spawn(process.env.CALLONCE, ["serve", "--config", path.join(example, "callonce.toml")], {
    stdio: "ignore",
    env: { ...process.env, CHECKOUT_PORT: String(shopPort), CHECKOUT_GATEWAY_PORT: String(port),
      CHECKOUT_STORE: path.join(folder, "checkout.db") },
  });
  [base, shopBase] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${shopPort}`];
  for (const at of [shopBase, base]) {
    await until(() => fetch(`${at}/orders`).then((said) => said.ok, () => false), 20_000, at);
  }
});

after(async () => {
  for (const child of [gateway, shop]) {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  }
  await rm(folder, { recursive: true });
});

async function call(target, { key, body = "{}", method = "POST", agent = "agent-1", headers = {} } = {}) {
  const said = await fetch(base + target, {
    method,
    headers: { authorization: `Bearer ${agent}`, "content-type": "application/json",
      ...(key ? { "idempotency-key": key } : {}), ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await said.text();
  return { status: said.status, headers: said.headers, text, json: text ? JSON.parse(text) : null };
}

const cart = { items: [{ id: "item-1", quantity: 1 }, { id: "item-2", quantity: 2 }] };
const orders = async () => (await fetch(`${shopBase}/orders`)).json();

async function freshSession(contract = "acp") {
  const collection = contract === "acp" ? "checkout_sessions" : "checkout-sessions";
  const made = await call(`/${contract}/${collection}`, { key: freshKey(), body: cart });
  assert.equal(made.status, 201);
  return `/${contract}/${collection}/${made.json.id}`;
}

test("PA: every POST needs a key, and the refusal is ACP's own error object", async () => {
  for (const target of ["/acp/checkout_sessions", "/acp/checkout_sessions/cs_1", "/acp/checkout_sessions/cs_1/complete"]) {
    const said = await call(target, { body: cart });
    assert.equal(said.status, 400);
    assert.equal(said.json.type, "invalid_request");
    assert.equal(said.json.code, "idempotency_key_required");
    assert.equal(typeof said.json.message, "string");
  }
});

test("PA: an order is placed once, and the retry gets the same bytes", async () => {
  const session = await freshSession();
  const before = (await orders()).length;
  const key = freshKey();
  const first = await call(`${session}/complete`, { key });
  const again = await call(`${session}/complete`, { key });
  assert.equal(first.status, 200);
  assert.equal(again.status, first.status);
  assert.equal(again.text, first.text);
  assert.equal(first.headers.get("idempotent-replayed"), null);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(first.headers.get("idempotency-key"), key);
  assert.equal(again.headers.get("idempotency-key"), key);
  assert.equal((await orders()).length, before + 1);
});

test("PA: the same meaning is the same request, another one a conflict", async () => {
  const key = freshKey();
  const first = await call("/acp/checkout_sessions", { key, body: '{"items":[{"id":"item-1","quantity":1}]}' });
  const spelled = await call("/acp/checkout_sessions", { key, body: '{ "items": [ {"quantity": 1.0, "id": "item-1"} ] }' });
  assert.equal(spelled.text, first.text);
  for (const body of ['{"items":[{"id":"item-1","quantity":2}]}', '{"items":[{"id":"item-1","quantity":1}],"note":null}']) {
    const conflict = await call("/acp/checkout_sessions", { key, body });
    assert.equal(conflict.status, 422);
    assert.equal(conflict.json.code, "idempotency_conflict");
    assert.equal(conflict.headers.get("idempotency-key"), key);
  }
});

test("PA: the same key on another path is another request", async () => {
  const session = await freshSession();
  const key = freshKey();
  assert.equal((await call(session, { key, body: cart })).status, 200);
  const completed = await call(`${session}/complete`, { key, body: cart });
  assert.equal(completed.status, 200);
  assert.equal(completed.json.status, "completed");
  assert.equal(completed.headers.get("idempotent-replayed"), null);
});

test("PA: two agents with one key are two requests", async () => {
  const key = freshKey();
  const one = await call("/acp/checkout_sessions", { key, body: cart, agent: "agent-1" });
  const two = await call("/acp/checkout_sessions", { key, body: cart, agent: "agent-2" });
  assert.notEqual(one.json.id, two.json.id);
});

test("PA: ten taps at once are one order", async () => {
  const session = await freshSession();
  const before = (await orders()).length;
  const key = freshKey();
  const said = await Promise.all(Array.from({ length: 10 }, () => call(`${session}/complete`, { key })));
  for (const each of said) {
    assert.ok(each.status === 200 || (each.status === 409 && each.json.code === "idempotency_in_flight" &&
      each.headers.get("retry-after")), `${each.status} ${each.text}`);
  }
  assert.equal((await orders()).length, before + 1);
});

test("PU: state-changing requests are replayed, and another body is a 409", async () => {
  const session = await freshSession("ucp");
  const key = freshKey();
  const first = await call(session, { key, method: "PUT", body: cart });
  const again = await call(session, { key, method: "PUT", body: cart });
  assert.equal(first.status, 200);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  const spaced = await call(session, { key, method: "PUT", body: JSON.stringify(cart, null, 1) });
  assert.equal(spaced.status, 409);
  assert.equal((await call(session, { method: "PUT", body: cart })).status, 400);
});

test("PU: an order is placed once", async () => {
  const session = await freshSession("ucp");
  const before = (await orders()).length;
  const key = freshKey();
  const digest = { "content-digest": "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:" };
  const first = await call(`${session}/complete`, { key, headers: digest });
  assert.equal((await call(`${session}/complete`, { key, headers: digest })).text, first.text);
  assert.equal((await orders()).length, before + 1);
});
