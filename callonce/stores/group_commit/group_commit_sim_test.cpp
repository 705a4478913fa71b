#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "sim_promises.hpp"

namespace callonce::group_commit::sim {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// How this world's database answers a batch; chosen by seed for each batch.
enum class fate {
  answered,
  refused,        // One statement failed.
  cut_before,     // The connection broke before COMMIT was sent.
  lost_applied,   // The COMMIT's reply was lost.
  lost_dropped,   // The COMMIT itself was lost.
  late_commit,    // The server holds the rows and commits, or gives up, later.
  late_execution  // The whole batch lay in a socket buffer and runs later.
};

struct nature {
  bool late = false;              // Late fates and rows held by an application happen.
  bool answers_too_soon = false;  // The broken twin: results before COMMIT.
};

constexpr milliseconds faults_end{4000};
constexpr milliseconds patience{60};

limits small() {
  limits made;
  made.batch_operations = 4;
  made.queue_operations = 5;
  return made;
}

bool is_busy(const reply& said) {
  const auto* met = std::get_if<claim_reply>(&said);
  return met != nullptr ? met->verdict == claim_verdict::busy
                        : std::get<write_reply>(said).verdict == write_verdict::busy;
}

class world {
 public:
  world(std::uint64_t seed, nature of) : random_(seed), nature_(of), plan_(small()) {
    for (int each = 0; each < 6; ++each) at(pick(0, 50), [this] { start_client(); });
    if (nature_.late) at(pick(0, 400), [this] { hold_some_row(); });
  }

  // The first broken promise, if any.
  std::optional<std::string> run() {
    while (!events_.empty() && !promises_.broken()) {
      auto next = events_.extract(events_.begin());
      now_ = next.key();
      database_.now = {instant{now_}, instant{now_}};
      next.mapped()();
      check_answers(plan_.expire(steady()));
      send();
      arm_expiry();
    }
    promises_.check_end(plan_, database_);
    return promises_.broken();
  }

 private:
  struct numbered : caller {
    explicit numbered(std::size_t of) : number(of) {}
    std::size_t number;
  };

  steady_time steady() const { return steady_time{now_}; }
  milliseconds pick(int low, int high) { return milliseconds{number(low, high)}; }
  int number(int low, int high) { return std::uniform_int_distribution{low, high}(random_); }
  bool chance(int percent) { return number(1, 100) <= percent; }
  bool faulty() const { return now_ < faults_end; }
  void at(milliseconds delay, std::function<void()> what) {
    events_.emplace(now_ + delay, std::move(what));
  }

  // Clients.

  void start_client() {
    if (!faulty()) return;
    auto self = std::make_shared<client>();
    const bool poison = chance(5);
    self->id =
        identity{scope_hash{},
                 callonce::key{poison ? "poison" : keys_[static_cast<std::size_t>(number(0, 3))]}};
    for (std::byte& each : self->claim) each = static_cast<std::byte>(number(0, 255));
    ask_claim(self);
  }

  void ask_claim(const std::shared_ptr<client>& self) {
    claim_request wish;
    wish.id = self->id;
    wish.claim_id = self->claim;
    wish.terms.lease = milliseconds{300};
    wish.terms.retention = wish.terms.key_retention = milliseconds{1500};
    ask(self, claim_call{wish});
  }

  void ask(const std::shared_ptr<client>& self, call what) {
    const std::size_t mine = promises_.note(self, what);
    answers refused = plan_.submit(what, std::make_unique<numbered>(mine), steady() + patience);
    promises_.check_refused(what, refused);
    check_answers(std::move(refused));
  }

  void end_run(const std::shared_ptr<client>& self) {
    self->ends_itself = true;
    auto answer = std::make_shared<stored_answer>();
    answer->status = 201;
    answer->body = std::string(1, static_cast<char>(self->claim[0]));
    switch (number(0, 5)) {
      case 0:
        return ask(self, release_call{self->by, 200ms});
      case 1:
        return ask(self, park_call{self->by});
      default:
        return ask(self, complete_call{self->by, answer});
    }
  }

  void on_answer(const asked& about, const outcome& what) {
    const std::shared_ptr<client> self = about.by;
    if (!what || is_busy(*what)) {
      const bool again = what ? true : what.error() == make_error_code(errc::in_doubt);
      if ((again || !is_claim(about.what)) && self->asked_again++ < 3) {
        at(pick(0, 40), [this, self, call_again = about.what] { ask(self, call_again); });
      } else {
        at(pick(0, 100), [this] { start_client(); });
      }
      return;
    }
    const auto* met = std::get_if<claim_reply>(&*what);
    if (met == nullptr || met->verdict != claim_verdict::claimed) {
      at(pick(0, 100), [this] { start_client(); });
      return;
    }
    self->by = fence{self->id, self->claim, met->current.attempt};
    self->told_claimed = true;
    if (chance(30)) ask(self, renew_call{self->by});
    at(pick(0, 500), [this, self] { end_run(self); });
  }

  // The lane.

  void send() {
    while (plan_.ready() && !promises_.broken()) {
      const batch sent = plan_.next_batch();
      promises_.check_batch(sent, small());
      on_its_way(sent, choose_fate(sent));
    }
  }

