#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace payments {

/// How the bank behind the API treats one operation.
enum class behaviour {
  pays,         // money moves, the API answers
  declines,     // no money moves, 402
  unavailable,  // no money moves, 503
  hangs,        // money moves, the API never answers
  cuts,         // money moves, the API's connection breaks before the answer
  crashes       // money moves and is booked, the API's process dies before the answer
};

/// A test card: the `source` of a charge, which decides how the bank treats it.
struct card {
  std::string_view name;
  std::chrono::milliseconds extra_delay{0};
  behaviour on_charge = behaviour::pays;
  behaviour on_refund = behaviour::pays;
  bool once = false;  // misbehaves the first time only, pays from then on
};

/// The card of this name, if there is one.
const card* find_card(std::string_view name);

/// Remembers which operations a `…_once` card has already spoilt. Threads: any.
class bank {
 public:
  /// What becomes of this operation. `operation` names it and stays the same when it is tried
  /// again.
  behaviour decide(const card& card, behaviour usual, const std::string& operation);

 private:
  std::mutex mutex_;
  std::set<std::string> spoilt_;
};

}  // namespace payments
