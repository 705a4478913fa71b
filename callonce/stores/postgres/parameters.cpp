#include <callonce/core/digest.hpp>
#include <callonce/stores/postgres/parameters.hpp>

namespace callonce::postgres::detail {
namespace {

constexpr std::size_t header_bytes = 20;
constexpr std::uint32_t null_length = 0xFFFFFFFF;

// How many bytes the UTF-8 sequence at the front has; 0: it is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80                    ? 1
                             : lead >= 0xC2 && lead < 0xE0  ? 2
                             : lead >= 0xE0 && lead < 0xF0  ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (lead == 0 || length == 0 || length > text.size()) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool outside = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return overlong || outside ? 0 : length;
}

}  // namespace

void append_number(std::string& into, std::uint64_t value, unsigned bytes) {
  for (unsigned left = bytes; left > 0; --left) {
    into += static_cast<char>(value >> (8 * (left - 1)));
  }
}

std::string as_text(std::string_view bytes) {
  std::string made;
  made.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    made += length == 0 ? std::string_view{"?"} : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return made;
}

array::array(of elements) : elements_(elements), bytes_(header_bytes, '\0') {}

std::uint32_t array::size_of_number() const {
  switch (elements_) {
    case of::boolean:
      return 1;
    case of::int2:
      return 2;
    case of::int4:
      return 4;
    default:
      return 8;
  }
}

void array::add(std::int64_t number) {
  const std::uint32_t size = size_of_number();
  append_number(bytes_, size, 4);
  append_number(bytes_, static_cast<std::uint64_t>(number), size);
  ++count_;
}

void array::add(bool value) {
  add(std::int64_t{value});
}

void array::add(std::string_view bytes) {
  append_number(bytes_, bytes.size(), 4);
  bytes_ += bytes;
  ++count_;
}

void array::add(std::span<const std::byte> bytes) {
  add(text_of(bytes));
}

void array::add_null() {
  append_number(bytes_, null_length, 4);
  has_null_ = true;
  ++count_;
}

const std::string& array::finish() {
  std::string header;
  append_number(header, count_ == 0 ? 0 : 1, 4);
  append_number(header, has_null_ ? 1 : 0, 4);
  append_number(header, static_cast<std::uint32_t>(elements_), 4);
  append_number(header, count_, 4);
  append_number(header, 1, 4);  // Places count from 1.
  bytes_.replace(0, header_bytes, header);
  return bytes_;
}

message& message::with(array values) {
  parameters.emplace_back(values.finish());
  return *this;
}

message& message::with(std::string bytes) {
  parameters.emplace_back(std::move(bytes));
  return *this;
}

message& message::with_number(std::int64_t number) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint64_t>(number), 8);
  return with(std::move(bytes));
}

message& message::with_null() {
  parameters.emplace_back(std::nullopt);
  return *this;
}

}  // namespace callonce::postgres::detail
