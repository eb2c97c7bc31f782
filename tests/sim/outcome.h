#pragma once
// The outcome of one run.

#include <optional>
#include <set>
#include <vector>

#include "tests/sim/coverage.h"
#include "tests/sim/fates.h"
#include "tests/sim/invariants.h"
#include "tests/sim/table_coverage.h"

namespace robustrun::sim {

struct Outcome {
  std::optional<Invariants::Violation> violation;
  std::uint64_t trace_hash = 0;
  std::optional<int> exit_code;
  std::uint32_t attempts = 0, supervisor_crashes = 0, reunions = 0, refusals = 0;
  // Supervisors that lived on; their orders that agents obeyed, or refused (fenced).
  std::uint32_t formers = 0, obeyed_formers = 0, fenced = 0;
  std::uint32_t saves_of_formers = 0, refused_saves_of_formers = 0;
  std::uint32_t convictions = 0, right_evictions = 0;  // of hangs that snapshots show
  std::size_t events = 0, records = 0;
  std::set<core::Rule> rules;
  std::set<PolicyRow> rows;
  Cells cells;  // of the core's table
  std::uint32_t calm_runs = 0;  // still running when all was calm
  std::vector<Struck> struck;  // what went wrong, in order
  Nanos duration{};
};

}  // namespace robustrun::sim
