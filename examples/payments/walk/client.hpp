#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace walk {

/// One POST: what a client keeps, so that it can send exactly the same again.
struct order {
  std::string path;
  std::string account;
  std::string key;
  std::string body;
};

/// What came back for it.
struct reply {
  int status = 0;  // 0: no answer, `fault` says why
  std::string body;
  std::string content_type;
  std::string location;
  std::string request_id;  // made by the API for each request that it handles
  std::string code;        // of a problem document
  bool retryable = false;
  bool replayed = false;
  std::chrono::seconds retry_after{0};
  std::string fault;

  /// Status, headers and body are those of `other`, byte for byte; only the mark may differ.
  bool repeats(const reply& other) const;
  /// As the table shows it: "409 key_in_progress", "201 replayed".
  std::string text() const;
};

/// Sends it over a connection of its own and gives up, closing it, when no answer came for
/// `patience`.
reply send(int port, const order& order,
           std::chrono::milliseconds patience = std::chrono::seconds(20));

/// The body of a GET, if the answer is 200.
std::optional<std::string> get(int port, const std::string& path);

}  // namespace walk
