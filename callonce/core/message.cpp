#include <algorithm>

#include <callonce/core/message.hpp>

namespace callonce {
namespace {

// Most messages have about a dozen lines: one allocation instead of five.
constexpr std::size_t usual_lines = 12;

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool detail::same_letters(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return a == b || lower(a) == lower(b); });
}

std::string media_type_essence(std::string_view content_type) {
  std::string essence;
  for (char c : content_type.substr(0, content_type.find(';'))) {
    if (c != ' ' && c != '\t') essence += lower(c);
  }
  return essence;
}

void header_list::add(std::string name, std::string value) {
  if (lines_.capacity() == 0) lines_.reserve(usual_lines);
  lines_.push_back(field{std::move(name), std::move(value)});
}

void header_list::set(std::string_view name, std::string value) {
  remove(name);
  add(std::string{name}, std::move(value));
}

void header_list::remove(std::string_view name) {
  keep_if([&](const field& line) { return !same_name(line.name, name); });
}

const std::string* header_list::find(std::string_view name) const noexcept {
  const auto found = std::find_if(lines_.begin(), lines_.end(),
                                  [&](const field& line) { return same_name(line.name, name); });
  return found == lines_.end() ? nullptr : &found->value;
}

std::size_t header_list::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      lines_.begin(), lines_.end(), [&](const field& line) { return same_name(line.name, name); }));
}

body_bytes::body_bytes(std::string bytes) {
  if (bytes.empty()) return;
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  bytes_ = std::as_bytes(std::span{owner->data(), owner->size()});
  owner_ = std::move(owner);
}

request::request(std::string method, std::string target, header_list headers, body_bytes content)
    : method_(std::move(method)),
      target_(std::move(target)),
      headers_(std::move(headers)),
      content_(std::move(content)) {}

response::response(int status, header_list headers, body_bytes content)
    : status_(status), headers_(std::move(headers)), content_(std::move(content)) {}

response::response(int status, std::string content_type, body_bytes content)
    : status_(status), content_(std::move(content)) {
  headers_.add("Content-Type", std::move(content_type));
}

response& response::header(std::string name, std::string value) & {
  headers_.add(std::move(name), std::move(value));
  return *this;
}

response&& response::header(std::string name, std::string value) && {
  headers_.add(std::move(name), std::move(value));
  return std::move(*this);
}

}  // namespace callonce
