// Plain fetch, undici and curl.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test from "node:test";
import { promisify } from "node:util";
import { Agent, RetryAgent, request } from "undici";
import { application, cleaner, gateway, lossyWire, pause } from "./support.mjs";

const run = promisify(execFile);
const order = (count) => ({
  status: 201, headers: { location: `/v1/orders/${count}` }, body: { id: count },
});
const call = (key, body = { sku: "X1" }) => ({
  method: "POST",
  headers: {
    "authorization": "Bearer tok-a", "content-type": "application/json", "idempotency-key": key,
  },
  body: JSON.stringify(body),
});

async function started(context, answer = order, settings = "") {
  const keep = cleaner(context);
  const app = keep(await application(answer));
  return { keep, app, front: keep(await gateway(app, settings)) };
}

test("fetch: of a double tap one runs, the other is told and then replayed", async (context) => {
  const { app, front } = await started(context, async (n) => (await pause(500), order(n)));
  const tap = () => fetch(`${front.url}/v1/orders`, call("tap"));
  const answers = await Promise.all([tap(), tap()]);
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 409]);
  const told = answers.find((a) => a.status === 409);
  assert.equal((await told.json()).code, "idempotency_key_in_progress");
  await pause(Number(told.headers.get("retry-after")) * 1000);
  const again = await tap();
  assert.equal(again.status, 201);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(again.headers.get("location"), "/v1/orders/1");
  assert.equal(app.effects.length, 1);
});

test("fetch: with wait, both taps get the order", async (context) => {
  const { app, front } = await started(context, async (n) => (await pause(300), order(n)),
    'wait = "5s"');
  const tap = async () => (await fetch(`${front.url}/v1/orders`, call("waited"))).json();
  assert.deepEqual(await Promise.all([tap(), tap(), tap()]), [{ id: 1 }, { id: 1 }, { id: 1 }]);
  assert.equal(app.effects.length, 1);
});

test("fetch: an error that the request caused is replayed as it was", async (context) => {
  const { app, front } = await started(context, () => ({ status: 404, body: { why: "no sku" } }));
  for (const mark of [null, "true"]) {
    const answer = await fetch(`${front.url}/v1/orders`, call("missing"));
    assert.equal(answer.status, 404);
    assert.equal(answer.headers.get("idempotent-replayed"), mark);
    assert.deepEqual(await answer.json(), { why: "no sku" });
  }
  assert.equal(app.effects.length, 1);
});

test("fetch: a client that hangs up in mid-flight finds the answer when it comes back", async (context) => {
  const { app, front } = await started(context, async (n) => (await pause(600), order(n)));
  await assert.rejects(fetch(`${front.url}/v1/orders`,
    { ...call("gone"), signal: AbortSignal.timeout(200) }));
  await pause(800);
  const again = await fetch(`${front.url}/v1/orders`, call("gone"));
  assert.equal(again.status, 201);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(app.effects.length, 1);
});

test("undici: its retrying agent survives a dropped connection", async (context) => {
  const { keep, app, front } = await started(context);
  const wire = keep(await lossyWire(front.port, 1));
  const agent = new RetryAgent(new Agent(), { methods: ["POST"], maxRetries: 3, minTimeout: 50 });
  context.after(() => agent.close());
  const answer = await request(`http://127.0.0.1:${wire.port}/v1/orders`,
    { ...call("dropped"), dispatcher: agent });
  assert.equal(answer.statusCode, 201);
  assert.equal(answer.headers["idempotent-replayed"], "true");
  assert.deepEqual(await answer.body.json(), { id: 1 });
  assert.equal(app.effects.length, 1);
});

test("curl: the same line twice is one order, and a changed line is refused", async (context) => {
  const { app, front } = await started(context);
  const curl = async (data) => (await run("curl", ["-s", "-i", `${front.url}/v1/orders`,
    "-H", "Authorization: Bearer tok-a", "-H", "Idempotency-Key: curl-1", "-d", data])).stdout;
  const [first, second] = [await curl("sku=X1"), await curl("sku=X1")];
  assert.match(first, /^HTTP\/1.1 201 /);
  assert.doesNotMatch(first, /Idempotent-Replayed/i);
  assert.match(second, /^HTTP\/1.1 201 /);
  assert.match(second, /Idempotent-Replayed: true/i);
  const body = (answer) => answer.split("\r\n\r\n")[1];
  assert.equal(body(second), body(first));
  assert.match(await curl("sku=X2"), /^HTTP\/1.1 422 /);
  assert.equal(app.effects.length, 1);
});
