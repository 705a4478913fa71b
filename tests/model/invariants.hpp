#pragma once

#include <string_view>

#include "tests/model/model.hpp"

namespace callonce::model {

// What must hold in every world, said apart from the rules under test. Each function returns the
// sentence that is broken, or nothing. Source: design sections 4 and 10, semantics 3.6.

/// Of one step: what may change, by whom, and what may be answered.
std::string_view broken_by(const world& before, const step& taken);

/// Of one world: while leases hold, runs of one key never overlap.
std::string_view broken_in(const world& now, const scenario& of);

/// Of one record: when all faults have stopped, clients that come later get an answer.
std::string_view unsettled(const row& left_behind, const scenario& of, store& records);

}  // namespace callonce::model
