#include <algorithm>
#include <array>

#include <examples/payments/bank.hpp>

namespace payments {

const card* find_card(std::string_view name) {
  using namespace std::chrono_literals;
  static constexpr std::array cards{
      card{.name = "tok_visa"},
      card{.name = "tok_slow", .extra_delay = 2s},
      card{.name = "tok_declined", .on_charge = behaviour::declines},
      card{.name = "tok_503_once", .on_charge = behaviour::unavailable, .once = true},
      card{.name = "tok_hang", .on_charge = behaviour::hangs},
      card{.name = "tok_cut", .on_charge = behaviour::cuts},
      card{.name = "tok_cut_once", .on_charge = behaviour::cuts, .once = true},
      card{.name = "tok_crash", .on_charge = behaviour::crashes},
      card{.name = "tok_refund_cut", .on_refund = behaviour::cuts},
  };
  const auto found = std::ranges::find(cards, name, &card::name);
  return found == cards.end() ? nullptr : &*found;
}

behaviour bank::decide(const card& card, behaviour usual, const std::string& operation) {
  if (!card.once) return usual;
  const std::lock_guard guard(mutex_);
  return spoilt_.insert(operation).second ? usual : behaviour::pays;
}

}  // namespace payments
