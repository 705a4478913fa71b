#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>

#include <callonce/stores/postgres/session.hpp>

namespace callonce::postgres::detail {
namespace {

// Waits until the socket can be read, or written too. Post: false when `until` has come.
bool wait_for(int socket, bool to_write, bool to_read, environment& in, steady_time until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - in.now());
    if (left.count() <= 0) return false;
    pollfd one{socket, 0, 0};
    if (to_read) one.events |= POLLIN;
    if (to_write) one.events |= POLLOUT;
    constexpr std::chrono::milliseconds at_most{60'000};
    const int met = poll(&one, 1, static_cast<int>(std::min(left, at_most).count()));
    if (met > 0) return true;
  }
}

std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

table::table(pg_result* from) : from_(from, &PQclear) {}

int table::rows() const {
  return PQntuples(from_.get());
}

bool table::is_null(int row, int column) const {
  return PQgetisnull(from_.get(), row, column) != 0;
}

std::string_view table::bytes(int row, int column) const {
  return {PQgetvalue(from_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(from_.get(), row, column))};
}

std::int64_t table::integer(int row, int column) const {
  const std::string_view sent = bytes(row, column);
  const std::uint64_t value = number_of(sent);
  switch (sent.size()) {
    case 2:
      return static_cast<std::int16_t>(value);
    case 4:
      return static_cast<std::int32_t>(value);
    default:
      return static_cast<std::int64_t>(value);
  }
}

std::string_view table::tag() const {
  return PQcmdStatus(from_.get());
}

std::string_view table::fault() const {
  switch (PQresultStatus(from_.get())) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      return {};
    case PGRES_PIPELINE_ABORTED:
      return "25P02";  // in_failed_sql_transaction: an earlier statement had failed.
    default:
      break;
  }
  // An error that has no code was made here, by libpq: the connection is gone.
  const char* code = PQresultErrorField(from_.get(), PG_DIAG_SQLSTATE);
  return code != nullptr ? std::string_view{code} : std::string_view{"08006"};
}

std::string table::complaint() const {
  const char* text = PQresultErrorField(from_.get(), PG_DIAG_MESSAGE_PRIMARY);
  return text != nullptr ? text : "the connection is gone";
}

std::string_view round_trip::fault() const {
  for (const table& each : answers) {
    if (!each.fault().empty()) return each.fault();
  }
  return {};
}

session::session(pg_conn* over, environment& in) : over_(over), environment_(in) {
  PQsetNoticeReceiver(over_, &session::on_notice, this);
}

session::~session() {
  PQfinish(over_);
}

std::unique_ptr<session> session::open(const server& to, environment& in, steady_time until,
                                       std::string& complaint) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const setting& each : to.settings) {
    keywords.push_back(each.keyword.c_str());
    values.push_back(each.value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  pg_conn* over = PQconnectStartParams(keywords.data(), values.data(), 0);
  if (over == nullptr) throw std::bad_alloc{};
  std::unique_ptr<session> made{new session{over, in}};
  if (made->connect(until)) return made;
  complaint = PQerrorMessage(over);
  complaint = complaint.substr(0, complaint.find('\n'));
  if (complaint.empty()) complaint = "no answer";
  return nullptr;
}

bool session::connect(steady_time until) {
  for (auto next = PGRES_POLLING_WRITING; PQstatus(over_) != CONNECTION_BAD;) {
    if (next == PGRES_POLLING_OK) {
      return PQsetnonblocking(over_, 1) == 0 && PQenterPipelineMode(over_) == 1;
    }
    if (next == PGRES_POLLING_FAILED) return false;
    const bool writes = next == PGRES_POLLING_WRITING;
    if (!wait_for(PQsocket(over_), writes, !writes, environment_, until)) return false;
    next = PQconnectPoll(over_);
  }
  return false;
}

// A warning with a COMMIT says that it might not have been replicated.
void session::on_notice(void* self, const pg_result* notice) {
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity != nullptr && std::strcmp(severity, "WARNING") == 0) {
    static_cast<session*>(self)->warned_ = true;
  }
}

bool session::send(std::span<const message> statements) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const message& each : statements) {
    values.clear();
    lengths.clear();
    for (const auto& parameter : each.parameters) {
      values.push_back(parameter ? parameter->data() : nullptr);
      lengths.push_back(parameter ? static_cast<int>(parameter->size()) : 0);
    }
    formats.assign(values.size(), 1);
    const int sent = PQsendQueryParams(over_, each.sql.c_str(), static_cast<int>(values.size()),
                                       nullptr, values.data(), lengths.data(), formats.data(), 1);
    if (sent != 1) return false;
  }
  return PQpipelineSync(over_) == 1;
}

bool session::flush_and_read(bool want_write, steady_time until) {
  if (!wait_for(PQsocket(over_), want_write, true, environment_, until)) return false;
  return PQconsumeInput(over_) == 1;
}

bool session::take_answers(round_trip& into, steady_time until) {
  for (;;) {
    const int unsent = PQflush(over_);
    if (unsent < 0) return false;
    for (bool ended = false; PQisBusy(over_) == 0;) {
      pg_result* one = PQgetResult(over_);
      if (one == nullptr) {
        // Once it is the end of a statement's answers; twice, there is nothing to read yet.
        if (std::exchange(ended, true)) break;
        continue;
      }
      ended = false;
      const bool last = PQresultStatus(one) == PGRES_PIPELINE_SYNC;
      into.warned = (last && into.warned) || std::exchange(warned_, false);
      if (last) {
        PQclear(one);
        return true;
      }
      into.answers.emplace_back(one);
    }
    if (PQstatus(over_) == CONNECTION_BAD) return false;
    if (!flush_and_read(unsent == 1, until)) return false;
  }
}

round_trip session::ask(std::span<const message> statements, steady_time until) {
  round_trip made;
  warned_ = false;
  made.complete = usable_ && send(statements) && take_answers(made, until);
  usable_ = made.complete;
  return made;
}

round_trip session::ask(const std::string& sql, steady_time until) {
  const message one{sql};
  return ask(std::span{&one, 1}, until);
}

std::string session::run_script(const std::string& script, steady_time until) {
  if (!usable_) return "the connection is gone";
  usable_ = false;
  std::string complaint;
  if (PQexitPipelineMode(over_) != 1 || PQsendQuery(over_, script.c_str()) != 1) {
    return "the script cannot be sent";
  }
  for (;;) {
    const int unsent = PQflush(over_);
    if (unsent < 0) return "the connection is gone";
    while (PQisBusy(over_) == 0) {
      pg_result* one = PQgetResult(over_);
      if (one == nullptr) {
        usable_ = PQstatus(over_) != CONNECTION_BAD && PQenterPipelineMode(over_) == 1;
        return complaint;
      }
      const table answer{one};
      if (complaint.empty() && !answer.fault().empty()) complaint = answer.complaint();
    }
    if (!flush_and_read(unsent == 1, until)) return "the server does not answer any more";
  }
}

}  // namespace callonce::postgres::detail
