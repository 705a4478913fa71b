#include <memory>
#include <string_view>

#include <libpq-fe.h>

#include <callonce/stores/postgres/misconfigured.hpp>
#include <callonce/stores/postgres/servers.hpp>

namespace callonce::postgres::detail {
namespace {

using parsed = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> made;
  for (;;) {
    const std::size_t comma = list.find(',');
    made.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return made;
    list.remove_prefix(comma + 1);
  }
}

// One value for all, or one for each.
const std::string& part(const std::vector<std::string>& of, std::size_t at) {
  return of.size() == 1 ? of.front() : of.at(at);
}

parsed parse(const std::string& url) {
  char* complaint = nullptr;
  parsed options{PQconninfoParse(url.c_str(), &complaint), &PQconninfoFree};
  const std::unique_ptr<char, decltype(&PQfreemem)> said{complaint, &PQfreemem};
  // The complaint may quote the password.
  if (!options) throw misconfigured{"not a connection string of PostgreSQL"};
  return options;
}

bool is_list(std::string_view keyword) {
  return keyword == "host" || keyword == "hostaddr" || keyword == "port";
}

}  // namespace

std::vector<server> servers_of(const std::string& url) {
  const parsed options = parse(url);
  std::vector<setting> common;
  std::vector<std::string> hosts{""};
  std::vector<std::string> addresses{""};
  std::vector<std::string> ports{""};
  for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each) {
    if (each->val == nullptr) continue;
    const std::string_view keyword = each->keyword;
    if (keyword == "host") hosts = split(each->val);
    if (keyword == "hostaddr") addresses = split(each->val);
    if (keyword == "port") ports = split(each->val);
    // Which of them can be written to is asked of each, and the texts are ours.
    const bool ours = keyword == "target_session_attrs" || keyword == "client_encoding";
    if (!is_list(keyword) && !ours) common.push_back({each->keyword, each->val});
  }
  const std::size_t count = std::max(hosts.size(), addresses.size());
  const auto fits = [&](const auto& list) { return list.size() == 1 || list.size() == count; };
  if (!fits(hosts) || !fits(addresses) || !fits(ports)) {
    throw misconfigured{
        "the connection string names more ports than hosts, or the other way round"};
  }

  std::vector<server> made;
  for (std::size_t at = 0; at < count; ++at) {
    server one{"", common};
    const std::string& host = part(hosts, at);
    const std::string& address = part(addresses, at);
    const std::string& port = part(ports, at);
    if (!host.empty()) one.settings.push_back({"host", host});
    if (!address.empty()) one.settings.push_back({"hostaddr", address});
    if (!port.empty()) one.settings.push_back({"port", port});
    one.settings.push_back({"client_encoding", "UTF8"});
    one.settings.push_back({"fallback_application_name", "callonce"});
    one.name = host.empty() ? (address.empty() ? "the local socket" : address) : host;
    if (!port.empty()) one.name += ":" + port;
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace callonce::postgres::detail
