// The stripe package, unmodified, pointed at the gateway with its automatic retries on.

import assert from "node:assert/strict";
import test from "node:test";
import Stripe from "stripe";
import { application, cleaner, gateway, lossyWire, pause, until } from "./support.mjs";

const charge = (count) => ({ body: { id: `ch_${count}`, object: "charge", amount: 1200 } });
const card = { amount: 1200, currency: "eur", source: "tok_visa" };

const client = (port) => new Stripe("sk_test_callonce", {
  host: "127.0.0.1", port, protocol: "http", maxNetworkRetries: 3, telemetry: false,
});

test("an answer lost on the way is asked for again, and charged once", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(charge));
  const front = keep(await gateway(app));
  const wire = keep(await lossyWire(front.port, 1));
  const made = await client(wire.port).charges.create(card);
  assert.equal(made.id, "ch_1");
  assert.equal(made.lastResponse.headers["idempotent-replayed"], "true");
  assert.equal(app.effects.length, 1);
  assert.match(app.effects[0].headers["idempotency-key"], /^stripe-node-retry-/);
});

test("a double tap gets 409 first and then the replay", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(async (count) => (await pause(700), charge(count))));
  const front = keep(await gateway(app));
  const stripe = client(front.port);
  const tap = () => stripe.charges.create(card, { idempotencyKey: "order-17" });
  const [first, second] = await Promise.all([tap(), tap()]);
  assert.deepEqual([first.id, second.id], ["ch_1", "ch_1"]);
  const replays = [first, second].filter((r) => r.lastResponse.headers["idempotent-replayed"]);
  assert.equal(replays.length, 1);
  assert.equal(app.effects.length, 1);
});

test("a declined card is declined again without asking the bank twice", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(() => ({
    status: 402,
    body: { error: { type: "card_error", code: "card_declined", message: "Declined." } },
  })));
  const front = keep(await gateway(app));
  const stripe = client(front.port);
  const attempt = () => stripe.charges.create(card, { idempotencyKey: "order-18" });
  const refused = { type: "StripeCardError", code: "card_declined" };
  await assert.rejects(attempt, refused);
  await assert.rejects(attempt, (error) => {
    assert.equal(error.headers["idempotent-replayed"], "true");
    return error.code === "card_declined";
  });
  assert.equal(app.effects.length, 1);
});

test("a 503 is retried by the package and runs again", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application((count) =>
    count === 1 ? { status: 503, body: { error: { type: "api_error", message: "Later." } } }
      : charge(count)));
  const front = keep(await gateway(app));
  const made = await client(front.port).charges.create(card);
  assert.equal(made.id, "ch_2");
  await until(() => app.effects.length === 2);
});

test("with profile stripe the package knows the refusal for what it is", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(charge));
  const front = keep(await gateway(app, 'profile = "stripe"'));
  const stripe = client(front.port);
  const pay = (amount) => stripe.charges.create({ ...card, amount }, { idempotencyKey: "order-20" });
  await pay(1200);
  await assert.rejects(pay(1300), (error) => {
    assert.equal(error.type, "StripeIdempotencyError");
    assert.equal(error.statusCode, 400);
    assert.equal(error.code, "idempotency_key_reused");
    return true;
  });
  assert.equal(app.effects.length, 1);
});

// The package takes any body without an `error` member for a result: the problem arrives as one.
test("another amount under the same key is refused", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(charge));
  const front = keep(await gateway(app));
  const stripe = client(front.port);
  const pay = (amount) => stripe.charges.create({ ...card, amount }, { idempotencyKey: "order-19" });
  await pay(1200);
  const refused = await pay(1300);
  assert.equal(refused.lastResponse.statusCode, 422);
  assert.equal(refused.code, "idempotency_key_reused");
  assert.equal(app.effects.length, 1);
});
