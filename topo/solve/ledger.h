#pragma once
// An assignment and its cost, updated place by place. Internal to topo/.

#include <cstdint>
#include <vector>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

class Ledger {
 public:
  // Places may be without a switch (kNoSwitch). `problem` must outlive this object.
  Ledger(const LevelProblem& problem, Assignment assignment);

  void move(PlaceIndex place, std::uint32_t to);

  // O(families × switches). Cost::mean is here the weighted sum of spreads, not divided by the
  // number of groups.
  [[nodiscard]] Cost cost() const;
  [[nodiscard]] std::int64_t worst() const { return cost().worst; }
  [[nodiscard]] const Assignment& assignment() const { return assignment_; }
  // Number of free nodes of class `which` below switch `at`. move() does not check capacities; if
  // one is exceeded, this number wraps around.
  [[nodiscard]] std::uint32_t room(std::uint32_t which, std::uint32_t at) const {
    return room_[which * problem_.switches + at];
  }
  // Number of switches that a group touches, and the largest such number in a family.
  [[nodiscard]] std::uint32_t touched(std::uint32_t family, std::uint32_t group) const {
    return touched_[family][group];
  }
  [[nodiscard]] std::uint32_t most_touched(std::uint32_t family) const;
  // Number of places of a group that are below a switch.
  [[nodiscard]] std::uint32_t count(std::uint32_t family, std::uint32_t group,
                                    std::uint32_t at) const {
    return counts_[family][std::uint64_t{group} * problem_.switches + at];
  }

 private:
  void change(PlaceIndex place, std::uint32_t at, bool in);

  const LevelProblem& problem_;
  Assignment assignment_;
  std::vector<std::uint32_t> room_;  // as LevelProblem::capacities
  std::vector<std::vector<std::uint32_t>> counts_;  // by family, then group and switch
  std::vector<std::vector<std::uint32_t>> touched_;  // by family, then group: number of switches
  std::vector<std::vector<std::uint32_t>> tally_;  // by family, then number of switches: groups
  std::vector<std::vector<std::uint32_t>> first_;  // by family, then place: index in groups_
  std::vector<std::vector<std::uint32_t>> groups_;  // by family: groups of the places
  std::vector<std::uint64_t> sums_;  // by family: spreads of its groups
};

}  // namespace robustrun::topo
