#include <callonce/stores/group_commit/operation.hpp>

namespace callonce::group_commit {
namespace {

struct find_identity {
  const identity& operator()(const claim_call& of) const { return of.wish.id; }
  const identity& operator()(const settle_call& of) const { return of.decision.id; }
  const identity& operator()(const auto& of) const { return of.by.id; }
};

struct measure_answer {
  std::size_t operator()(const complete_call& of) const { return measured(of.answer.get()); }
  std::size_t operator()(const settle_call& of) const { return measured(of.decision.answer.get()); }
  std::size_t operator()(const auto&) const { return 0; }

  static std::size_t measured(const stored_answer* answer) {
    if (answer == nullptr) return 0;
    std::size_t bytes = answer->body.size() + answer->resource.size();
    for (const field& line : answer->headers) bytes += line.name.size() + line.value.size();
    return bytes;
  }
};

}  // namespace

bool is_claim(const call& what) noexcept {
  return std::holds_alternative<claim_call>(what);
}

const identity& identity_of(const call& what) noexcept {
  return std::visit(find_identity{}, what);
}

std::size_t bytes_of(const call& what) noexcept {
  return sizeof(operation) + identity_of(what).key().bytes().size() +
         std::visit(measure_answer{}, what);
}

}  // namespace callonce::group_commit
