#pragma once
// Dual-phase replay (ByteRobust, arXiv 2509.16293, Algorithm 1): which of many machines makes a job
// go wrong when no single look at it shows anything. Pure.
//
// Machines x = 0 … m·n − 1 form n horizontal groups of m, floor(x / m), and n vertical groups of m,
// x mod n. The job, or a smaller one, runs on every horizontal group, then on every vertical one;
// groups of one phase share no machine and run at the same time. With m <= n a horizontal and a
// vertical group share at most one machine, so one faulty machine is the one that the two failing
// groups share. m is a multiple of the machines that one copy of the model takes (its pipeline,
// with whole tensor-parallel groups in it).
//
// Where the count is no product, the last machine numbers are nobody. Groups that lack somebody
// run after the others of their phase, filled up with machines of groups that passed
// (fill_group): so every group has its m machines, and a failure of it is its own.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/core/result.h"

namespace robustrun::supervisor {

using Machine = std::uint32_t;  // its place in the list of hosts

struct ReplayShape {
  std::uint32_t m = 1;  // machines of a group
  std::uint32_t n = 1;  // groups of a phase, at least m
};

enum class ReplayPhase : std::uint8_t { kHorizontal, kVertical };

struct ReplayGroup {
  std::vector<Machine> members;  // ascending
  std::vector<Machine> helpers{};  // of groups that passed; their failure is not looked for here
};

// The largest m that is a multiple of `unit`, with m <= n: the groups that the most machines share
// no second time. kInvalidArgument, in words, when there are too few machines for two phases.
[[nodiscard]] base::Result<ReplayShape> replay_shape(std::uint32_t machines, std::uint32_t unit);

// All groups of a phase, by number; those behind the last machine are empty.
[[nodiscard]] std::vector<ReplayGroup> replay_groups(ReplayShape shape, std::uint32_t machines,
                                                     ReplayPhase phase);

// Helpers for groups[which], from the groups of the same phase that passed; false: these have too
// few machines.
[[nodiscard]] bool fill_group(std::vector<ReplayGroup>& groups, std::size_t which,
                              std::span<const std::uint8_t> passed, ReplayShape shape);

struct ReplayVerdict {
  enum class Kind : std::uint8_t {
    kNotReproduced,  // no group failed
    kOne,  // one faulty machine
    kSeveral,  // several groups failed in a phase: more than one machine, all of them in here
    kOnePhase,  // groups of one phase alone failed: it comes and goes
    kNothingShared,  // failing groups share no machine: it comes and goes, or is no machine's
  };
  Kind kind = Kind::kNotReproduced;
  std::vector<Machine> suspects;  // ascending; of kOnePhase and kNothingShared whole groups
  std::vector<Machine> certain;  // of them, those without whom a failing group is not explained
};

// `failed_…`: groups by number, with replay_groups().
[[nodiscard]] ReplayVerdict intersect(const std::vector<ReplayGroup>& horizontal,
                                      const std::vector<ReplayGroup>& vertical,
                                      std::span<const std::size_t> failed_horizontal,
                                      std::span<const std::size_t> failed_vertical);

}  // namespace robustrun::supervisor
