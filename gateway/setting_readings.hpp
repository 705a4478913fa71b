#pragma once

#include <string>
#include <vector>

#include <gateway/setting.hpp>

/// How the settings that are more than a number, a length of time or a word are read and shown.
/// A `set_` function gives what is wrong and what to do, or nothing; a `check_` function likewise.
namespace callonce::gateway::readings {

std::string set_listen(place in, const setting_value& given);
std::string show_listen(place in);
std::string upstream_text(const std::optional<endpoint>& where);
std::string set_upstream(std::optional<endpoint>& into, const setting_value& given);
std::string set_admin(place in, const setting_value& given);
std::string set_proxies(place in, const setting_value& given);
std::string show_proxies(place in);
std::string set_store(place in, const setting_value& given);
std::string show_store(place in);
std::string set_scope(place in, const setting_value& given);
std::string check_methods(const std::vector<std::string>& methods);
std::string check_names(const std::vector<std::string>& names);
std::string check_base(const std::string& text);
std::string check_label(const std::string& text);
std::string check_path(const std::string& text);
std::string set_outcome(place in, const setting_value& given);
std::string show_outcome(place in);

}  // namespace callonce::gateway::readings
