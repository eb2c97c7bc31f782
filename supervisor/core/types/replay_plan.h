#pragma once
// Dual-phase replay (ByteRobust, arXiv 2509.16293, Algorithm 1): finds the machine that makes a job
// go wrong when no diagnosis of the job shows it. Pure.
//
// Machines x = 0 … m·n − 1 form n horizontal groups of m, floor(x / m), and n vertical groups of m,
// x mod n. The job, or a smaller one, runs on every horizontal group, then on every vertical one.
// Groups of one phase share no machine and run at the same time. With m <= n, a horizontal and a
// vertical group share at most one machine. So if one machine is faulty, it is the one that the two
// failing groups share. m is a multiple of the machines that one copy of the model takes (its
// pipeline, with whole tensor-parallel groups in it).
//
// If the number of machines is not a product m·n, the last machine numbers stay unused. Groups that
// lack a machine run after the others of their phase, filled up with machines of groups that passed
// (fill_group). So every group has m machines, and only its own members can make it fail.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/types/obstacle.h"

namespace robustrun::supervisor {

using Machine = std::uint32_t;  // index in the list of the machines that take part

struct ReplayShape {
  std::uint32_t m = 1;  // machines of a group
  std::uint32_t n = 1;  // groups of a phase, at least m
};

enum class ReplayPhase : std::uint8_t { kHorizontal, kVertical };

struct ReplayGroup {
  std::vector<Machine> members;  // ascending
  std::vector<Machine> helpers{};  // members of groups that passed; never suspects here
};

// Why `machines` machines cannot form the groups of two phases; `unit` as for replay_shape().
[[nodiscard]] Obstacle replay_obstacle(std::uint32_t machines, std::uint32_t unit);

// The largest m that is a multiple of `unit` (machines that one copy of the model takes) with m·m
// <= machines, and so m <= n. kInvalidArgument, with the words of replay_obstacle(), if there are
// too few machines.
[[nodiscard]] base::Result<ReplayShape> replay_shape(std::uint32_t machines, std::uint32_t unit);

// All groups of a phase, by number; groups past the last machine are empty.
[[nodiscard]] std::vector<ReplayGroup> replay_groups(ReplayShape shape, std::uint32_t machines,
                                                     ReplayPhase phase);

// Fills groups[which] up to m machines with helpers from the groups of the same phase that passed
// (passed[i] is 1 if groups[i] passed). False when these groups have too few machines.
[[nodiscard]] bool fill_group(std::vector<ReplayGroup>& groups, std::size_t which,
                              std::span<const std::uint8_t> passed, ReplayShape shape);

struct ReplayVerdict {
  enum class Kind : std::uint8_t {
    kNotReproduced,  // no group failed
    kOne,  // one faulty machine
    kSeveral,  // several groups of a phase failed: several machines are faulty
    kOnePhase,  // only groups of one phase failed: the fault comes and goes
    kNothingShared,  // failing groups share no machine: the fault comes and goes, or is the job's
  };
  Kind kind = Kind::kNotReproduced;
  std::vector<Machine> suspects;  // ascending; with kOnePhase and kNothingShared whole groups
  std::vector<Machine> certain;  // suspects that are the only one in some failing group
};

// `horizontal` and `vertical`: from replay_groups(). `failed_…`: numbers of the groups that failed.
[[nodiscard]] ReplayVerdict intersect(const std::vector<ReplayGroup>& horizontal,
                                      const std::vector<ReplayGroup>& vertical,
                                      std::span<const std::size_t> failed_horizontal,
                                      std::span<const std::size_t> failed_vertical);

}  // namespace robustrun::supervisor
