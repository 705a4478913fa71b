#include <string>

#include <callonce/core/error.hpp>

namespace callonce {
namespace {

class category_type final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "callonce"; }

  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::unavailable:
        return "the store is unavailable; nothing was written";
      case errc::in_doubt:
        return "the acknowledgement was lost; the write may or may not have been applied";
      case errc::corrupt:
        return "the record's content cannot be trusted";
      case errc::misconfigured:
        return "the store cannot be used safely as it is set up";
      case errc::claim_lost:
        return "the claim is lost; the transaction must be rolled back";
      case errc::already_completed:
        return "this claim has completed its record already; the effect must not be repeated";
      case errc::no_transaction:
        return "no transaction is open in which the effect could be";
    }
    return "unknown fault";
  }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
  static const category_type instance;
  return instance;
}

boost::system::error_code make_error_code(errc fault) noexcept {
  return {static_cast<int>(fault), error_category()};
}

}  // namespace callonce
