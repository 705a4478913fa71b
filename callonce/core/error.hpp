#pragma once

#include <type_traits>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace callonce {

/// Why a store, or the engine on its behalf, could not give an outcome.
/// Outcomes (in progress, mismatch, lease lost, …) are values, never one of these, but for the last
/// three: inside a caller's own transaction they are what ends it.
enum class errc {
  unavailable = 1,    ///< Surely not applied: nothing was written.
  in_doubt,           ///< Sent, but the acknowledgement was lost: it may or may not be applied.
  corrupt,            ///< A record was read whose content cannot be trusted.
  misconfigured,      ///< The store or file cannot be used safely as it is set up.
  claim_lost,         ///< The caller's transaction was rolled back: another claim has the record.
  already_completed,  ///< The caller's transaction was rolled back: an earlier one of this very
                      ///< claim has completed the record. Its effect stands; answer success.
  no_transaction,     ///< Nothing was written: what follows would commit by itself.
};

/// The category of `errc`, named "callonce".
const boost::system::error_category& error_category() noexcept;

boost::system::error_code make_error_code(errc fault) noexcept;

/// A value, or the fault that stood in its way.
template <class Value>
using result = boost::system::result<Value>;

}  // namespace callonce

template <>
struct boost::system::is_error_code_enum<callonce::errc> : std::true_type {};
