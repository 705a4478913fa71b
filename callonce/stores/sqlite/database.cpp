#include <sqlite3.h>

#include <callonce/core/digest.hpp>
#include <callonce/stores/group_commit/pause.hpp>
#include <callonce/stores/sqlite/database.hpp>
#include <callonce/stores/sqlite/misconfigured.hpp>

namespace callonce::sqlite::detail {
namespace {

using namespace std::chrono_literals;

// Setting up competes with other processes that start, and with recovery after a crash.
constexpr std::chrono::milliseconds patience_at_start = 5s;
// SQLite's own handler sleeps up to 100 ms and overshoots its limit by 30 ms on average.
constexpr std::chrono::microseconds first_pause = 200us;
constexpr std::chrono::microseconds later_pause = 1ms;
constexpr int quick_asks = 10;
// What the log's file is cut back to after a burst; without it the file stays at its largest.
constexpr const char* journal_size_limit = "pragma journal_size_limit = 67108864";

void expect_ok(int code, const std::string& what, const database& in) {
  if (code == SQLITE_OK) return;
  throw misconfigured{what + ": " + in.message()};
}

std::string ask(database& in, const char* pragma) {
  statement asked{in, pragma};
  return asked.step() ? std::string{asked.text(0)} : std::string{};
}

}  // namespace

database::database(const std::filesystem::path& file, environment& in, int cache_kib)
    : environment_(in), give_up_at_(in.now() + patience_at_start) {
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                        SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
  try {
    const int opened = sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr);
    expect_ok(opened, file.string() + " cannot be opened", *this);
    sqlite3_busy_handler(handle_, &database::on_busy, this);
    if (sqlite3_db_readonly(handle_, "main") == 1) {
      throw misconfigured{file.string() + " can only be read: give the process the right to write"};
    }
    configure(cache_kib);
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

database::~database() {
  sqlite3_close_v2(handle_);
}

// The busy handler stands before the first pragma: that one may meet a recovery already.
void database::configure(int cache_kib) {
  if (ask(*this, "pragma journal_mode") != "wal" &&
      ask(*this, "pragma journal_mode = wal") != "wal") {
    throw misconfigured{"the file cannot be kept with a write-ahead log: " + message()};
  }
  const std::string cache = "pragma cache_size = -" + std::to_string(cache_kib);
  for (const char* pragma : {"pragma synchronous = full", "pragma wal_autocheckpoint = 0",
                             "pragma mmap_size = 0", journal_size_limit, cache.c_str()}) {
    expect_ok(execute(pragma), pragma, *this);
  }
}

int database::on_busy(void* self, int asked_before) {
  const auto& in = *static_cast<const database*>(self);
  if (in.environment_.now() >= in.give_up_at_) return 0;
  group_commit::pause(asked_before < quick_asks ? first_pause : later_pause);
  return 1;
}

int database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  note(code);
  return code;
}

bool database::begin(std::chrono::milliseconds patience) {
  give_up_at_ = environment_.now() + patience;
  return execute("begin immediate") == SQLITE_OK;
}

void database::roll_back() {
  const bool is_open = sqlite3_get_autocommit(handle_) == 0;
  if (is_open) sqlite3_exec(handle_, "rollback", nullptr, nullptr, nullptr);
}

void database::note(int code) noexcept {
  const bool good = code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE;
  if (!good && fault_ == SQLITE_OK) fault_ = code;
}

std::string database::message() const {
  return handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
}

statement::statement(database& in, const std::string& sql) : in_(in) {
  const int code = sqlite3_prepare_v3(in.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  expect_ok(code, "the file's tables are not as expected", in);
}

statement::~statement() {
  sqlite3_finalize(handle_);
}

void statement::bind(int at, std::int64_t value) {
  in_.note(sqlite3_bind_int64(handle_, at, value));
}

void statement::bind(int at, std::span<const std::byte> bytes) {
  // An empty span may be null, and a null pointer would bind NULL.
  const void* data = bytes.empty() ? "" : static_cast<const void*>(bytes.data());
  in_.note(sqlite3_bind_blob64(handle_, at, data, bytes.size(), SQLITE_STATIC));
}

void statement::bind(int at, std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  in_.note(sqlite3_bind_text64(handle_, at, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void statement::bind_null(int at) {
  in_.note(sqlite3_bind_null(handle_, at));
}

bool statement::step() {
  const int code = sqlite3_step(handle_);
  in_.note(code);
  return code == SQLITE_ROW;
}

void statement::run() {
  while (step()) continue;
  reset();
}

void statement::reset() {
  sqlite3_reset(handle_);
}

std::int64_t statement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

std::span<const std::byte> statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return {static_cast<const std::byte*>(data), size};
}

std::string_view statement::text(int column) const {
  return text_of(bytes(column));
}

bool statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

}  // namespace callonce::sqlite::detail
