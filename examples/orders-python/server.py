#!/usr/bin/python3
"""An order service behind `callonce serve`: the order and its Idempotency-Key are committed in one
PostgreSQL transaction, so there is one order or none, whatever dies when.

  DATABASE_URL=postgres://shop@127.0.0.1/shop ./server.py [PORT]
"""

import contextlib
import json
import os
import queue
import sys

import psycopg2
from flask import Flask, Response, request
from werkzeug.serving import make_server

URL = os.environ["DATABASE_URL"]
# The connections, None where one is yet to be made. Far fewer than requests come at once: the others
# wait for their turn. (The pool of psycopg2 would refuse them.)
pool = queue.LifoQueue()
for _ in range(4):
    pool.put(None)
app = Flask(__name__)


def problem(status, title):
    body = json.dumps({"title": title, "status": status}) + "\n"
    return status, [["Content-Type", "application/problem+json"]], body


# The transaction is rolled back. Behind the gateway that frees the key, and a retry runs again.
NOTHING_DONE = problem(503, "no order was made, try again")


@contextlib.contextmanager
def connection():
    """One of the pool; what is left open in it ends with it."""
    db = pool.get()
    try:
        if db is None:
            db = psycopg2.connect(URL, connect_timeout=10)
            # BEGIN and COMMIT are written out: db.commit() is silent when the server rolls back.
            db.autocommit = True
        yield db
    finally:
        idle = psycopg2.extensions.TRANSACTION_STATUS_IDLE
        if db is not None and db.info.transaction_status != idle:
            db.close()
            db = None
        pool.put(db)


def make_order(claim, item, quantity):
    """The order and the completion of its claim, in one transaction; without a claim just the
    order."""
    answer = None
    committing = False
    try:
        with connection() as db, db.cursor() as sql:
            try:
                sql.execute("begin")

                # ── first: nobody can take the key over from here on; a lost claim stops here
                if claim:
                    sql.execute("select callonce.hold(%s)", [claim])

                sql.execute("insert into orders (item, quantity) values (%s, %s) returning id",
                            [item, quantity])
                made = sql.fetchone()[0]
                body = json.dumps({"id": made, "item": item, "quantity": quantity}) + "\n"
                headers = [["Content-Type", "application/json"],
                           ["Location", f"/v1/orders/{made}"]]
                answer = 201, headers, body

                # ── last: this answer is what every retry gets, if and only if it is committed
                if claim:
                    sql.execute("select callonce.complete(%s, 201, %s, %s)",
                                [claim, json.dumps(headers), body])

                committing = True
                sql.execute("commit")
                return answer if sql.statusmessage == "COMMIT" else NOTHING_DONE
            except psycopg2.Error:
                if not db.closed:
                    sql.execute("rollback")
                raise
    except psycopg2.Error as error:
        # ID001: another attempt has the key; ID002: this very one has completed it before.
        app.logger.error("no order: %s %s", error.pgcode, str(error).strip())
        if not committing and error.pgcode != "ID002":
            return NOTHING_DONE
    return ask_the_record(claim, answer)


def ask_the_record(claim, answer):
    """What became of a COMMIT that was not answered. Its transaction may still be open, or its
    connection dead, so another one asks, and not one of the pool, where one may wait for long."""
    if not claim:
        return problem(500, "it is not known whether an order was made")
    try:
        with contextlib.closing(psycopg2.connect(URL, connect_timeout=1)) as fresh:
            with fresh.cursor() as sql:
                sql.execute("select callonce.status(%s)", [claim])
                if sql.fetchone()[0] == "completed":
                    # The gateway sends the stored answer, also where this process lost it.
                    return answer or (200, [], "")
    except psycopg2.Error as error:
        app.logger.error("the record cannot be asked: %s", str(error).strip())
    # Not completed, or nobody knows: the gateway cannot free the key while the transaction holds
    # it, so this is safe even if the COMMIT is still on its way.
    return problem(503, "the order could not be confirmed, try again")


def fault(wanted):
    item, quantity = wanted.get("item"), wanted.get("quantity")
    if not isinstance(item, str) or not 1 <= len(item) <= 200 or not item.isprintable():
        return "item must be 1 to 200 printable characters"
    if type(quantity) is not int or not 1 <= quantity <= 1000:
        return "quantity must be a whole number from 1 to 1000"
    return None


def respond(status, headers, body):
    # Without a default Content-Type beside that of the answer.
    made = Response(body, status=status)
    del made.headers["Content-Type"]
    made.headers.extend(headers)
    return made


@app.post("/v1/orders")
def create():
    wanted = request.get_json(force=True)  # what is not JSON is answered 400
    wrong = fault(wanted) if isinstance(wanted, dict) else "an order is a JSON object"
    if wrong:
        # No transaction: the gateway itself stores a 422, and retries get it again.
        return respond(*problem(422, wrong))
    return respond(*make_order(request.headers.get("Idempotency-Claim"), wanted["item"],
                               wanted["quantity"]))


@app.get("/v1/orders/<int:order>")
def read(order):
    with connection() as db, db.cursor() as sql:
        sql.execute("select id, item, quantity from orders where id = %s", [order])
        found = sql.fetchone()
    if found is None:
        return respond(*problem(404, "no such order"))
    body = json.dumps(dict(zip(("id", "item", "quantity"), found))) + "\n"
    return respond(200, [["Content-Type", "application/json"]], body)


@app.errorhandler(psycopg2.Error)
def no_database(error):
    app.logger.error("%s", str(error).strip())
    return respond(*NOTHING_DONE)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
    server = make_server("127.0.0.1", port, app, threaded=True)
    print(f"orders on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
