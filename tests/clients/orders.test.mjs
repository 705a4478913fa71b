// The orders examples behind the gateway, in one database: whatever dies when, one order a key.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { ask, commitAsked, commitDone, postgres, watchedWire } from "./postgres.mjs";
import { application, cleaner, freePort, gateway, pause, until } from "./support.mjs";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));
const at = (...names) => path.join(examples, ...names);
// Flask is Debian's, and so is its Python, whatever else may be on the PATH.
const programs = {
  "orders-node": [process.execPath, at("orders-node", "server.mjs")],
  "orders-python": ["/usr/bin/python3", at("orders-python", "server.py")],
};

/// One example's process, on the same port each time.
function application_process(words, port, databaseUrl) {
  let child = null;
  let output = "";
  const alive = () => child !== null && child.exitCode === null && child.signalCode === null;
  const self = {
    port,
    async start() {
      if (alive()) return;
      child = spawn(words[0], [...words.slice(1), String(port)], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, DATABASE_URL: databaseUrl },
      });
      child.stderr.on("data", (text) => { output += text; });
      const lines = readline.createInterface({ input: child.stdout });
      const gone = once(child, "exit").then(() => { throw new Error(`it ended: ${output}`); });
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
      self.started = gone.then(self.start);
      self.started.catch(() => {});
      return gone;
    },
    started: Promise.resolve(),
  };
  return self;
}

/// Database, application and gateway, with the example's own files.
async function shop(words) {
  const started = [];
  const stop = async () => { for (const each of started.reverse()) await each.stop(); };
  const keep = (each) => (started.push(each), each);
  try {
    const folder = await mkdtemp(path.join(tmpdir(), "callonce-orders-"));
    keep({ stop: () => rm(folder, { recursive: true }) });
    const server = keep(await postgres());
    await ask(server.url("postgres"), "create database shop");
    await ask(server.url("shop"), await readFile(at("orders-node", "orders.sql"), "utf8"));
    execFileSync(process.env.CALLONCE,
      ["migrate", "--store", server.url("shop"), "--app-role", "shop"]);

    const wire = keep(await watchedWire(server.port));
    const app = keep(application_process(words, await freePort(),
      `postgres://shop@127.0.0.1:${wire.port}/shop`));
    await app.start();

    const [port, admin] = [await freePort(), await freePort()];
    const config = path.join(folder, "callonce.toml");
    const text = await readFile(at("orders-node", "callonce.toml"), "utf8");
    await writeFile(config, `admin = "127.0.0.1:${admin}"\n` + text
      .replace("127.0.0.1:8080", `127.0.0.1:${port}`)
      .replace("127.0.0.1:9000", `127.0.0.1:${app.port}`)
      .replace('"10s"', '"2s"').replace('"9s"', '"5s"'));
    const front = spawn(process.env.CALLONCE, ["serve", "--config", config], {
      stdio: "ignore",
      env: { ...process.env, ORDERS_STORE: server.url("shop") },
    });
    keep({ stop: () => (front.kill("SIGKILL"), front.exitCode ?? once(front, "exit")) });
    await until(async () => {
      if (front.exitCode !== null) throw new Error("the gateway ended");
      return fetch(`http://127.0.0.1:${admin}/readyz`).then((said) => said.ok, () => false);
    }, 20_000, "a ready gateway");
    return { server, wire, app, stop, url: `http://127.0.0.1:${port}`,
      direct: `http://127.0.0.1:${app.port}` };
  } catch (error) {
    await stop();
    throw error;
  }
}

