#pragma once

// Internal to the exam: the subject with short ways to ask it.

#include <optional>
#include <string_view>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <callonce/testkit/store_exam.hpp>

namespace callonce::testkit::exam {

using namespace std::chrono_literals;

/// Runs one operation to its end on this thread.
template <class Reply>
Reply wait_for(asio::awaitable<Reply> operation) {
  asio::io_context io;
  std::optional<Reply> said;
  auto keep = [&](const std::exception_ptr&, Reply reply) { said = std::move(reply); };
  asio::co_spawn(io, std::move(operation), keep);
  io.run();
  return *std::move(said);
}

// C15: one lease and two retentions far apart, so that no unit can be taken for another.
constexpr std::chrono::milliseconds lease = 2s;
constexpr std::chrono::milliseconds retention = 60s;
constexpr std::chrono::milliseconds key_retention = 600s;

inline identity id_of(std::string_view key, std::string_view scope = "alice") {
  return identity{hasher{}.part(scope).finish(), callonce::key{std::string{key}}};
}

inline fingerprint print_of(std::string_view text) {
  return {fingerprint_rule{}, hasher{}.part(text).finish()};
}

inline claim_id claim_number(unsigned number) {
  claim_id made{};
  for (std::size_t at = 0; at < 4; ++at) made[at] = static_cast<std::byte>(number >> (8 * at));
  return made;
}

/// A wish with the exam's terms; the parts that matter to a row are changed by it.
inline claim_request wish_of(const identity& id, unsigned claim = 1, std::string_view print = "a") {
  claim_request made;
  made.id = id;
  made.fingerprint = print_of(print);
  made.claim_id = claim_number(claim);
  made.terms.lease = lease;
  made.terms.retention = retention;
  made.terms.key_retention = key_retention;
  made.terms.response_body_max = 1 << 20;
  made.terms.route = "/v1/charges";
  return made;
}

inline std::shared_ptr<const stored_answer> answer_of(std::string body, int status = 201) {
  stored_answer made;
  made.status = status;
  made.headers.add("Content-Type", "application/json");
  made.headers.add("Location", "/v1/charges/1");
  made.resource = "/v1/charges/1";
  made.body = body_bytes{std::move(body)};
  return std::make_shared<const stored_answer>(std::move(made));
}

/// The subject of one test. A fault of the store fails the test by the exception of `value()`.
class candidate {
 public:
  explicit candidate(exam_subject& of) : of_(of) {}

  exam_subject& subject() { return of_; }
  void use_second() { second_ = true; }
  void use_first() { second_ = false; }
  callonce::store& store() { return second_ ? of_.second() : of_.first(); }

  void pass(std::chrono::milliseconds time) { of_.advance(time, time); }

  claim_reply claim(const claim_request& wish) { return wait_for(store().claim(wish)).value(); }
  write_reply renew(const fence& by) { return whole(by.id, store().renew(by)); }
  write_reply complete(const fence& by, std::shared_ptr<const stored_answer> answer) {
    return whole(by.id, store().complete(by, std::move(answer)));
  }
  write_reply release(const fence& by, std::chrono::milliseconds for_how_long = retention) {
    return whole(by.id, store().release(by, for_how_long));
  }
  write_reply park(const fence& by) { return whole(by.id, store().park(by)); }
  write_reply settle(const settlement& decision) {
    const settle_reason reason{"examiner", "because it is asked"};
    return whole(decision.id, store().settle(decision, reason));
  }
  record_page find(const record_filter& which) { return wait_for(store().find(which)).value(); }

  /// The record as it stands, if there is one.
  std::optional<record> look_up(const identity& id) {
    record_filter exact;
    exact.exact = id;
    record_page page = find(exact);
    if (page.records.empty()) return std::nullopt;
    return std::move(page.records.front());
  }

  /// Purges until there is no more.
  purge_reply purge() {
    purge_reply sum;
    do {
      const purge_reply some = wait_for(store().purge(3)).value();
      sum.bodies += some.bodies;
      sum.records += some.records;
      sum.parked += some.parked;
      sum.more = some.more;
    } while (sum.more);
    return sum;
  }

  /// Claims and is sure to have won.
  fence win(const claim_request& wish) {
    const claim_reply met = claim(wish);
    if (met.verdict != claim_verdict::claimed) throw std::logic_error{"the claim was not won"};
    return {wish.id, wish.claim_id, met.current.attempt};
  }

 private:
  // Only a refusal has to carry the record; here every write is looked at whole.
  write_reply whole(const identity& id, asio::awaitable<result<write_reply>> operation) {
    write_reply said = wait_for(std::move(operation)).value();
    if (said.verdict == write_verdict::done && !said.current) said.current = look_up(id);
    return said;
  }

  exam_subject& of_;
  bool second_ = false;
};

/// A test of the exam.
struct row {
  const char* name;
  void (*run)(candidate& at);
};

const std::vector<row>& claim_rows();
const std::vector<row>& write_rows();
const std::vector<row>& settle_rows();
const std::vector<row>& keeping_rows();
const std::vector<row>& purge_rows();
const std::vector<row>& race_rows();

/// Random sequences of calls, the same to both. Prints its seed when they differ.
void compare_random_calls(const exam_factory& subject, const exam_factory& oracle);

}  // namespace callonce::testkit::exam
