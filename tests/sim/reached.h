#pragma once
// What the runs of a test have reached together: the core's rules, the policy's rows and the cells
// of the core's table, each of which some run must reach.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "supervisor/core/types/rule.h"
#include "tests/sim/outcome.h"
#include "tests/sim/shipped_ladders.h"

namespace robustrun::sim {

// Rules that no run here can reach, and why.
struct Unreached {
  core::Rule rule;
  const char* why;
};
inline constexpr std::array<Unreached, 5> kUnreachedRules{{
    {core::Rule::kColdStart, "agents here keep no standby workers, and so miss none"},
    {core::Rule::kLateCrash, "workers here end with their scripts"},
    {core::Rule::kEndedEarly, "no failure here reads as one that follows from a peer that ended"},
    {core::Rule::kNodeDrained, "no scheduler here drains nodes"},
    {core::Rule::kNotResumed, "workers here do not report at which step they begin"},
}};

// Cells of the core's table that no run here can reach, and why.
struct UnreachedCell {
  core::JobState state;
  core::Stimulus stimulus;
  const char* why;
};
inline constexpr std::array<UnreachedCell, 0> kUnreachedCells{};

// In how many runs each was reached.
struct Reached {
  std::map<int, std::uint64_t> exit_codes;
  std::map<core::Rule, std::uint64_t> rules;
  std::map<PolicyRow, std::uint64_t> rows;
  std::array<std::uint64_t, kCells> cells{};
  std::uint64_t runs = 0, attempts = 0, crashes = 0, events = 0, calm = 0;
  std::uint64_t formers = 0, obeyed_formers = 0, fenced = 0;
  std::uint64_t saves_of_formers = 0, refused_saves_of_formers = 0;
  std::uint64_t reunions = 0, refusals = 0, convictions = 0, right_evictions = 0;

  void add(const Outcome& outcome) {
    ++runs;
    calm += outcome.calm_runs;
    for (std::size_t i = 0; i < kCells; ++i) cells[i] += outcome.cells.test(i) ? 1 : 0;
    ++exit_codes[outcome.exit_code.value_or(-1)];
    for (const core::Rule rule : outcome.rules) ++rules[rule];
    for (const PolicyRow& row : outcome.rows) ++rows[row];
    attempts += outcome.attempts;
    crashes += outcome.supervisor_crashes;
    events += outcome.events;
    formers += outcome.formers;
    obeyed_formers += outcome.obeyed_formers;
    fenced += outcome.fenced;
    saves_of_formers += outcome.saves_of_formers;
    refused_saves_of_formers += outcome.refused_saves_of_formers;
    reunions += outcome.reunions;
    refusals += outcome.refusals;
    convictions += outcome.convictions;
    right_evictions += outcome.right_evictions;
  }
};

// Rows of the policy that no run has reached; prints rare ones.
inline std::vector<std::string> unreached_rows(const Reached& reached) {
  std::vector<std::string> missing;
  std::size_t rows = 0;
  std::string rarest;
  std::uint64_t least = UINT64_MAX;
  for (const core::Ladder& ladder : shipped_ladders()) {
    for (std::size_t rung = 0; rung < ladder.rungs.size(); ++rung) {
      ++rows;
      const auto found = reached.rows.find({ladder.action, rung});
      if (found == reached.rows.end()) {
        missing.push_back(words_of(ladder, rung));
      } else if (found->second < least) {
        least = found->second;
        rarest = words_of(ladder, rung);
      }
    }
  }
  MESSAGE("rows of the policy: " << rows - missing.size() << " of " << rows
                                 << " reached; the rarest in " << least << " runs: " << rarest);
  return missing;
}

inline std::vector<std::string> unreached_rules(const Reached& reached) {
  std::vector<std::string> missing;
  std::string rarest;
  std::uint64_t least = UINT64_MAX;
  constexpr int kRules = static_cast<int>(core::Rule::kKilled) + 1;
  for (int i = 0; i < kRules; ++i) {
    const auto rule = static_cast<core::Rule>(i);
    const auto excused = std::ranges::find(kUnreachedRules, rule, &Unreached::rule);
    const auto found = reached.rules.find(rule);
    if (excused != kUnreachedRules.end()) {
      CHECK_MESSAGE(found == reached.rules.end(),
                    "can be reached after all: " << std::string(core::rule_word(rule)));
      MESSAGE("rule that is not reached: " << std::string(core::rule_word(rule)) << ": "
                                           << std::string(excused->why));
    } else if (found == reached.rules.end()) {
      missing.emplace_back(core::rule_word(rule));
    } else if (found->second < least) {
      least = found->second;
      rarest = core::rule_word(rule);
    }
  }
  MESSAGE("rules of the core: " << reached.rules.size() << " of " << kRules
                                << " reached; the rarest in " << least << " runs: " << rarest);
  return missing;
}

// The same for cells of the core's table; prints unreachable ones with the reason.
inline std::vector<std::string> unreached_cells(const Reached& reached) {
  std::vector<std::string> missing;
  std::size_t handled = 0, found = 0, rarest = 0;
  std::uint64_t least = UINT64_MAX;
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    const auto state = static_cast<core::JobState>(cell % core::kJobStates);
    const auto stimulus = static_cast<core::Stimulus>(cell / core::kJobStates);
    if (!core::Job::acts_on(state, stimulus)) continue;
    ++handled;
    const std::uint64_t times = reached.cells[cell];
    const auto excused = std::ranges::find_if(kUnreachedCells, [&](const UnreachedCell& one) {
      return one.state == state && one.stimulus == stimulus;
    });
    found += times > 0 ? 1 : 0;
    if (excused != kUnreachedCells.end()) {
      CHECK_MESSAGE(times == 0, "can be reached after all: " << words_of_cell(cell));
      MESSAGE("cell that is not reached: " << words_of_cell(cell) << ": "
                                           << std::string(excused->why));
    } else if (times == 0) {
      missing.push_back(words_of_cell(cell));
    } else if (times < least) {
      least = times;
      rarest = cell;
    }
  }
  MESSAGE("cells of the core's table: " << found << " of " << handled << " reached; the rarest in "
                                        << least << " runs: " << words_of_cell(rarest));
  return missing;
}

}  // namespace robustrun::sim
