#pragma once
// What a user of `robustrun top` may order, after a confirmation. Pure; commands/top.cpp sends it,
// as the control requests that the subcommands send.

#include <cstdint>
#include <string>

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/plan/update_plan.h"

namespace robustrun::cli {

struct Order {
  enum class Kind : std::uint8_t { kStop, kEvict, kInject, kUpdate };
  Kind kind = Kind::kStop;
  std::string node;  // of kEvict, and of a fault that hits a node
  std::uint32_t rank = 0;  // of kInject
  std::string fault;  // of kInject: a kind of wire/messages/injection.h
  std::string update;  // of kUpdate: options of `robustrun update`
};

// "stop the run? its workers may save first", "inject kill into rank 3?"
[[nodiscard]] std::string question_of(const Order& order);
// If `fault` is no kind of fault: which kinds there are. Empty if it is one.
[[nodiscard]] std::string why_no_fault(const std::string& fault);

struct UpdateWords {
  UpdateLine line;
  UpdatePlan plan;
};
// The update that `words` ask for, as typed behind `robustrun update`. The error is for the user.
[[nodiscard]] base::Result<UpdateWords> read_update(const std::string& words);

}  // namespace robustrun::cli
