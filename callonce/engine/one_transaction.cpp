#include <callonce/core/replay.hpp>
#include <callonce/engine/one_transaction.hpp>

namespace callonce {

std::optional<claim_request> claim_for(const policy& by, const request& asked, environment& in) {
  const policy_settings& is = by.settings();
  auto admitted = admit(by, asked, in.wall());
  auto* const as = std::get_if<identity>(&admitted);
  if (as == nullptr || asked.body().size() > is.request_body_max) return std::nullopt;
  auto print = fingerprint_of(asked, is.fingerprint, is.request_body_max);
  if (!print) return std::nullopt;
  return claim_request{std::move(*as), *std::move(print), new_claim_id(in), by.terms(),
                       is.max_attempts};
}

stored_answer frozen(const policy& by, const response& answer) {
  const policy_settings& is = by.settings();
  return freeze(answer, is.replay_headers_drop, is.response_body_max);
}

}  // namespace callonce
