#pragma once
// The ladders of configs/policy.toml. Only cli/ reads TOML, so
// tests/cli/tables/policy_file_test.cpp compares these with the file.

#include <vector>

#include "supervisor/core/types/policy.h"

namespace robustrun::sim {

inline std::vector<supervisor::Ladder> shipped_ladders() {
  using enum supervisor::Step;
  using Action = supervisor::FirstAction;
  return {
      {Action::kRestart, {{kRestart, 2}, {kEvict, 1}, {kCheck, 1}, {kRollBack, 1}, {kRestart, 0}}},
      {Action::kEvict, {{kEvict, 0}, {kCheck, 1}, {kRestart, 0}}},
      {Action::kRollBack, {{kRollBack, 1}, {kRestart, 0}}},
      {Action::kCheck,
       {{kCheck, 1}, {kRestart, 1}, {kRollBack, 1}, {kEvict, 1}, {kReplay, 1}, {kRestart, 0}}},
      {Action::kTolerate, {{kRestart, 2}, {kEvict, 1}, {kCheck, 1}, {kRestart, 0}}},
      {Action::kGiveUp, {{kRestart, 1}, {kGiveUp, 0}}},
      {Action::kReplay, {{kReplay, 1}, {kRollBack, 1}, {kRestart, 1}, {kGiveUp, 0}}},
  };
}

}  // namespace robustrun::sim
