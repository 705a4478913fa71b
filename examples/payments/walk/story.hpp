#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <examples/payments/walk/client.hpp>
#include <examples/payments/walk/house.hpp>
#include <examples/payments/walk/table.hpp>

namespace walk {

/// The walk: every promise of the gateway met by real requests, each row checked against the
/// ledger.
class story {
 public:
  story(house& house, table& table) : house_(house), table_(table) {}

  /// Errors: interrupted; std::runtime_error when a program is gone.
  void tell();

 private:
  void one_key_once();
  void the_bank_says_no();
  void the_client_leaves();
  void the_api_breaks();
  void a_person_decides();
  void the_gateway_dies();

  /// One row: `act` sends and judges; afterwards the ledger has `effects` bookings more. Returns
  /// whether all was right.
  bool row(const std::string& what, const std::string& sent, std::int64_t effects,
           const std::function<finding()>& act);
  reply send(const order& order) const { return walk::send(house_.gateway_port(), order); }
  /// Sends until the answer is another than "in progress", as often as Retry-After allows.
  std::vector<reply> send_until_settled(const order& order);
  /// Waits until the API works on a request.
  void await_in_flight();

  house& house_;
  table& table_;
  order first_order_;
  reply first_reply_;
};

}  // namespace walk
