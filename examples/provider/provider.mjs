// A payment provider that deduplicates: a charge under a key that it knows is that charge again.
//
//   node provider.mjs PORT          GET /charges lists them

import http from "node:http";

const charges = new Map();

http.createServer(async (request, response) => {
  const say = (status, body) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  if (request.method === "GET") return say(200, [...charges.values()]);
  const key = request.headers["idempotency-key"];
  if (!key) return say(400, { error: "no Idempotency-Key" });
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { amount } = JSON.parse(Buffer.concat(chunks));
  const known = charges.get(key);
  if (known && known.amount !== amount) return say(422, { error: "another amount under this key" });
  if (!known) charges.set(key, { id: `ch_${charges.size + 1}`, amount, asked: 0 });
  charges.get(key).asked += 1;
  say(201, charges.get(key));
}).listen(Number(process.argv[2] ?? 9100), "127.0.0.1");
