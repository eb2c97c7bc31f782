#pragma once
// The contract of topo/spares/backup.h for small clusters, checked by exhaustive search.

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "topo/spares/backup.h"

namespace robustrun::topo {

// Whether a complete choice exists that avoids all kinds from `first` on; exhaustive.
class Oracle {
 public:
  Oracle(const Cluster& cluster, const BackupProblem& problem)
      : cluster_(cluster), problem_(problem) {
    std::uint32_t rank = 0;
    for (const std::uint32_t slots : problem.slots) {
      first_.push_back(rank);
      rank += slots;
    }
    first_.push_back(rank);
    parallel_ = resolve(problem.parallel, rank).value();
  }

  [[nodiscard]] bool exists(std::size_t first) const {
    std::vector<PlaceIndex> keeper(problem_.slots.size());
    std::iota(keeper.begin(), keeper.end(), 0);
    do {
      bool is_good = true;
      for (PlaceIndex p = 0; is_good && p < keeper.size(); ++p) {
        is_good = keeper[p] != p;
        for (std::size_t kind = first; is_good && kind < kTogethers; ++kind) {
          is_good = !conflict(static_cast<Together>(kind), p, keeper[p]);
        }
      }
      if (is_good) return true;
    } while (std::ranges::next_permutation(keeper).found);
    return false;
  }

  [[nodiscard]] bool conflict(Together kind, PlaceIndex a, PlaceIndex b) const {
    switch (kind) {
      case Together::kPower: return same(&Node::power, a, b);
      case Together::kRack: return same(&Node::rack, a, b) || same_leaf(a, b);
      case Together::kNvlDomain: return same(&Node::nvl_domain, a, b);
      case Together::kLargerGroup: return same_group(parallel_.dp >= parallel_.pp, a, b);
      case Together::kOtherGroup: return same_group(parallel_.dp < parallel_.pp, a, b);
    }
    return false;
  }

 private:
  // A set of all places is ignored.
  template <class In>
  [[nodiscard]] bool in_one(In in, PlaceIndex a, PlaceIndex b) const {
    if (!in(a) || !in(b)) return false;
    std::size_t count = 0;
    for (PlaceIndex p = 0; p < problem_.slots.size(); ++p) count += in(p) ? 1 : 0;
    return count < problem_.slots.size();
  }
  [[nodiscard]] bool same(std::string Node::* label, PlaceIndex a, PlaceIndex b) const {
    const auto of = [&](PlaceIndex p) { return cluster_.nodes[problem_.nodes[p]].*label; };
    if (of(a).empty()) return false;
    return in_one([&](PlaceIndex p) { return of(p) == of(a); }, a, b);
  }
  [[nodiscard]] bool same_leaf(PlaceIndex a, PlaceIndex b) const {
    const auto of = [&](PlaceIndex p) { return cluster_.leaf_of[problem_.nodes[p]]; };
    return in_one([&](PlaceIndex p) { return of(p) == of(a); }, a, b);
  }
  // Ranks of tp=1 in the order dp-pp: rank = d + dp * p.
  [[nodiscard]] bool same_group(bool is_dp, PlaceIndex a, PlaceIndex b) const {
    const std::uint32_t groups = is_dp ? parallel_.pp : parallel_.dp;
    if ((is_dp ? parallel_.dp : parallel_.pp) < 2) return false;
    for (std::uint32_t g = 0; g < groups; ++g) {
      const auto in = [&](PlaceIndex p) {
        for (std::uint32_t rank = first_[p]; rank < first_[p + 1]; ++rank) {
          if ((is_dp ? rank / parallel_.dp : rank % parallel_.dp) == g) return true;
        }
        return false;
      };
      if (in_one(in, a, b)) return true;
    }
    return false;
  }

  const Cluster& cluster_;
  const BackupProblem& problem_;
  Parallel parallel_;
  std::vector<std::uint32_t> first_;  // rank, by place
};

}  // namespace robustrun::topo
