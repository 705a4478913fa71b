#include <algorithm>

#include <callonce/core/record.hpp>

namespace callonce {

identity::identity(const scope_hash& scope, callonce::key key)
    : scope_(scope), key_(std::move(key)) {
  const digest whole = hasher{}.part(scope_).part(key_.bytes()).finish();
  std::copy_n(whole.begin(), index_.size(), index_.begin());
}

std::string identity::record_id() const {
  return to_hex(std::span{index_}.first<8>());
}

std::string_view to_string(record_state state) noexcept {
  switch (state) {
    case record_state::claimed:
      return "claimed";
    case record_state::completed:
      return "completed";
    case record_state::released:
      return "released";
    case record_state::parked:
      return "parked";
  }
  return "unknown";
}

}  // namespace callonce
