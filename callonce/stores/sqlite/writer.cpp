#include <sqlite3.h>

#include <callonce/stores/sqlite/misconfigured.hpp>
#include <callonce/stores/sqlite/writer.hpp>

namespace callonce::sqlite::detail {
namespace {

using namespace std::chrono_literals;
using group_commit::batch_fault;
using group_commit::outcome;
using group_commit::reply;

// An application may hold the write lock; the lane looks up now and then, for what came meanwhile
// goes first, and so that it can be stopped.
constexpr std::chrono::milliseconds patience_for_the_lock = 100ms;
// About the size of the index at a few million records; more gains nothing.
constexpr int cache_kib = 64 * 1024;

int primary(int code) {
  return code & 0xFF;
}

}  // namespace

struct writer::session {
  session(const std::filesystem::path& file, environment& in, const clocks& by,
          checkpointer& helper)
      : over(file, in, cache_kib),
        records(over, by),
        audit(over,
              "insert into callonce_audit (at_ms, key_index, attempt, state, who, why) "
              "values (?1, ?2, ?3, ?4, ?5, ?6)") {
    sqlite3_wal_hook(over.handle(), &session::on_commit, &helper);
  }

  static int on_commit(void* helper, sqlite3*, const char*, int log_pages) {
    static_cast<checkpointer*>(helper)->committed(log_pages);
    return SQLITE_OK;
  }

  database over;
  rows records;
  statement audit;
};

// Reads one record, asks the rule, writes what it says.
struct writer::judge {
  session& in;
  moment now;
  steady_time sent_at;

  outcome operator()(const group_commit::claim_call& of) {
    const result<std::optional<row>> met = in.records.find(of.wish.id);
    if (!met) return met.error();
    const row* found = *met ? &**met : nullptr;
    claim_step step = on_claim(found != nullptr ? &found->current : nullptr, of.wish, now);
    if (step.write) in.records.write(*step.write, found);
    claim_reply said;
    said.verdict = step.verdict;
    said.kind = step.kind;
    said.current = step.write ? *std::move(step.write) : found->current;
    said.judged_at = now;
    said.sent_at = sent_at;
    return reply{std::move(said)};
  }

  outcome operator()(const group_commit::renew_call& of) {
    return write(of.by.id, [&](const record* found) { return on_renew(found, of.by, now); });
  }

  outcome operator()(const group_commit::complete_call& of) {
    return write(of.by.id,
                 [&](const record* found) { return on_complete(found, of.by, of.answer, now); });
  }

  outcome operator()(const group_commit::release_call& of) {
    return write(of.by.id,
                 [&](const record* found) { return on_release(found, of.by, of.retention, now); });
  }

  outcome operator()(const group_commit::park_call& of) {
    return write(of.by.id, [&](const record* found) { return on_park(found, of.by); });
  }

  outcome operator()(const group_commit::settle_call& of) {
    return write(of.decision.id, [&](const record* found) {
      write_step step = on_settle(found, of.decision, now);
      if (step.write) note(*step.write, of.reason);
      return step;
    });
  }

  template <class Rule>
  outcome write(const identity& id, Rule rule) {
    result<std::optional<row>> met = in.records.find(id);
    if (!met) return met.error();
    row* found = *met ? &**met : nullptr;
    write_step step = rule(found != nullptr ? &found->current : nullptr);
    if (step.write) in.records.write(*step.write, found);
    write_reply said;
    said.verdict = step.verdict;
    if (step.write) {
      said.current = std::move(step.write);
    } else if (found != nullptr) {
      said.already = step.verdict == write_verdict::done;
      said.current = std::move(found->current);
    }
    said.judged_at = now;
    said.sent_at = sent_at;
    return reply{std::move(said)};
  }

  void note(const record& settled, const settle_reason& reason) {
    in.audit.bind(1, static_cast<std::int64_t>(now.wall.time_since_epoch().count()));
    in.audit.bind(2, std::span<const std::byte>{settled.id.index()});
    in.audit.bind(3, static_cast<std::int64_t>(settled.attempt));
    in.audit.bind(4, static_cast<std::int64_t>(settled.state));
    in.audit.bind(5, std::string_view{reason.who});
    in.audit.bind(6, std::string_view{reason.why});
    in.audit.run();
  }
};

writer::writer(std::filesystem::path file, environment& in, const clocks& by, checkpointer& helper)
    : file_(std::move(file)),
      environment_(in),
      clocks_(by),
      helper_(helper),
      turnstile_(file_, in) {
  open();
}

writer::~writer() = default;

void writer::open() {
  session_ = std::make_unique<session>(file_, environment_, clocks_, helper_);
}

group_commit::connection::results writer::apply(
    std::span<const group_commit::operation* const> batch) {
  if (helper_.wants_lane()) checkpoint(session_->over);
  const turn mine{turnstile_};
  results made = apply_in_turn(batch);
  session_->over.roll_back();
  return made;
}

group_commit::connection::results writer::apply_in_turn(
    std::span<const group_commit::operation* const> batch) {
  database& over = session_->over;
  over.clear_fault();
  if (!over.begin(patience_for_the_lock)) return batch_fault::not_applied;

  const steady_time sent_at = environment_.now();
  judge by{*session_, session_->records.now(), sent_at};
  std::vector<outcome> met;
  met.reserve(batch.size());
  for (const group_commit::operation* each : batch) {
    met.push_back(std::visit(by, each->what));
    if (over.fault() != SQLITE_OK) return explain(batch.size(), false);
  }
  if (over.execute("commit") != SQLITE_OK) return explain(batch.size(), true);
  return met;
}

// What a failed statement, or a failed COMMIT, means for the batch; it is rolled back, by SQLite
// itself or by the caller.
group_commit::connection::results writer::explain(std::size_t operations, bool committing) {
  switch (primary(session_->over.fault())) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT:
      return batch_fault::not_applied;
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_NOMEM:
      // All share this, and trying again soon will not help: the callers hear it at once.
      return std::vector<outcome>(operations, make_error_code(errc::unavailable));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      if (operations > 1) return batch_fault::refused;
      return std::vector<outcome>(operations, make_error_code(errc::corrupt));
    case SQLITE_IOERR:
      // The frames of a COMMIT may lie in the log although they could not be synced.
      if (committing) return batch_fault::in_doubt;
      return std::vector<outcome>(operations, make_error_code(errc::unavailable));
    default:
      return committing ? batch_fault::in_doubt : batch_fault::refused;
  }
}

// The old connection is dropped only once there is a new one.
bool writer::recover() {
  if (primary(session_->over.fault()) == SQLITE_BUSY) return true;
  try {
    open();
    return true;
  } catch (const misconfigured&) {
    return false;
  }
}

}  // namespace callonce::sqlite::detail
