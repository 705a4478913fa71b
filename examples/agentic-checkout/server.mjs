// A small checkout API for software agents: two published contracts, one shop, everything in memory.
// ACP calls live under /acp, UCP calls under /ucp. Start it with: node server.mjs PORT

import http from "node:http";

const prices = { "item-1": 1200, "item-2": 350 };
const sessions = new Map();
const orders = []; // what the shop would ship: the effects that must not happen twice

function priced(session) {
  const total = session.items.reduce((sum, item) => sum + prices[item.id] * item.quantity, 0);
  return { ...session, currency: "usd", totals: [{ type: "total", amount: total }] };
}

function itemsOf(body) {
  const items = body.items ?? body.line_items?.map((line) => ({ id: line.item.id, quantity: line.quantity }));
  const known = Array.isArray(items) && items.length > 0 && items.every((item) => item.id in prices);
  return known ? items.map(({ id, quantity = 1 }) => ({ id, quantity })) : null;
}

const actions = {
  create(body) {
    const items = itemsOf(body);
    if (!items) return [400, { type: "invalid_request", code: "invalid", message: "unknown item" }];
    const session = { id: `cs_${sessions.size + 1}`, status: "ready_for_payment", items };
    sessions.set(session.id, session);
    return [201, priced(session)];
  },
  update(body, session) {
    const items = itemsOf(body);
    if (!items) return [400, { type: "invalid_request", code: "invalid", message: "unknown item" }];
    session.items = items;
    return [200, priced(session)];
  },
  complete(body, session) {
    if (session.status !== "ready_for_payment") {
      return [409, { type: "invalid_request", code: "not_payable", message: `it is ${session.status}` }];
    }
    const order = { id: `order_${orders.length + 1}`, checkout_session_id: session.id };
    orders.push(order);
    session.status = "completed";
    return [200, { ...priced(session), order }];
  },
  cancel(body, session) {
    session.status = "canceled";
    return [200, priced(session)];
  },
  read: (body, session) => [200, priced(session)],
};

function route(method, path) {
  const [, contract, collection, id, verb] = path.split("/");
  if (!["acp", "ucp"].includes(contract) || !/^checkout[-_]sessions$/.test(collection ?? "")) return {};
  if (!id) return { act: method === "POST" && actions.create };
  const session = sessions.get(id);
  if (verb) return { session, act: method === "POST" && { complete: actions.complete, cancel: actions.cancel }[verb] };
  return { session, act: { GET: actions.read, POST: actions.update, PUT: actions.update }[method] };
}

const server = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const path = request.url.split("?")[0];
  const send = (status, body, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
  if (path === "/orders") return send(200, orders);
  try {
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : {};
    const { act, session } = route(request.method, path);
    if (!act || (session === undefined && act !== actions.create)) {
      return send(404, { type: "invalid_request", code: "not_found", message: "no such checkout" });
    }
    const [status, answer] = act(body, session);
    send(status, answer, status === 201 ? { location: `${path}/${answer.id}` } : {});
  } catch {
    send(400, { type: "invalid_request", code: "invalid_json", message: "the body is not JSON" });
  }
});

server.listen(Number(process.argv[2] ?? 9000), "127.0.0.1", () => {
  console.log(`checkout on 127.0.0.1:${server.address().port}`);
});
