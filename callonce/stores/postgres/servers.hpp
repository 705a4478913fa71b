#pragma once

// Internal: what a connection string names.

#include <string>
#include <vector>

namespace callonce::postgres::detail {

/// A keyword of libpq with its value.
struct setting {
  std::string keyword;
  std::string value;
};

/// One server of a connection string: everything that libpq has to be told.
struct server {
  std::string name;  ///< For messages; holds no secret.
  std::vector<setting> settings;
};

/// The servers of a URL or of keywords and values, in the order in which they are named.
/// Post: at least one. Errors: throws misconfigured.
std::vector<server> servers_of(const std::string& url);

}  // namespace callonce::postgres::detail
