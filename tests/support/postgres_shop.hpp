#pragma once

// For the tests of this room: a database of the shared server, and short ways to ask a store.

#include <optional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <tests/support/postgres_server.hpp>

#include <callonce/engine/claim.hpp>
#include <callonce/stores/postgres/migrate.hpp>
#include <callonce/stores/postgres/store.hpp>

namespace callonce::postgres {

using tests::postgres_client;
using tests::postgres_server;

/// A database with the tables, and `orders`, where applications keep their effects.
inline std::string new_shop() {
  static std::string prototype;
  postgres_server& server = postgres_server::shared();
  if (prototype.empty()) {
    prototype = server.new_database();
    migrate(server.url(prototype));
    postgres_client over{server.url(prototype)};
    over.ask("create table orders (id bigint generated always as identity, note text)");
  }
  return server.new_database(prototype);
}

template <class Reply>
Reply wait_for(asio::awaitable<Reply> operation) {
  asio::io_context io;
  std::optional<Reply> said;
  asio::co_spawn(io, std::move(operation),
                 [&](const std::exception_ptr&, Reply reply) { said = std::move(reply); });
  io.run();
  return *std::move(said);
}

inline identity id_of(std::string_view key, std::string_view scope = "alice") {
  return identity{hasher{}.part(scope).finish(), callonce::key{std::string{key}}};
}

inline claim_request wish_of(std::string_view key, std::string_view print = "a",
                             std::chrono::milliseconds lease = std::chrono::seconds{60}) {
  claim_request made;
  made.id = id_of(key);
  made.fingerprint = {fingerprint_rule{}, hasher{}.part(print).finish()};
  made.claim_id = new_claim_id(system_environment());
  made.terms.lease = lease;
  made.terms.retention = std::chrono::hours{24};
  made.terms.key_retention = std::chrono::hours{168};
  made.terms.response_body_max = 1 << 20;
  made.terms.route = "/orders";
  return made;
}

inline std::shared_ptr<const stored_answer> answer_of(std::string body, int status = 201) {
  stored_answer made;
  made.status = status;
  made.headers.add("Content-Type", "application/json");
  made.body = body_bytes{std::move(body)};
  return std::make_shared<const stored_answer>(std::move(made));
}

inline fence fence_of(const claim_request& wish, std::uint32_t attempt = 1) {
  return {wish.id, wish.claim_id, attempt};
}

/// As an owner in the one-transaction mode begins.
inline std::string insert_of(const claim_request& wish) {
  return "insert into callonce.record (key_index, scope, key, rule, fingerprint, state, attempt, "
         "claim_id, lease_until_ms, created_at_ms, expires_at_ms, lease_ms, retention_ms, "
         "key_retention_ms, response_body_max, park, route) values ('" +
         to_hex(wish.id.index()) + "', '\\x" + to_hex(wish.id.scope()) + "', '" +
         std::string{wish.id.key().bytes()} + "', 'raw', '\\x" + to_hex(wish.fingerprint.value) +
         "', 2, 1, gen_random_uuid(), 1, 1, 1, 1, 1, 1, 1, false, '')";
}

inline std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

}  // namespace callonce::postgres
