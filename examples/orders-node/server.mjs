// An order service behind `callonce serve`: the order and its Idempotency-Key are committed in one
// PostgreSQL transaction, so there is one order or none, whatever dies when.
//
//   DATABASE_URL=postgres://shop@127.0.0.1/shop node server.mjs [PORT]

import express from "express";
import pg from "pg";

const url = process.env.DATABASE_URL;
// Far fewer than requests come at once: the others wait here for their turn.
const pool = new pg.Pool({ connectionString: url, max: 4, connectionTimeoutMillis: 10_000 });
// A lost connection also fails the query that uses it, which is where it is dealt with.
pool.on("error", () => {});
pool.on("connect", (connection) => connection.on("error", () => {}));

const problem = (status, title) => ({
  status,
  headers: [["Content-Type", "application/problem+json"]],
  body: JSON.stringify({ title, status }) + "\n",
});
// The transaction is rolled back. Behind the gateway that frees the key, and a retry runs again.
const nothingDone = problem(503, "no order was made, try again");

/// The order and the completion of its claim, in one transaction; without a claim just the order.
async function makeOrder(claim, { item, quantity }) {
  const db = await pool.connect();
  let answer;
  let committing = false;
  let ended = false; // of the transaction: only then may the connection be used again
  try {
    await db.query("begin");

    // ── first: nobody can take the key over from here on; a lost claim stops here
    if (claim) await db.query("select callonce.hold($1)", [claim]);

    const made = await db.query(
      "insert into orders (item, quantity) values ($1, $2) returning id", [item, quantity]);
    const id = Number(made.rows[0].id);
    answer = {
      status: 201,
      headers: [["Content-Type", "application/json"], ["Location", `/v1/orders/${id}`]],
      body: JSON.stringify({ id, item, quantity }) + "\n",
    };

    // ── last: this answer is what every retry gets, if and only if the order is committed
    if (claim) {
      await db.query("select callonce.complete($1, 201, $2, $3)",
        [claim, JSON.stringify(answer.headers), answer.body]);
    }

    committing = true;
    const { command } = await db.query("commit");
    ended = true;
    return command === "COMMIT" ? answer : nothingDone;
  } catch (error) {
    // ID001: another attempt has the key; ID002: this very one has completed it before.
    console.error(`no order: ${error.code ?? ""} ${error.message}`);
    ended = await db.query("rollback").then(() => true, () => false);
    if (!committing && error.code !== "ID002") return nothingDone;
    return askTheRecord(claim, answer);
  } finally {
    db.release(!ended);
  }
}

/// What became of a COMMIT that was not answered. The transaction may still be open, or its
/// connection dead, so another one asks, and not one of the pool, where one may wait for long.
async function askTheRecord(claim, answer) {
  if (!claim) return problem(500, "it is not known whether an order was made");
  const fresh = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 });
  fresh.on("error", () => {});
  try {
    await fresh.connect();
    const { rows } = await fresh.query("select callonce.status($1)", [claim]);
    // The gateway sends the stored answer, also where this process no longer knows it.
    if (rows[0].status === "completed") return answer ?? { status: 200, headers: [], body: "" };
  } catch (error) {
    console.error(`the record cannot be asked: ${error.message}`);
  } finally {
    fresh.end().catch(() => {});
  }
  // Not completed, or nobody knows: the gateway cannot free the key while the transaction holds
  // it, so this is safe even if the COMMIT is still on its way.
  return problem(503, "the order could not be confirmed, try again");
}

function fault({ item, quantity } = {}) {
  if (typeof item !== "string" || !/^\P{C}{1,200}$/u.test(item)) {
    return "item must be 1 to 200 printable characters";
  }
  if (!Number.isInteger(quantity) || quantity < 1 || quantity > 1000) {
    return "quantity must be a whole number from 1 to 1000";
  }
  return null;
}

function send(response, { status, headers, body }) {
  response.writeHead(status, headers.flat());
  response.end(body);
}

const app = express();
app.disable("x-powered-by");
app.use(express.json());

app.post("/v1/orders", async (request, response) => {
  const wrong = fault(request.body);
  // No transaction: the gateway itself stores a 422, and retries get it again.
  if (wrong) return send(response, problem(422, wrong));
  send(response, await makeOrder(request.get("Idempotency-Claim"), request.body));
});

app.get("/v1/orders/:id", async (request, response) => {
  const id = /^[0-9]{1,15}$/.test(request.params.id) ? request.params.id : null;
  const { rows: [found] } = await pool.query(
    "select id, item, quantity from orders where id = $1", [id]);
  if (!found) return send(response, problem(404, "no such order"));
  send(response, {
    status: 200,
    headers: [["Content-Type", "application/json"]],
    body: JSON.stringify({ ...found, id: Number(found.id) }) + "\n",
  });
});

// A body that is not JSON, a database that cannot be reached: nothing has begun.
app.use((error, request, response, next) => {
  if (response.headersSent) return next(error);
  if (error.status) return send(response, problem(error.status, error.message));
  console.error(error.message);
  send(response, nothingDone);
});

const server = app.listen(Number(process.argv[2] ?? 9000), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`orders on 127.0.0.1:${server.address().port}`);
});
