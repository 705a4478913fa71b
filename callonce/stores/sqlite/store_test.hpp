#pragma once

// What the tests of this folder share: a file, its store, and other programs at the same file.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <callonce/stores/sqlite/store.hpp>

struct sqlite3;

namespace callonce::sqlite {

/// Another program at the same file.
class plain_connection {
 public:
  explicit plain_connection(const std::filesystem::path& file);
  ~plain_connection();
  plain_connection(const plain_connection&) = delete;
  plain_connection& operator=(const plain_connection&) = delete;

  sqlite3* handle() const noexcept { return handle_; }
  /// Expects that it succeeds.
  void run(const std::string& sql);
  /// What it fails with; empty when it succeeds.
  std::string refusal(const std::string& sql);
  /// The first column of the last row: "null" for NULL, nothing without a row.
  std::string ask(const std::string& sql);

 private:
  sqlite3* handle_ = nullptr;
};

/// A folder with one file; its clocks stand still until a test moves them.
class sqlite_store : public testing::Test {
 protected:
  sqlite_store() {
    std::string name = (std::filesystem::temp_directory_path() / "callonce-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~sqlite_store() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file() const { return folder_ / "records.db"; }

  std::unique_ptr<store> open(std::string boot_id = "first boot") {
    options with;
    with.timeout = timeout_;
    with.clocks =
        clocks{[this] { return instant{std::chrono::milliseconds{lease_ms_}}; },
               [this] { return instant{std::chrono::milliseconds{wall_ms_}}; }, std::move(boot_id)};
    return std::make_unique<store>(file(), std::move(with));
  }

  template <class Reply>
  static result<Reply> run(asio::awaitable<result<Reply>> operation) {
    asio::io_context io;
    auto said = asio::co_spawn(io, std::move(operation), asio::use_future);
    io.run();
    return said.get();
  }

  static claim_request wish_for(const std::string& key, unsigned char claim = 1) {
    claim_request made;
    made.id = identity{scope_hash{}, callonce::key{key}};
    made.claim_id[0] = std::byte{claim};
    made.terms.lease = std::chrono::seconds{10};
    made.terms.retention = made.terms.key_retention = std::chrono::minutes{1};
    return made;
  }

  static std::shared_ptr<const stored_answer> answer_with(std::string body) {
    stored_answer made;
    made.status = 201;
    made.body = body_bytes{std::move(body)};
    return std::make_shared<const stored_answer>(std::move(made));
  }

  static void complete(store& at, const std::string& key, const std::string& body) {
    const claim_request wish = wish_for(key);
    run(at.claim(wish)).value();
    run(at.complete({wish.id, wish.claim_id, 1}, answer_with(body))).value();
  }

  std::filesystem::path folder_;
  std::chrono::milliseconds timeout_ = std::chrono::seconds{30};
  std::atomic<std::int64_t> lease_ms_{1'000'000};
  std::atomic<std::int64_t> wall_ms_{1'700'000'000'000};
};

}  // namespace callonce::sqlite
