#pragma once

#include <string>

#include <conform/effect_app/board.hpp>
#include <conform/effect_app/step.hpp>
#include <conform/http/message.hpp>

namespace conform {

/// A run that is being answered.
struct running {
  board& log;
  std::string name;  ///< its case
  board::ticket ticket;
  const received& request;
};

/// Carries out one step: pause, gate, effect, answer. The log's end row is written before the last
/// bytes leave. Post: true when the connection may carry another request.
bool carry_out(wire& to, const step& one, running& run);

/// A whole JSON answer outside of any run.
bool answer_json(wire& to, int status, const std::string& body);

}  // namespace conform
