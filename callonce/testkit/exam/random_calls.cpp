#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include <callonce/testkit/exam/candidate.hpp>

namespace callonce::testkit::exam {
namespace {

// A record in words, with every instant as a distance from the store's own clocks.
void tell(std::ostream& out, const record& of, moment now) {
  out << of.id.key().bytes() << ' ' << to_string(of.state) << " attempt " << of.attempt << " claim "
      << to_hex(of.claim_id) << " print " << of.fingerprint.rule.text() << ':'
      << to_hex(of.fingerprint.value) << " lease " << (of.lease_until - now.lease).count()
      << " created " << (of.created_at - now.wall).count() << " expires "
      << (of.expires_at - now.wall).count() << " park " << of.terms.park;
  if (of.state != record_state::completed) return;
  out << " completed " << (of.completed_at - now.wall).count() << " body until "
      << (of.body_until - now.wall).count();
  if (of.answer) {
    out << " answer " << of.answer->status << " '" << of.answer->body.text() << "' omitted "
        << static_cast<int>(of.answer->omitted) << " lines " << of.answer->headers.size();
  }
}

// One call, chosen and worded the same for both stores.
class random_caller {
 public:
  explicit random_caller(std::uint64_t seed) : random_(seed) {}

  /// Calls both. Post: what each of them said, in words.
  std::pair<std::string, std::string> call(candidate& subject, candidate& oracle) {
    const int kind = number(0, 19);
    const call_choice choice = choose();
    return {make(subject, kind, choice), make(oracle, kind, choice)};
  }

 private:
  struct call_choice {
    identity id;
    claim_id claim{};
    std::uint32_t attempt = 0;
    claim_request wish;
    std::shared_ptr<const stored_answer> answer;
    std::chrono::milliseconds time{};
  };

  int number(int low, int high) { return std::uniform_int_distribution{low, high}(random_); }

  call_choice choose() {
    call_choice made;
    made.id = id_of(std::string(1, static_cast<char>('a' + number(0, 3))));
    made.claim = claim_number(static_cast<unsigned>(number(1, 6)));
    made.attempt = static_cast<std::uint32_t>(number(1, 4));
    made.wish = wish_of(made.id, 0, number(0, 3) == 0 ? "b" : "a");
    made.wish.claim_id = made.claim;
    made.wish.terms.park = number(0, 5) == 0;
    if (number(0, 20) == 0) {
      made.wish.fingerprint.rule = fingerprint_rule{fingerprint_rule::kind::json};
    }
    made.answer =
        answer_of(number(0, 3) == 0 ? "" : std::string(1, static_cast<char>(number(65, 70))));
    const std::array times{1ms, 700ms, 2000ms, 30'000ms, 60'000ms, 601'000ms};
    made.time = times[static_cast<std::size_t>(number(0, static_cast<int>(times.size()) - 1))];
    return made;
  }

  static std::string make(candidate& at, int kind, const call_choice& with) {
    std::ostringstream out;
    // Half of the writes use the fence that stands in the record, so that many of them succeed.
    fence by{with.id, with.claim, with.attempt};
    const auto found = at.look_up(with.id);
    if (found && with.attempt % 2 == 0) by = {with.id, found->claim_id, found->attempt};
    switch (kind) {
      default:
        tell_claim(out << "claim ", at.claim(with.wish));
        break;
      case 8:
        tell_write(out << "renew ", at.renew(by));
        break;
      case 9:
      case 10:
      case 11:
        tell_write(out << "complete ", at.complete(by, with.answer));
        break;
      case 12:
        tell_write(out << "release ", at.release(by, with.time));
        break;
      case 13:
        tell_write(out << "park ", at.park(by));
        break;
      case 14: {
        const settlement decision{with.id, by.attempt, with.claim,
                                  with.attempt > 2 ? with.answer : nullptr, with.time};
        tell_write(out << "settle ", at.settle(decision));
        break;
      }
      case 15: {
        const purge_reply done = at.purge();
        out << "purge " << done.bodies << ' ' << done.records << ' ' << done.parked;
        break;
      }
      case 16:
      case 17:
        at.pass(with.time);
        out << "pass " << with.time.count();
        break;
      case 18: {
        at.subject().restart();
        const record_page page = at.find({});
        for (const record& each : page.records) tell(out << "; ", each, page.read_at);
        break;
      }
    }
    return out.str();
  }

  static void tell_claim(std::ostream& out, const claim_reply& met) {
    out << static_cast<int>(met.verdict) << ' ';
    if (met.verdict == claim_verdict::claimed) out << to_string(met.kind) << ' ';
    tell(out, met.current, met.judged_at);
  }

  static void tell_write(std::ostream& out, const write_reply& met) {
    out << static_cast<int>(met.verdict) << ' ';
    if (met.current) tell(out, *met.current, met.judged_at);
  }

  std::mt19937_64 random_;
};

std::uint64_t seed_to_begin_with() {
  const char* wanted = std::getenv("CALLONCE_EXAM_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device{}();
}

}  // namespace

void compare_random_calls(const exam_factory& subject, const exam_factory& oracle) {
  constexpr int sequences = 12;
  constexpr int calls = 120;
  const std::uint64_t first = seed_to_begin_with();
  std::cout << "seeds " << first << " to " << first + sequences - 1
            << " (CALLONCE_EXAM_SEED begins elsewhere)\n";
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    const auto subject_made = subject();
    const auto oracle_made = oracle();
    candidate examined{*subject_made};
    candidate right{*oracle_made};
    random_caller caller{seed};
    for (int call = 0; call < calls; ++call) {
      const auto [said, expected] = caller.call(examined, right);
      ASSERT_EQ(said, expected) << "call " << call << " of seed " << seed;
    }
  }
}

}  // namespace callonce::testkit::exam
