#pragma once

#include <string>

#include <callonce/engine/environment.hpp>
#include <callonce/stores/postgres/misconfigured.hpp>

namespace callonce::postgres {

/// How the tables are made, and who may use them.
struct migrate_options {
  /// Hash partitions of the record table, when it is made: 0 for a single table.
  unsigned partitions = 0;
  /// A role that may call hold, complete and status, and touch nothing else; made if need be.
  std::string application_role;
  /// A role under which gateways work, where they do not own the schema; made if need be.
  std::string gateway_role;
};

/// What `migrate` did.
struct migrate_reply {
  int version = 0;  ///< Of the tables as they are now.
  int applied = 0;  ///< Steps that were missing.
};

/// Brings the schema `callonce` of a database to what this build expects, in one transaction;
/// running it again does nothing, and of two that run at once the second finds all done.
/// Errors: throws misconfigured, with the server's own complaint: it is for operators.
migrate_reply migrate(const std::string& url, const migrate_options& with = {},
                      environment& in = system_environment());

/// The same as SQL for psql, for an empty database: for teams that run their own migrations.
std::string migration_script(const migrate_options& with = {});

}  // namespace callonce::postgres
