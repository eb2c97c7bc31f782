#pragma once
// An order that a user gives in `robustrun top` and confirms. Pure; commands/top.cpp sends the same
// control requests as the subcommands.

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
// Empty if `fault` is a kind of fault; otherwise a sentence that names all kinds.
[[nodiscard]] std::string why_no_fault(const std::string& fault);

struct UpdateWords {
  UpdateLine line;
  UpdatePlan plan;
};
// Reads `words` as typed after `robustrun update`. The error is for the user.
[[nodiscard]] base::Result<UpdateWords> read_update(const std::string& words);

}  // namespace robustrun::cli
