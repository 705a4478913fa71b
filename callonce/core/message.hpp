#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace callonce {

enum class problem_code : std::uint8_t;

namespace detail {
bool same_letters(std::string_view left, std::string_view right) noexcept;
}

/// Whether two field names, or tokens, are equal with ASCII letters compared without case.
inline bool same_name(std::string_view left, std::string_view right) noexcept {
  // Most names that are compared differ in length already.
  return left.size() == right.size() && detail::same_letters(left, right);
}

/// The type and subtype of a `Content-Type` value, in lower case, without parameters or blanks.
std::string media_type_essence(std::string_view content_type);

/// One header line.
struct field {
  std::string name;
  std::string value;
  friend bool operator==(const field&, const field&) = default;
};

/// Header lines in the order they came; repeated names stay apart; names are looked up without
/// case.
class header_list {
 public:
  using container = std::vector<field>;
  using const_iterator = container::const_iterator;

  header_list() = default;

  void add(std::string name, std::string value);
  /// Replaces all lines of this name by one.
  void set(std::string_view name, std::string value);
  void remove(std::string_view name);
  /// Keeps only the lines for which `wanted(line)` is true.
  template <class Predicate>
  void keep_if(Predicate wanted) {
    std::erase_if(lines_, [&](const field& line) { return !wanted(line); });
  }

  /// The first value under this name, or null.
  const std::string* find(std::string_view name) const noexcept;
  /// How many lines have this name.
  std::size_t count(std::string_view name) const noexcept;

  const_iterator begin() const noexcept { return lines_.begin(); }
  const_iterator end() const noexcept { return lines_.end(); }
  std::size_t size() const noexcept { return lines_.size(); }
  bool empty() const noexcept { return lines_.empty(); }
  void reserve(std::size_t lines) { lines_.reserve(lines); }

  friend bool operator==(const header_list&, const header_list&) = default;

 private:
  container lines_;
};

/// Calls `visit(token)` for each member of a comma-separated field value, blanks trimmed, empty
/// ones skipped.
template <class Visitor>
void for_each_token(std::string_view list, Visitor visit) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view token = list.substr(0, comma);
    const std::size_t first = token.find_first_not_of(" \t");
    if (first != std::string_view::npos) {
      token = token.substr(first, token.find_last_not_of(" \t") - first + 1);
      visit(token);
    }
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
}

/// Bytes with their owner: held in memory, or mapped from an unlinked temporary file.
class body_bytes {
 public:
  body_bytes() = default;
  body_bytes(std::string bytes);  // implicit: a string is a body
  /// `bytes` stay valid as long as `owner` lives.
  body_bytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  friend bool operator==(const body_bytes& left, const body_bytes& right) noexcept {
    return left.text() == right.text();
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

/// What a handler is asked: one complete HTTP request, its body without transfer coding.
class request {
 public:
  request() = default;
  /// `target` is the path with its query, as it is routed and hashed.
  request(std::string method, std::string target, header_list headers = {},
          body_bytes content = {});

  const std::string& method() const noexcept { return method_; }
  const std::string& target() const noexcept { return target_; }
  const header_list& headers() const noexcept { return headers_; }
  header_list& headers() noexcept { return headers_; }
  std::span<const std::byte> body() const noexcept { return content_.bytes(); }
  std::string_view body_text() const noexcept { return content_.text(); }

  /// Whether the peer is a hop whose `trusted:` identity fields may be believed.
  bool from_trusted_hop() const noexcept { return from_trusted_hop_; }
  request& from_trusted_hop(bool trusted) noexcept {
    from_trusted_hop_ = trusted;
    return *this;
  }

 private:
  std::string method_;
  std::string target_;
  header_list headers_;
  body_bytes content_;
  bool from_trusted_hop_ = false;
};

/// A complete HTTP answer: status, header lines, body bytes. Framing is never part of it.
class response {
 public:
  response() = default;
  explicit response(int status, header_list headers = {}, body_bytes content = {});
  response(int status, std::string content_type, body_bytes content);

  int status() const noexcept { return status_; }
  const header_list& headers() const noexcept { return headers_; }
  header_list& headers() noexcept { return headers_; }
  const body_bytes& content() const noexcept { return content_; }
  std::string_view body_text() const noexcept { return content_.text(); }
  /// Lines behind the body, for clients that asked for them.
  const header_list& trailers() const noexcept { return trailers_; }
  header_list& trailers() noexcept { return trailers_; }

  /// The problem that callonce itself answers with this; nothing for a handler's or a stored
  /// answer.
  std::optional<problem_code> made_for() const noexcept { return made_for_; }
  void made_for(problem_code code) noexcept { made_for_ = code; }

  /// Adds one header line.
  response& header(std::string name, std::string value) &;
  response&& header(std::string name, std::string value) &&;

 private:
  int status_ = 200;
  header_list headers_;
  body_bytes content_;
  header_list trailers_;
  std::optional<problem_code> made_for_;
};

}  // namespace callonce
