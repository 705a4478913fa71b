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
/// Whether a text could be a field name or a method.
bool is_name(std::string_view text);
bool is_printable(std::string_view text);

std::string set_scope(std::optional<scope_rule>& into, const setting_value& given);
std::string show_scope(const std::optional<scope_rule>& rule);
std::string set_file(std::filesystem::path& into, const setting_value& given);
std::string check_printable(const std::string& text);
std::string check_origins(const std::vector<std::string>& origins);
std::string check_profile(const std::string& text);
std::string check_key_header(const std::string& text);
std::string check_auth_path(const std::string& text);
std::string set_fingerprint(place in, const setting_value& given);
std::string show_fingerprint(place in);
std::string set_decode(place in, const setting_value& given);
std::string set_max_attempts(place in, const setting_value& given);
std::string check_methods(const std::vector<std::string>& methods);
std::string check_names(const std::vector<std::string>& names);
std::string check_base(const std::string& text);
std::string check_label(const std::string& text);
std::string check_path(const std::string& text);
std::string set_outcome(place in, const setting_value& given);
std::string show_outcome(place in);

}  // namespace callonce::gateway::readings
