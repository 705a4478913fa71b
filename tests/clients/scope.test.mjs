// Every example of docs/guides/scope.md, run as it stands there.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createSign, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

import { application, cleaner, freePort, until } from "./support.mjs";

const guide = readFileSync(new URL("../../docs/guides/scope.md", import.meta.url), "utf8");

function example(language, name) {
  const found = guide.match(new RegExp("```" + language + "\\n# try: " + name + "\\n([^]*?)```"));
  assert.ok(found, `the guide has no ${language} example ${name}`);
  return found[1];
}

async function workplace(keep) {
  const folder = await mkdtemp(path.join(tmpdir(), "callonce-scope-"));
  keep({ stop: () => rm(folder, { recursive: true }) });
  return folder;
}

/// `callonce serve` with an example of the guide and the lines every configuration needs.
async function serve(keep, folder, name, app) {
  const [port, admin] = [await freePort(), await freePort()];
  const file = path.join(folder, "callonce.toml");
  writeFileSync(file, `listen = "127.0.0.1:${port}"\nadmin = "127.0.0.1:${admin}"\n` +
    `upstream = "http://127.0.0.1:${app.port}"\n${example("toml", name)}\n[store]\nurl = "sqlite:callonce.db"\n`);
  const child = spawn(process.env.CALLONCE, ["serve", "--config", file], { stdio: "ignore" });
  keep({ stop: async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  } });
  await until(() => fetch(`http://127.0.0.1:${admin}/readyz`).then((r) => r.ok, () => false), 20_000, name);
  return port;
}

/// nginx with an example of the guide before the gateway.
async function front(keep, folder, name, gateway, { server = "", more = "" } = {}) {
  const port = await freePort();
  writeFileSync(path.join(folder, "nginx.conf"), `
daemon off; pid nginx.pid; error_log stderr; worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  upstream callonce { server 127.0.0.1:${gateway}; }
  server {
    listen 127.0.0.1:${port} ${server};
    ${more}
    ${example("nginx", name)}
  }
}`);
  const child = spawn("/usr/sbin/nginx", ["-p", folder, "-c", "nginx.conf"], { stdio: "ignore" });
  keep({ stop: async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  } });
  return port;
}

const answer = (count) => ({ status: 201, body: { count } });

function send(port, headers, { agent } = {}) {
  return new Promise((resolve, reject) => {
    const options = { port, host: "127.0.0.1", method: "POST", path: "/v1/charges", agent,
      headers: { "content-type": "application/json", "idempotency-key": "k-1", ...headers } };
    const asked = (agent ? https : http).request(options, async (reply) => {
      const chunks = [];
      for await (const chunk of reply) chunks.push(chunk);
      resolve({ status: reply.statusCode, headers: reply.headers, body: Buffer.concat(chunks).toString() });
    });
    asked.on("error", reject);
    asked.end("{}");
  });
}

const replayed = (reply) => reply.headers["idempotent-replayed"] === "true";

/// `mine` twice is one run; `other` is a run of its own.
async function tellsApart(port, mine, again, other, options = {}) {
  const first = await send(port, mine, options.mine);
  const retry = await send(port, again, options.mine);
  const stranger = await send(port, other, options.other);
  assert.equal(first.status, 201, first.body);
  assert.ok(!replayed(first));
  assert.equal(retry.body, first.body);
  assert.ok(replayed(retry));
  assert.equal(stranger.status, 201, stranger.body);
  assert.notEqual(stranger.body, first.body);
}

test("A-01 an API key", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(answer));
  const port = await serve(keep, await workplace(keep), "api-key", app);
  await tellsApart(port, { "x-api-key": "a" }, { "x-api-key": "a" }, { "x-api-key": "b" });
  assert.equal((await send(port, {})).status, 400);
});

test("A-04 OAuth, verified here, with a JWKS", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(answer));
  const folder = await workplace(keep);
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "k1", use: "sig" };
  writeFileSync(path.join(folder, "issuer-keys.json"), JSON.stringify({ keys: [jwk] }));
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const token = (claims) => {
    const text = `${encode({ alg: "ES256", typ: "JWT", kid: "k1" })}.${encode(claims)}`;
    const signature = createSign("SHA256").update(text).sign({ key: privateKey, dsaEncoding: "ieee-p1363" });
    return { authorization: `Bearer ${text}.${signature.toString("base64url")}` };
  };
  const claims = (sub, seconds, more = {}) => ({ sub, iss: "https://id.example", aud: ["payments"],
    exp: Math.floor(Date.now() / 1000) + seconds, ...more });
  const port = await serve(keep, folder, "jwt", app);
  await tellsApart(port, token(claims("u1", 300)), token(claims("u1", 600)), token(claims("u2", 300)));
  for (const wrong of [claims("u1", -300), claims("u1", 300, { iss: "https://evil.example" }),
    claims("u1", 300, { aud: "other" })]) {
    assert.equal((await send(port, token(wrong))).status, 401);
  }
});

