#pragma once

#include <type_traits>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace callonce {

/// Why a store, or the engine on its behalf, could not give an outcome.
/// Outcomes (in progress, mismatch, lease lost, …) are values, never one of these.
enum class errc {
  unavailable = 1,    ///< Surely not applied: nothing was written.
  in_doubt,           ///< Sent, but the acknowledgement was lost: it may or may not be applied.
  corrupt,            ///< A record was read whose content cannot be trusted.
  misconfigured,      ///< The store or file cannot be used safely as it is set up.
  claim_lost,         ///< In a caller's own transaction: another claim has the key. Roll back.
  already_completed,  ///< There too: this very claim is completed. Roll back, answer success.
  no_transaction,     ///< There too: no transaction is open that holds the effect.
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
