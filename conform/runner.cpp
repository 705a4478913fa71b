#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include <conform/row.hpp>
#include <conform/runner.hpp>

namespace conform {
namespace {

// Most rows wait for leases and timeouts, so that many fit on one processor.
constexpr int rows_at_once = 8;

struct verdict {
  enum class kind { passed, failed, skipped } what = kind::passed;
  std::string detail;
};

std::vector<row> all_rows() {
  std::vector<row> rows;
  for (const auto& table :
       {header_syntax_rows(), method_rows(), replay_rows(), fingerprint_rows(), concurrency_rows(),
        freezing_rows(), lease_rows(), scope_rows(), retention_rows(), plumbing_rows(),
        profile_rows(), payload_case_rows(), record_case_rows(), encoding_case_rows(),
        edge_case_rows(), operator_case_rows()}) {
    rows.insert(rows.end(), table.begin(), table.end());
  }
  return rows;
}

bool is_asked_for(std::string_view ids, std::string_view prefix) {
  return ids.starts_with(prefix) || ids.find(" " + std::string{prefix}) != std::string_view::npos;
}

std::vector<row> chosen_rows(const std::vector<std::string>& only) {
  std::vector<row> rows = all_rows();
  std::erase_if(rows, [&](const row& one) {
    return !only.empty() && std::none_of(only.begin(), only.end(), [&](const std::string& prefix) {
      return is_asked_for(one.id, prefix);
    });
  });
  return rows;
}

verdict judge(const row& one, fixture& shared) {
  if (one.run == nullptr) return {verdict::kind::skipped, one.skip};
  trial t{shared};
  try {
    one.run(t);
  } catch (const skipped& reason) {
    return {verdict::kind::skipped, reason.what()};
  } catch (const std::exception& problem) {
    t.expect(false, problem.what());
  }
  const std::string failures = t.failures();
  return {failures.empty() ? verdict::kind::passed : verdict::kind::failed, failures};
}

// Prints verdicts in the order of the rows, each as soon as all before it are known.
class report {
 public:
  report(const std::vector<row>& rows, std::ostream& to)
      : rows_(rows), to_(to), verdicts_(rows.size()) {}

  void add(std::size_t index, verdict known) {
    const std::lock_guard guard{mutex_};
    verdicts_[index] = std::move(known);
    for (; next_ < rows_.size() && verdicts_[next_]; ++next_)
      print(rows_[next_], *verdicts_[next_]);
    to_.flush();
  }

  int failed() const { return counts_[1]; }

  void close() {
    to_ << counts_[0] << " passed, " << counts_[1] << " failed, " << counts_[2] << " skipped\n";
  }

 private:
  void print(const row& one, const verdict& known) {
    constexpr std::array words{"ok  ", "FAIL", "skip"};
    const auto index = static_cast<std::size_t>(known.what);
    ++counts_[index];
    to_ << words[index] << ' ' << one.id << "  " << one.sentence;
    if (!known.detail.empty()) {
      // What was seen may hold any bytes; a row is one printable line.
      std::string detail = known.detail;
      std::replace_if(
          detail.begin(), detail.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
      to_ << ": " << detail;
    }
    to_ << '\n';
  }

  const std::vector<row>& rows_;
  std::ostream& to_;
  std::mutex mutex_;
  std::vector<std::optional<verdict>> verdicts_;
  std::size_t next_ = 0;
  std::array<int, 3> counts_{};
};

void run_company(const std::vector<row>& rows, fixture& shared, report& results, company with) {
  std::atomic<std::size_t> next{0};
  in_parallel(with == company::any ? rows_at_once : 1, [&](int) {
    for (std::size_t i = next++; i < rows.size(); i = next++) {
      if (rows[i].with == with) results.add(i, judge(rows[i], shared));
    }
  });
}

std::uint16_t start_application(process& app, const run_options& options,
                                const std::filesystem::path& log) {
  app.start({options.effect_app.string()}, log);
  constexpr std::string_view said = "listening on 127.0.0.1:";
  for (int i = 0; i < 500 && app.running(); ++i) {
    const std::string text = file_text(log);
    const auto at = text.find(said);
    std::uint16_t port = 0;
    if (at != std::string::npos && text.find('\n', at) != std::string::npos) {
      std::from_chars(text.data() + at + said.size(), text.data() + text.size(), port);
      return port;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  throw std::runtime_error("the effect application does not start: " + file_text(log));
}

std::filesystem::path own_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "conform-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  return name;
}

}  // namespace

int run_rows(const run_options& options, std::ostream& to) {
  const std::vector<row> rows = chosen_rows(options.only);
  if (rows.empty()) throw std::runtime_error("no row has such an id");
  fixture shared;
  shared.callonce = options.callonce;
  shared.directory = own_directory();
  shared.deep = options.deep;
  shared.new_store = options.new_store;
  process app;
  shared.app = start_application(app, options, shared.directory / "app.log");
  node_options both;
  both.store = shared.directory / "shared.db";
  both.store_url = make_store(shared, "shared");
  both.upstream = shared.app;
  shared.n1 = std::make_unique<node>(shared.callonce, shared.directory, "n1", both);
  shared.n2 = std::make_unique<node>(shared.callonce, shared.directory, "n2", both);
  shared.n1->start();
  shared.n2->start();
  report results{rows, to};
  run_company(rows, shared, results, company::any);
  run_company(rows, shared, results, company::alone);
  shared.n1->stop();
  shared.n2->stop();
  if (results.failed() == 0) {
    std::filesystem::remove_all(shared.directory);
  } else {
    to << "configurations and logs: " << shared.directory.string() << '\n';
  }
  results.close();
  return results.failed() == 0 ? 0 : 1;
}

void list_rows(std::ostream& to) {
  for (const row& one : all_rows()) {
    const std::string_view ids = one.id;
    to << "- **" << ids.substr(0, ids.find(' ')) << "** " << one.sentence << '\n';
  }
}

}  // namespace conform