test("C108 OAuth, verified by a hop in front", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(answer));
  const folder = await workplace(keep);
  const authenticator = http.createServer((request, reply) => {
    const user = { "Bearer token-1": "u1", "Bearer token-1-refreshed": "u1", "Bearer token-2": "u2" }[
      request.headers.authorization];
    reply.writeHead(user ? 204 : 401, user ? { "x-user": user } : {});
    reply.end();
  }).listen(0, "127.0.0.1");
  await once(authenticator, "listening");
  keep({ stop: () => new Promise((done) => { authenticator.closeAllConnections(); authenticator.close(done); }) });
  const gateway = await serve(keep, folder, "trusted", app);
  const port = await front(keep, folder, "trusted", gateway, { more: `location = /authenticate {
    internal; proxy_pass http://127.0.0.1:${authenticator.address().port}/; proxy_pass_request_body off;
    proxy_set_header Content-Length ""; }` });
  await until(() => send(port, {}).then(() => true, () => false), 10_000, "nginx");
  const as = (credential) => ({ authorization: `Bearer ${credential}`, "x-user": "somebody-else" });
  await tellsApart(port, as("token-1"), as("token-1-refreshed"), as("token-2"));
  assert.equal((await send(port, as("none"))).status, 401);
});

test("C105 a session cookie", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(answer));
  const port = await serve(keep, await workplace(keep), "cookie", app);
  await tellsApart(port, { cookie: "account=a; csrf=1" }, { cookie: "csrf=2; account=a" }, { cookie: "account=b" });
  assert.equal((await send(port, { cookie: "csrf=1" })).status, 401);
});

test("A-01 client certificates behind nginx", async (context) => {
  const keep = cleaner(context);
  const app = keep(await application(answer));
  const folder = await workplace(keep);
  const openssl = (...words) => execFileSync("openssl", words, { cwd: folder, stdio: "ignore" });
  openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "clients-ca.pem",
    "-days", "2", "-subj", "/CN=clients");
  const certificate = (name) => {
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", `${name}.key`, "-out", `${name}.csr`,
      "-subj", `/CN=${name}`);
    openssl("x509", "-req", "-in", `${name}.csr`, "-CA", "clients-ca.pem", "-CAkey", "ca.key",
      "-CAcreateserial", "-out", `${name}.pem`, "-days", "2");
    return new https.Agent({ rejectUnauthorized: false, cert: readFileSync(path.join(folder, `${name}.pem`)),
      key: readFileSync(path.join(folder, `${name}.key`)) });
  };
  const [one, two] = [certificate("one"), certificate("two")];
  openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.pem",
    "-days", "2", "-subj", "/CN=server");
  const gateway = await serve(keep, folder, "mtls", app);
  const port = await front(keep, folder, "mtls", gateway,
    { server: "ssl", more: "ssl_certificate server.pem; ssl_certificate_key server.key;" });
  await until(() => send(port, {}, { agent: one }).then(() => true, () => false), 10_000, "nginx");
  const forged = { "x-client-cert": "somebody-else", "idempotency-key": "k-2" };
  await tellsApart(port, forged, forged, forged, { mine: { agent: one }, other: { agent: two } });
});

test("A-03 a right that was taken back", async (context) => {
  const keep = cleaner(context);
  const revoked = new Set();
  const app = keep(await application((count, body, request) => {
    if (request.url !== "/internal/may-read") return answer(count);
    const may = !revoked.has(request.headers["x-api-key"]);
    return { status: may ? 200 : 403, body: may ? {} : { denied: true } };
  }));
  const port = await serve(keep, await workplace(keep), "auth-check", app);
  const first = await send(port, { "x-api-key": "a" });
  assert.equal((await send(port, { "x-api-key": "a" })).body, first.body);
  revoked.add("a");
  const denied = await send(port, { "x-api-key": "a" });
  assert.equal(denied.status, 403);
  assert.ok(!replayed(denied));
  assert.equal(denied.body, '{"denied":true}');
});
