#include <array>
#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cli/columns.hpp>
#include <cli/keys.hpp>
#include <cli/verbs.hpp>
#include <gateway/setting.hpp>
#include <gateway/units.hpp>

namespace callonce::cli {
namespace {

struct list_options {
  store_options from;
  std::string state;
  std::string route;
  std::string older;
  std::size_t limit = 50;
  bool json = false;
};

struct show_options {
  store_options from;
  key_choice which;
  bool json = false;
  bool body = false;
};

std::string seconds_text(std::chrono::milliseconds time) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return std::to_string(whole) + "s";
}

std::string lease_text(const record& of, const moment& read_at) {
  if (of.state != record_state::claimed) return "-";
  const auto left = of.lease_until - read_at.lease;
  return left.count() <= 0 ? "lapsed" : seconds_text(left) + " left";
}

std::string status_text(const record& of) {
  if (of.state != record_state::completed) return "-";
  return of.answer ? std::to_string(of.answer->status) : "unreadable";
}

std::optional<record_state> state_named(const std::string& name) {
  constexpr std::array all{record_state::claimed, record_state::completed, record_state::released,
                           record_state::parked};
  for (const record_state each : all) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

bool read_filter(const list_options& asked, record_filter& into) {
  into.route = asked.route;
  if (!asked.state.empty()) {
    into.state = state_named(asked.state);
    if (!into.state) {
      std::cerr << "--state: use claimed | completed | released | parked\n";
      return false;
    }
  }
  if (!asked.older.empty()) {
    const auto age = gateway::parse_duration(asked.older);
    if (!age) {
      std::cerr << "--older: write a number and its unit, e.g. 5m\n";
      return false;
    }
    into.older_than = *age;
  }
  return true;
}

void print_page(const record_page& page, std::vector<std::vector<std::string>>& rows, bool json) {
  for (const record& each : page.records) {
    if (json) {
      std::cout << boost::json::serialize(to_json(each, page.read_at)) << '\n';
    } else {
      rows.push_back({each.id.record_id(), std::string{to_string(each.state)},
                      std::to_string(each.attempt),
                      seconds_text(page.read_at.wall - each.created_at),
                      lease_text(each, page.read_at), status_text(each), each.terms.route});
    }
  }
}

int list(const list_options& asked) {
  record_filter filter;
  if (!read_filter(asked, filter)) return misused;
  const auto opened = open(asked.from);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  store& records = *std::get<opened_store>(opened).records;
  std::vector<std::vector<std::string>> rows{
      {"ID", "STATE", "ATTEMPT", "AGE", "LEASE", "STATUS", "ROUTE"}};
  std::size_t left = asked.limit;
  do {
    filter.limit = left;
    const result<record_page> page = wait_for(records.find(filter));
    if (!page) {
      std::cerr << "the store failed: " << page.error().message() << '\n';
      return not_started;
    }
    print_page(*page, rows, asked.json);
    left -= std::min(left, page->records.size());
    filter.after = page->next;
  } while (filter.after != 0 && left > 0);
  if (!asked.json) {
    std::cout << in_columns(rows);
    if (filter.after != 0) std::cout << "(more: raise --limit)\n";
  }
  return done;
}

void print_record(const record& of, const moment& read_at) {
  std::vector<std::vector<std::string>> rows{{"record", of.id.record_id()},
                                             {"key", gateway::in_quotes(of.id.key().bytes())},
                                             {"state", std::string{to_string(of.state)}},
                                             {"attempt", std::to_string(of.attempt)},
                                             {"route", of.terms.route},
                                             {"fingerprint", of.fingerprint.rule.text()},
                                             {"created", to_text(of.created_at)},
                                             {"expires", to_text(of.expires_at)},
                                             {"on lapse", of.terms.park ? "parks" : "runs again"}};
  if (of.state == record_state::claimed) rows.push_back({"lease", lease_text(of, read_at)});
  if (of.state == record_state::completed) {
    rows.push_back({"completed", to_text(of.completed_at)});
    rows.push_back({"status", status_text(of)});
  }
  if (of.answer) {
    const bool kept = body_available(of, read_at.wall);
    rows.push_back({"body", kept ? gateway::size_text(of.answer->body.size()) : "not kept"});
    if (!of.answer->resource.empty()) rows.push_back({"resource", of.answer->resource});
    for (const field& line : of.answer->headers) {
      rows.push_back({"header", line.name + ": " + gateway::in_quotes(line.value)});
    }
  }
  std::cout << in_columns(rows);
}

int show(const show_options& asked) {
  const auto opened = open(asked.from);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  const auto found = find_one(std::get<opened_store>(opened), asked.which);
  if (const int* code = std::get_if<int>(&found)) return *code;
  const auto& [what, read_at] = std::get<found_record>(found);
  if (asked.body) {
    if (!what.answer || !body_available(what, read_at.wall)) {
      std::cerr << "the record has no body to give\n";
      return not_applied;
    }
    std::cout << what.answer->body.text();
  } else if (asked.json) {
    boost::json::object made = to_json(what, read_at);
    made["key"] = std::string{what.id.key().bytes()};
    if (what.answer) {
      boost::json::array lines;
      for (const field& line : what.answer->headers) {
        lines.push_back(
            boost::json::array{boost::json::value(line.name), boost::json::value(line.value)});
      }
      made["headers"] = std::move(lines);
    }
    std::cout << boost::json::serialize(made) << '\n';
  } else {
    print_record(what, read_at);
  }
  return done;
}

}  // namespace

void add_keys_list(CLI::App& keys, int& code) {
  auto asked = std::make_shared<list_options>();
  CLI::App* verb = keys.add_subcommand("list", "Records by state, route and age");
  add_store_options(*verb, asked->from);
  verb->add_option("--state", asked->state, "claimed | completed | released | parked")
      ->type_name("STATE");
  verb->add_option("--route", asked->route, "The route's name")->type_name("NAME");
  verb->add_option("--older", asked->older, "Created at least so long ago, e.g. 5m")
      ->type_name("TIME");
  verb->add_option("--limit", asked->limit, "How many at most (50)")
      ->type_name("COUNT")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--json", asked->json, "One JSON object a line");
  verb->callback([asked, &code] { code = list(*asked); });
}

void add_keys_show(CLI::App& keys, int& code) {
  auto asked = std::make_shared<show_options>();
  CLI::App* verb = keys.add_subcommand("show", "Everything about one record");
  add_store_options(*verb, asked->from);
  add_key_choice(*verb, asked->which);
  verb->add_flag("--json", asked->json, "One JSON object");
  verb->add_flag("--body", asked->body, "The stored body and nothing else");
  verb->callback([asked, &code] { code = show(*asked); });
}

}  // namespace callonce::cli
