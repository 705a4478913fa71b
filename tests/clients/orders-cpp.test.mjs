// The C++ orders example, in process and without a gateway: whatever dies when, one order a key.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import path from "node:path";
import readline from "node:readline";
import { after, before, beforeEach, describe, test } from "node:test";

import { ask, commitAsked, commitDone, postgres, watchedWire } from "./postgres.mjs";
import { freePort, pause } from "./support.mjs";

const program = process.env.ORDERS_CPP ??
  path.join(path.dirname(process.env.CALLONCE), "../examples/orders-cpp/orders-cpp");

/// The example's process, on the same port each time.
function service(port, databaseUrl) {
  let child = null;
  const alive = () => child !== null && child.exitCode === null && child.signalCode === null;
  const self = {
    async start() {
      if (alive()) return;
      child = spawn(program, [databaseUrl, String(port)], { stdio: ["ignore", "pipe", "inherit"] });
      const lines = readline.createInterface({ input: child.stdout });
      const gone = once(child, "exit").then(() => { throw new Error("it ended"); });
      gone.catch(() => {});
      await Promise.race([once(lines, "line"), gone]);
    },
    /// kill -9. Post: it is gone.
    async stop() {
      if (!alive()) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
    /// kill -9. Post: it is gone; `started` says when the next one is there.
    replace() {
      const gone = self.started.then(self.stop);
      self.started = gone.then(() => self.start());
      self.started.catch(() => {});
      return gone;
    },
    started: Promise.resolve(),
  };
  return self;
}

describe("orders-cpp", { timeout: 180_000 }, () => {
  let server;
  let wire;
  let app;
  let url;
  before(async () => {
    server = await postgres();
    await ask(server.url("postgres"), "create database shop");
    await ask(server.url("shop"),
      "create table orders (id bigint generated always as identity, account text, note text)");
    wire = await watchedWire(server.port);
    const port = await freePort();
    url = `http://127.0.0.1:${port}/v1/orders`;
    app = service(port, `postgres://postgres@127.0.0.1:${wire.port}/shop`);
  });
  after(async () => {
    await app?.stop();
    await wire?.stop();
    await server?.stop();
  });
  // Each test finds it whole, whatever the one before has broken.
  beforeEach(async () => {
    wire.clear();
    await app.started;
    await app.start();
  });

  let keys = 0;
  const freshKey = () => `order-${++keys}`;
  const rows = (note) => ask(server.url("shop"), "select * from orders where note = $1", [note]);

  // A connection each: a thread of the service is busy for as long as one is open.
  async function order(key, note = key) {
    const asking = http.request(url, {
      method: "POST",
      agent: false,
      headers: { "x-account": "anna", "idempotency-key": `"${key}"` },
      signal: AbortSignal.timeout(30_000),
    });
    asking.end(note);
    const [said] = await once(asking, "response");
    let text = "";
    for await (const piece of said.setEncoding("utf8")) text += piece;
    return { status: said.statusCode, text, location: said.headers.location ?? null,
      replayed: said.headers["idempotent-replayed"] ?? null };
  }

  /// Repeats a request like a stubborn client, until it is answered for good.
  async function settle(key) {
    const end = Date.now() + 120_000;
    for (let step = 50; ; step = Math.min(2 * step, 1000)) {
      const said = await order(key).catch((error) => ({ status: 0, text: `${error}` }));
      if (said.status === 201) return said;
      assert.ok([0, 409, 500, 502, 503, 504].includes(said.status), `${said.status} ${said.text}`);
      assert.ok(Date.now() < end, `${key} is not settled: ${said.status} ${said.text}`);
      await pause(step * (0.5 + Math.random()));
    }
  }

  /// Every key is asked for by several clients at once. Post: each has one order, one answer.
  async function storm(count, duplicates) {
    const wanted = Array.from({ length: count }, () => ({ key: freshKey() }));
    await Promise.all(wanted.map(async (each) => {
      each.said = await Promise.all(Array.from({ length: duplicates }, () => settle(each.key)));
    }));
    for (const { key, said } of wanted) {
      const [made, ...more] = await rows(key);
      assert.deepEqual(more, [], `${key} was ordered more than once`);
      for (const each of said) {
        assert.equal(each.text, `{"id":${made.id}}\n`);
        assert.equal(each.location, `/v1/orders/${made.id}`);
      }
    }
  }

  test("the first request makes an order, its retry gets the same answer", async () => {
    const key = freshKey();
    const first = await order(key, "two books");
    assert.equal(first.status, 201, first.text);
    assert.equal(first.replayed, null);
    assert.deepEqual(await order(key, "two books"), { ...first, replayed: "true" });
    assert.equal((await order(key, "three books")).status, 422);
    assert.equal((await rows("two books")).length, 1);
  });

  test("the acknowledgement of COMMIT is lost, and the record is asked", async () => {
    const key = freshKey();
    wire.on(commitDone, () => "cut");
    const said = await order(key);
    wire.clear();
    assert.ok([201, 503, 504].includes(said.status), said.text);
    assert.equal((await settle(key)).status, 201);
    assert.equal((await rows(key)).length, 1);
  });

  test("a storm of duplicates", () => storm(40, 8));

  test("a storm while the service dies again and again", async () => {
    let kills = 0;
    const die = async () => (kills += 1, await app.replace(), "cut");
    let commits = 0;
    wire.on(commitAsked, () => ([6, 20, 34].includes(++commits) ? die() : undefined));
    let done = 0;
    wire.on(commitDone, () => ([9, 30, 60].includes(++done) ? die() : undefined));
    await storm(40, 8);
    await app.started;
    assert.equal(kills, 6);
  });

  test("a storm while the database is killed and started again", async () => {
    let done = 0;
    let kills = 0;
    wire.on(commitDone, async () => {
      if (![5, 25].includes(++done)) return undefined;
      kills += 1;
      await server.tell("kill");
      await server.tell("start");
      return "cut";
    });
    await storm(20, 4);
    assert.equal(kills, 2);
  });
});
