// A shop whose only effect is at its payment provider. It may run again after a crash: the provider
// is given a key that is the same for every attempt, so the card is charged once.
//
//   node shop.mjs PORT PROVIDER-URL

import http from "node:http";

const provider = process.argv[3] ?? "http://127.0.0.1:9100";

http.createServer(async (request, response) => {
  if (request.method !== "POST") return response.writeHead(404).end();
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { amount } = JSON.parse(Buffer.concat(chunks));

  // The gateway passes the client's key on; two shops of one provider need more than that in it.
  const charged = await fetch(`${provider}/charges`, {
    method: "POST",
    headers: { "content-type": "application/json",
      "idempotency-key": `${request.headers["x-api-key"]}/${request.headers["idempotency-key"]}` },
    body: JSON.stringify({ amount }),
  });
  const charge = await charged.json();

  response.writeHead(charged.status, { "content-type": "application/json" });
  response.end(JSON.stringify({ charge: charge.id, amount,
    attempt: Number(request.headers["idempotency-attempt"]) }));
}).listen(Number(process.argv[2] ?? 9000), "127.0.0.1");