for (const [name, words] of Object.entries(programs)) {
  describe(name, { timeout: 180_000 }, () => {
    let house;
    before(async () => { house = await shop(words); });
    after(() => house?.stop());
    // Each test finds it whole, whatever the one before has broken.
    beforeEach(async () => {
      house.wire.clear();
      await house.app.started;
      await house.app.start();
    });

    let keys = 0;
    const freshKey = () => `order-${++keys}`;
    const rows = (item) =>
      ask(house.server.url("shop"), "select * from orders where item = $1", [item]);

    async function post(base, headers, body) {
      const said = await fetch(`${base}/v1/orders`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": "demo", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(20_000),
      });
      assert.equal(said.headers.get("idempotency-claim"), null);
      return { status: said.status, text: await said.text(), location: said.headers.get("location"),
        replayed: said.headers.get("idempotent-replayed") };
    }
    const order = (key, body) => post(house.url, { "idempotency-key": key }, body);

    /// Repeats a request like a stubborn client, until it is answered for good. It backs off, for
    /// the wire of the database is in this process and must get its turns.
    async function settle(key, body) {
      const end = Date.now() + 90_000;
      for (let step = 50; ; step = Math.min(2 * step, 1000)) {
        const said = await order(key, body).catch((error) => ({ status: 0, text: `${error}` }));
        if (said.status === 201) return said;
        assert.ok([0, 409, 502, 503, 504].includes(said.status), `${said.status} ${said.text}`);
        assert.ok(Date.now() < end, `${key} is not settled: ${said.status} ${said.text}`);
        await pause(step * (0.5 + Math.random()));
      }
    }

    /// Every key is asked for by several clients at once. Post: each has one order, one answer.
    async function storm(count, duplicates) {
      const wanted = Array.from({ length: count }, () => ({ key: freshKey() }));
      await Promise.all(wanted.map(async (each) => {
        const body = { item: each.key, quantity: 1 };
        each.said = await Promise.all(
          Array.from({ length: duplicates }, () => settle(each.key, body)));
      }));
      for (const { key, said } of wanted) {
        const [made, ...more] = await rows(key);
        assert.deepEqual(more, [], `${key} was ordered more than once`);
        for (const each of said) {
          assert.equal(each.text, said[0].text);
          assert.equal(each.location, `/v1/orders/${made.id}`);
        }
        assert.equal(JSON.parse(said[0].text).id, Number(made.id));
      }
    }

    test("the first request makes an order, its retry gets the same answer", async () => {
      const [key, body] = [freshKey(), { item: "book", quantity: 2 }];
      const first = await order(key, body);
      assert.equal(first.status, 201);
      assert.equal(first.replayed, null);
      const { id, ...made } = JSON.parse(first.text);
      assert.deepEqual(made, body);
      assert.equal(first.location, `/v1/orders/${id}`);
      const again = await order(key, body);
      assert.deepEqual(again, { ...first, replayed: "true" });
      assert.equal((await order(key, { ...body, quantity: 3 })).status, 422);
      assert.equal((await rows("book")).length, 1);
      const read = await fetch(house.url + first.location);
      assert.equal(read.status, 200);
      assert.equal((await read.json()).id, id);
    });

    test("a wrong order is refused for good, and nothing is made of it", async () => {
      for (const body of [{ item: "pen" }, { item: "pen", quantity: 0 }, { item: "", quantity: 1 },
        { item: "pen", quantity: 1.5 }, { item: "\0", quantity: 1 }, []]) {
        const key = freshKey();
        const first = await order(key, body);
        assert.equal(first.status, 422, JSON.stringify(body));
        assert.deepEqual(await order(key, body), { ...first, replayed: "true" });
      }
      assert.equal((await order(freshKey(), "{")).status, 400);
      assert.equal((await rows("pen")).length, 0);
    });

    test("without the gateway there is no claim, and each request is an order", async () => {
      for (const count of [1, 2]) {
        assert.equal((await post(house.direct, {}, { item: "chalk", quantity: 1 })).status, 201);
        assert.equal((await rows("chalk")).length, count);
      }
    });

    test("a claim that is none makes no order, one that is done no second one", async () => {
      const body = { item: "ink", quantity: 1 };
      let claim;
      house.wire.on("callonce.hold", (text) => { [claim] = /[\w-]{48}(?![\w-])/.exec(text); });
      assert.equal((await order(freshKey(), body)).status, 201);
      house.wire.clear();
      assert.equal((await post(house.direct, { "idempotency-claim": "none" }, body)).status, 503);
      assert.equal((await post(house.direct, { "idempotency-claim": claim }, body)).status, 200);
      assert.equal((await rows("ink")).length, 1);
    });

    test("it dies right after COMMIT, and the first client gets the true answer", async () => {
      const [key, body] = [freshKey(), { item: "globe", quantity: 1 }];
      house.wire.on(commitDone, async () => (await house.app.stop(), "cut"));
      const first = await order(key, body);
      assert.equal(first.status, 201, first.text);
      assert.equal(first.replayed, null);
      await house.app.start();
      assert.deepEqual(await order(key, body), { ...first, replayed: "true" });
      assert.equal((await rows("globe")).length, 1);
    });

    test("the acknowledgement of COMMIT is lost, and the record is asked", async () => {
      let asked = 0;
      house.wire.on(commitDone, () => "cut");
      house.wire.on("callonce.status", () => { asked += 1; });
      const first = await order(freshKey(), { item: "map", quantity: 1 });
      assert.equal(first.status, 201, first.text);
      assert.equal(asked, 1);
      assert.equal((await rows("map")).length, 1);
    });

    test("COMMIT never arrives, and a retry makes the order", async () => {
      const [key, body] = [freshKey(), { item: "ruler", quantity: 1 }];
      house.wire.on(commitAsked, () => "cut");
      assert.equal((await order(key, body)).status, 503);
      assert.equal((await rows("ruler")).length, 0);
      house.wire.clear();
      const retry = await order(key, body);
      assert.equal(retry.status, 201, retry.text);
      assert.equal(retry.replayed, null);
      assert.equal((await rows("ruler")).length, 1);
    });

    test("it falls silent before COMMIT, and the key does not wait for it", async () => {
      const [key, body] = [freshKey(), { item: "lamp", quantity: 1 }];
      // hold has bounded how long its transaction may be idle: by the lease.
      const idle = "select from pg_stat_activity where usename = 'shop' and state like 'idle in %'";
      house.wire.on(commitAsked, async () => {
        house.wire.clear();
        await until(async () => (await ask(house.server.url("shop"), idle)).length === 0,
          10_000, "the end of its transaction");
      });
      assert.equal((await order(key, body)).status, 503);
      assert.equal((await rows("lamp")).length, 0);
      const retry = await order(key, body);
      assert.equal(retry.status, 201, retry.text);
      assert.equal((await rows("lamp")).length, 1);
    });

    test("a storm of duplicates", () => storm(40, 8));

    test("a storm while the application dies again and again", async () => {
      let commits = 0;
      let kills = 0;
      const die = async () => (kills += 1, await house.app.replace(), "cut");
      // With its COMMIT on the way, and with the acknowledgement on the way back.
      house.wire.on(commitAsked, () => ([6, 20, 34].includes(++commits) ? die() : undefined));
      let done = 0;
      house.wire.on(commitDone, () => ([4, 14, 26].includes(++done) ? die() : undefined));
      await storm(40, 8);
      await house.app.started;
      assert.equal(kills, 6);
    });

    test("a storm while the database is killed and started again", async () => {
      let done = 0;
      let kills = 0;
      house.wire.on(commitDone, async () => {
        if (![5, 15].includes(++done)) return undefined;
        kills += 1;
        await house.server.tell("kill");
        await house.server.tell("start");
        return "cut";
      });
      await storm(20, 4);
      assert.equal(kills, 2);
    });
  });
}

test("the handle of a claim never reaches a client", async (context) => {
  const keep = cleaner(context);
  const seen = new Set();
  const app = keep(await application((count, body, request) => {
    const claim = request.headers["idempotency-claim"];
    seen.add(claim);
    return { status: Number(body), headers: { "Idempotency-Claim": claim ?? "made up" }, body: {} };
  }));
  const front = keep(await gateway(app));
  for (const status of [200, 422, 503, 502]) {
    for (const key of [{ "idempotency-key": `k-${status}` }, {}]) {
      for (let sent = 0; sent < 2; ++sent) {
        const said = await fetch(front.url, {
          method: "POST", headers: { authorization: "me", ...key }, body: String(status) });
        assert.equal(said.headers.get("idempotency-claim"), null, `${status} ${key}`);
        await said.text();
      }
    }
  }
  assert.ok(seen.size > 4);
});
