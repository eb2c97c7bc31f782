#pragma once
// The problem on one level of the tree: below which switch does each place go? Internal to topo/.
//
// Nodes below one switch are equivalent here, so a solution is a switch per place, within the
// switches' capacities. Nodes of equal size form a class, and a place takes a node of its class.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/network/shape.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

constexpr std::uint32_t kNoSwitch = 0xffffffff;

// By place: its switch.
using Assignment = std::vector<std::uint32_t>;

struct LevelProblem {
  const Shape* shape = nullptr;
  std::vector<std::int64_t> weights;       // by family, in millionths
  std::uint32_t switches = 0;
  std::vector<std::uint32_t> class_of;     // by place; 0 ... classes - 1
  std::uint32_t classes = 1;
  std::vector<std::uint32_t> capacities;   // by class, then switch: number of nodes

  [[nodiscard]] std::uint32_t capacity(std::uint32_t which, std::uint32_t at) const {
    return capacities[which * switches + at];
  }
  // The capacity over all classes.
  [[nodiscard]] std::vector<std::uint32_t> totals() const;
  [[nodiscard]] std::uint32_t places() const { return shape->places(); }
};

// The cost of this level alone. Every place must have a switch.
Cost cost_of(const LevelProblem& problem, const Assignment& assignment);

// Whether no capacity is exceeded.
bool is_feasible(const LevelProblem& problem, const Assignment& assignment);

}  // namespace robustrun::topo
