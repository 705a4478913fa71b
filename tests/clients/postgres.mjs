// A real PostgreSQL server, and a wire before it that acts on what passes through.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import net from "node:net";
import path from "node:path";
import readline from "node:readline";

// The driver that the example brings along.
const example = new URL("../../examples/orders-node/package.json", import.meta.url);
export const pg = createRequire(example)("pg");

/// A server of its own: `tell("kill" | "stop" | "start")` is done when it returns.
export async function postgres() {
  const program = process.env.POSTGRES_FOR_TESTS ??
    path.join(path.dirname(process.env.CALLONCE), "../tests/support/postgres_for_tests");
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the database server does not start");
    return value;
  };
  const { port } = new URL(await line());
  return {
    port: Number(port),
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    async tell(what) {
      child.stdin.write(`${what}\n`);
      const said = await line();
      if (said !== "done") throw new Error(said);
    },
    async stop() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

/// Runs statements as the superuser. Post: the last one's rows.
export async function ask(url, sql, values) {
  const over = new pg.Client({ connectionString: url });
  await over.connect();
  try {
    const said = await over.query(sql, values);
    return (Array.isArray(said) ? said.at(-1) : said).rows;
  } finally {
    await over.end();
  }
}

/// A wire to `port`. `on(text, act)` names bytes to look for in both directions; they wait while
/// `act(bytes)` runs, and if it says "cut" they are never delivered and their connection ends.
/// Statements are short enough to come in one piece.
export async function watchedWire(port) {
  let watches = [];
  const server = net.createServer((client) => {
    const behind = net.connect(port, "127.0.0.1");
    const cut = () => {
      client.destroy();
      behind.destroy();
    };
    for (const [from, to] of [[client, behind], [behind, client]]) {
      from.on("error", cut);
      from.on("end", () => to.end());
      from.on("data", async (bytes) => {
        for (const { text, act } of watches) {
          if (!bytes.includes(text)) continue;
          from.pause();
          if (await act(bytes.toString("latin1")) === "cut") return cut();
          from.resume();
        }
        if (!to.destroyed) to.write(bytes);
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: server.address().port,
    on: (text, act) => watches.push({ text, act }),
    clear: () => { watches = []; },
    stop: () => new Promise((done) => server.close(done)),
  };
}

/// The simple query, and the tag of the completed one.
export const commitAsked = "commit\0";
export const commitDone = "COMMIT\0";
