// docs/reference/transcripts.md: what curl shows, made by this test and compared with it.
// CALLONCE_WRITE_DOCS=1 writes the page.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { after, before, test } from "node:test";

import { gateway } from "./support.mjs";

const page = new URL("../../docs/reference/transcripts.md", import.meta.url);
let app, front;

before(async () => {
  app = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === "/hints") response.writeEarlyHints({ link: "</receipt.css>; rel=preload; as=style" });
    response.writeHead(201, { "content-type": "application/json", location: "/v1/charges/1" });
    response.end('{"id":1}\n');
  }).listen(0, "127.0.0.1");
  await once(app, "listening");
  front = await gateway({ port: app.address().port });
});

after(async () => {
  await front.stop();
  app.closeAllConnections();
  app.close();
});

async function run(words, input = "") {
  const child = spawn("curl", words, { stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => { output += text; });
  child.stdin.end(input);
  await once(child, "close");
  return output;
}

/// What differs from run to run is written the same way; curl's own remarks go.
function tidied(text) {
  return text.replaceAll("\r", "").replaceAll(`127.0.0.1:${front.port}`, "127.0.0.1:8080")
    .replace(/^([<>]? ?Date: ).*$/gm, "$1Tue, 01 Dec 2026 12:00:00 GMT")
    .replace(/^([<>]? ?X-Request-Id: ).*$/gm, "$16f1b2c3d4e5f6071-1")
    .split("\n").filter((line) => !/^[*{}]/.test(line) || line.startsWith('{"')).join("\n").trim();
}

const raw = (...lines) => lines.join("\r\n");

const transcripts = [
  {
    title: "A client that asks first",
    says: "The body is sent after `100 Continue`. Without a key on a route that needs one the answer is 400 at once, and no body is asked for.",
    shown: `curl -v http://127.0.0.1:8080/v1/charges -H 'Authorization: key-1' \\
     -H 'Idempotency-Key: "expect-1"' -H 'Expect: 100-continue' -d amount=700`,
    make: () => run(["-sv", "-A", "curl", `http://127.0.0.1:${front.port}/v1/charges`, "-H", "Authorization: key-1",
      "-H", 'Idempotency-Key: "expect-1"', "-H", "Expect: 100-continue", "-d", "amount=700"]),
    wants: [/^< HTTP\/1\.1 100 Continue$/m, /^< HTTP\/1\.1 201 Created$/m],
  },
  {
    title: "Early hints",
    says: "An interim answer reaches the first client and is no part of the record: the replay has none.",
    shown: `charge() { curl -v http://127.0.0.1:8080/hints -H 'Authorization: key-1' \\
     -H 'Idempotency-Key: "hints-1"' -d amount=700; }
charge; charge`,
    make: async () => {
      const words = ["-sv", "-A", "curl", `http://127.0.0.1:${front.port}/hints`, "-H", "Authorization: key-1",
        "-H", 'Idempotency-Key: "hints-1"', "-d", "amount=700"];
      return `${await run(words)}\n${await run(words)}`;
    },
    wants: [/^< HTTP\/1\.1 103 Early Hints$/m, /^< Idempotent-Replayed: true$/m],
    once: /103 Early Hints/g,
  },
  {
    title: "A duplicate behind the first request on one connection",
    says: "Pipelined requests are answered strictly one after the other, so the second one is the replay.",
    shown: "curl telnet://127.0.0.1:8080 < two-requests.txt",
    input: () => {
      const one = raw("POST /v1/charges HTTP/1.1", "Host: shop.example", "Authorization: key-1",
        'Idempotency-Key: "pipelined-1"', "Content-Length: 10");
      return raw(one, "", "amount=700") + raw(one, "Connection: close", "", "amount=700");
    },
    make(input) { return run(["-sS", "--max-time", "20", `telnet://127.0.0.1:${front.port}`], input); },
    wants: [/^HTTP\/1\.1 201 Created$[^]*^HTTP\/1\.1 201 Created$/m, /^Idempotent-Replayed: true$/m],
  },
  {
    title: "A request that could be read as two",
    says: "Two framings: a hop that believed the other one would see a second request. It is refused and the connection closed.",
    shown: "curl telnet://127.0.0.1:8080 < smuggled.txt",
    input: () => raw("POST /v1/charges HTTP/1.1", "Host: shop.example", "Authorization: key-1",
      'Idempotency-Key: "smuggled-1"', "Content-Length: 4", "Transfer-Encoding: chunked", "", "0", "",
      "POST /v1/refunds HTTP/1.1", "Host: shop.example", "", ""),
    make(input) { return run(["-sS", "--max-time", "20", `telnet://127.0.0.1:${front.port}`], input); },
    wants: [/^HTTP\/1\.1 400 Bad Request$/m, /^Connection: close$/m, /"code":"bad_request"/],
  },
];

test("G-02 R-18 C-09 G-04 the transcripts are what curl shows", async () => {
  let made = "<!-- Made by `./dev docs`; a test compares. -->\n# Transcripts\n\nWhat curl shows at a gateway; dates and " +
    "request ids are written the same each time.\n";
  for (const each of transcripts) {
    const input = each.input?.();
    const seen = tidied(await each.make(input));
    for (const wanted of each.wants) assert.match(seen, wanted, each.title);
    if (each.once) assert.equal(seen.match(each.once).length, 1, each.title);
    made += `\n## ${each.title}\n\n${each.says}\n\n\`\`\`sh\n${each.shown}\n\`\`\`\n`;
    if (input) made += `\n\`\`\`http\n${input.replaceAll("\r", "")}\n\`\`\`\n`;
    made += `\n\`\`\`http\n${seen}\n\`\`\`\n`;
  }
  if (process.env.CALLONCE_WRITE_DOCS) writeFileSync(page, made);
  assert.equal(readFileSync(page, "utf8"), made, "run ./dev docs");
});
