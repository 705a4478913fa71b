#include <sqlite3.h>

#include <callonce/stores/sqlite/store_test.hpp>

namespace callonce::sqlite {

plain_connection::plain_connection(const std::filesystem::path& file) {
  sqlite3_open(file.c_str(), &handle_);
  sqlite3_busy_timeout(handle_, 5000);
}

plain_connection::~plain_connection() {
  sqlite3_close(handle_);
}

void plain_connection::run(const std::string& sql) {
  EXPECT_EQ(refusal(sql), "") << sql;
}

std::string plain_connection::refusal(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? "" : sqlite3_errmsg(handle_);
}

std::string plain_connection::ask(const std::string& sql) {
  std::string said;
  const auto keep = [](void* into, int, char** columns, char**) {
    static_cast<std::string*>(into)->assign(columns[0] == nullptr ? "null" : columns[0]);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), keep, &said, nullptr), SQLITE_OK)
      << sqlite3_errmsg(handle_);
  return said;
}

}  // namespace callonce::sqlite