  fate choose_fate(const batch& sent) {
    for (const operation* each : sent) {
      if (identity_of(each->what).key().bytes() == "poison") return fate::refused;
    }
    if (!faulty() || chance(70)) return fate::answered;
    const fate any = static_cast<fate>(number(1, nature_.late ? 6 : 4));
    return any == fate::refused && sent.size() == 1 ? fate::cut_before : any;
  }

  void on_its_way(const batch& sent, fate how) {
    const milliseconds delay = faulty() && chance(10) ? pick(0, 200) : pick(0, 5);
    const milliseconds half = delay / 2;
    switch (how) {
      case fate::refused:
        return at(delay, [this] { check_answers(plan_.failed(batch_fault::refused)); });
      case fate::cut_before:
        return at(delay, [this] { check_answers(plan_.failed(batch_fault::not_applied)); });
      case fate::late_execution:
        run_late(sent);
        break;
      case fate::late_commit:
        at(half, [this, sent] { commit_late(sent); });
        break;
      case fate::lost_applied:
        at(half, [this, sent] { commit(database_.execute(sent)); });
        break;
      case fate::lost_dropped:
        break;
      case fate::answered:
        return at(half, [this, sent, half] { serve(sent, half); });
    }
    at(delay, [this] { check_answers(plan_.failed(batch_fault::in_doubt)); });
  }

  void serve(const batch& sent, milliseconds delay) {
    const transaction made = database_.execute(sent);
    const bool commits = !nature_.answers_too_soon || !faulty() || chance(90);
    if (commits) commit(made);
    at(delay, [this, made] {
      std::vector<outcome> results;
      for (const effect& each : made) results.push_back(each.met);
      check_answers(plan_.applied(std::move(results)));
    });
  }

  // The calls go on to live in the server's buffers, whatever becomes of the lane's operations.
  void run_late(const batch& sent) {
    auto calls = std::make_shared<std::vector<operation>>();
    for (const operation* each : sent) {
      operation copy;
      copy.what = each->what;
      calls->push_back(std::move(copy));
      promises_.touched_late(key_of(identity_of(each->what)));
    }
    at(pick(0, 400), [this, calls] {
      batch all;
      for (const operation& each : *calls) all.push_back(&each);
      commit(database_.execute(all), is_late::yes);
    });
  }

  void commit_late(const batch& sent) {
    const transaction made = database_.execute(sent);
    std::vector<identity> rows;
    for (const effect& each : made) {
      if (!each.write) continue;
      rows.push_back(each.write->id);
      database_.hold(rows.back());
      promises_.touched_late(key_of(rows.back()));
    }
    const bool gives_up = chance(40);
    at(pick(0, 400), [this, made, rows, gives_up] {
      if (!gives_up) commit(made, is_late::yes);
      for (const identity& each : rows) database_.let_go(each);
    });
  }

  void hold_some_row() {
    if (!faulty()) return;
    const identity id{scope_hash{}, callonce::key{keys_[static_cast<std::size_t>(number(0, 3))]}};
    promises_.touched_late(key_of(id));
    database_.hold(id);
    at(pick(0, 300), [this, id] { database_.let_go(id); });
    at(pick(0, 800), [this] { hold_some_row(); });
  }

  void commit(const transaction& all, is_late late = is_late::no) {
    database_.commit(all);
    promises_.check_commit(all, database_, late);
  }

  void check_answers(answers ended) {
    for (const answer& each : ended) {
      const std::size_t mine = static_cast<const numbered&>(*each.who).number;
      on_answer(promises_.check_answer(mine, each.what, database_), each.what);
    }
  }

  void arm_expiry() {
    const steady_time next = plan_.next_expiry();
    if (next == steady_time::max()) return;
    const auto when = std::chrono::duration_cast<milliseconds>(next.time_since_epoch());
    if (armed_.insert(when).second) events_.emplace(std::max(when, now_), [] {});
  }

  const std::vector<std::string> keys_{"a", "b", "c", "d"};
  std::mt19937_64 random_;
  nature nature_;
  milliseconds now_{1};
  std::multimap<milliseconds, std::function<void()>> events_;
  std::set<milliseconds> armed_;
  database database_;
  plan plan_;
  promises promises_;
};

std::uint64_t worlds_wanted() {
  const char* wanted = std::getenv("CALLONCE_SIM_WORLDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 200;
}

void expect_whole(nature of) {
  const std::uint64_t worlds = worlds_wanted();
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    const auto broken = world{seed, of}.run();
    ASSERT_FALSE(broken) << "seed " << seed << ": " << *broken;
  }
  std::cout << "seeds 1 to " << worlds << ": every promise held\n";
}

TEST(group_commit_sim, promises_hold_while_statements_fail_and_replies_are_lost) {
  expect_whole(nature{});
}

TEST(group_commit_sim, promises_hold_while_commits_arrive_late_and_rows_are_held) {
  nature worst;
  worst.late = true;
  expect_whole(worst);
}

// The check must be able to fail: results that are handed out before COMMIT was answered.
TEST(group_commit_sim, the_twin_results_before_commit_is_caught) {
  nature twin;
  twin.answers_too_soon = true;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    if (const auto broken = world{seed, twin}.run()) {
      std::cout << "found by seed " << seed << ": " << *broken << '\n';
      return;
    }
  }
  FAIL() << "100 worlds did not notice";
}

}  // namespace
}  // namespace callonce::group_commit::sim
