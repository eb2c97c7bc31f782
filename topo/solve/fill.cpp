#include "topo/solve/fill.h"

#include <algorithm>
#include <numeric>

namespace robustrun::topo {
namespace {

// Free room, and places without a switch.
class Filling {
 public:
  Filling(const LevelProblem& problem, const Blocks& blocks)
      : problem_(problem),
        blocks_(blocks),
        room_(problem.capacities),
        unused_(problem.switches, true),
        assignment_(problem.places(), kNoSwitch) {}

  void whole() {
    std::vector<std::uint32_t> waiting(blocks_.count());
    std::iota(waiting.begin(), waiting.end(), 0);
    std::uint32_t smallest = blocks_.size(0);
    for (std::uint32_t block = 1; block < blocks_.count(); ++block) {
      smallest = std::min(smallest, blocks_.size(block));
    }
    std::uint32_t left = problem_.places();
    while (!waiting.empty()) {
      const std::uint32_t at = next_switch(left, smallest);
      if (at == kNoSwitch) break;
      std::size_t kept = 0;
      std::uint32_t room = total_room(at);
      for (const std::uint32_t block : waiting) {
        if (room >= smallest && fits(block, at)) {
          put(block, at);
          room -= blocks_.size(block);
          left -= blocks_.size(block);
        } else {
          waiting[kept++] = block;
        }
      }
      waiting.resize(kept);
    }
    unused_.assign(problem_.switches, true);
  }

  bool packed(std::uint32_t stride) {
    // By class: its places without a switch, block by block.
    std::vector<std::vector<PlaceIndex>> waiting(problem_.classes);
    for (const PlaceIndex place : blocks_.places) {
      if (assignment_[place] == kNoSwitch) waiting[problem_.class_of[place]].push_back(place);
    }
    const std::vector<std::uint32_t> order = fewest_for(waiting);
    if (std::gcd(stride, order.size()) != 1) return false;
    std::vector<std::size_t> next(problem_.classes, 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t at = order[i * stride % order.size()];
      for (std::uint32_t c = 0; c < problem_.classes; ++c) {
        std::uint32_t& room = room_[c * problem_.switches + at];
        for (; room > 0 && next[c] < waiting[c].size(); --room) {
          assignment_[waiting[c][next[c]++]] = at;
        }
      }
    }
    return true;
  }

  Assignment take() { return std::move(assignment_); }

 private:
  [[nodiscard]] std::uint32_t total_room(std::uint32_t at) const {
    std::uint32_t sum = 0;
    for (std::uint32_t c = 0; c < problem_.classes; ++c) sum += room_[c * problem_.switches + at];
    return sum;
  }

  // Switches, the largest first; each class has room for all its waiting places.
  std::vector<std::uint32_t> fewest_for(const std::vector<std::vector<PlaceIndex>>& waiting) {
    std::vector<std::uint32_t> left;
    std::uint32_t all_left = 0;
    for (const auto& places : waiting) {
      left.push_back(static_cast<std::uint32_t>(places.size()));
      all_left += left.back();
    }
    std::vector<std::uint32_t> order;
    while (all_left > 0) {
      order.push_back(next_switch(all_left, 1));
      RR_ASSERT(order.back() != kNoSwitch);
      for (std::uint32_t c = 0; c < problem_.classes; ++c) {
        const std::uint32_t room = room_[c * problem_.switches + order.back()];
        const std::uint32_t taken = std::min(room, left[c]);
        left[c] -= taken;
        all_left -= taken;
      }
    }
    return order;
  }

  // The smallest switch that takes all that is left, in whole units; otherwise the one that takes
  // most.
  std::uint32_t next_switch(std::uint32_t left, std::uint32_t unit) {
    std::uint32_t best = kNoSwitch;
    std::uint32_t best_room = 0;
    bool best_takes_all = false;
    for (std::uint32_t at = 0; at < problem_.switches; ++at) {
      if (!unused_[at]) continue;
      const std::uint32_t room = total_room(at) / unit * unit;
      if (room == 0) continue;
      const bool takes_all = room >= left;
      const bool better =
          best == kNoSwitch || (takes_all && !best_takes_all) ||
          (takes_all == best_takes_all && (takes_all ? room < best_room : room > best_room));
      if (!better) continue;
      best = at;
      best_room = room;
      best_takes_all = takes_all;
    }
    if (best != kNoSwitch) unused_[best] = false;
    return best;
  }

  bool fits(std::uint32_t block, std::uint32_t at) const {
    if (problem_.classes == 1) return room_[at] >= blocks_.size(block);
    std::vector<std::uint32_t> wanted(problem_.classes, 0);
    for (std::uint32_t i = blocks_.first[block]; i < blocks_.first[block + 1]; ++i) {
      const std::uint32_t c = problem_.class_of[blocks_.places[i]];
      if (++wanted[c] > room_[c * problem_.switches + at]) return false;
    }
    return true;
  }

  void put(std::uint32_t block, std::uint32_t at) {
    for (std::uint32_t i = blocks_.first[block]; i < blocks_.first[block + 1]; ++i) {
      const PlaceIndex place = blocks_.places[i];
      assignment_[place] = at;
      --room_[problem_.class_of[place] * problem_.switches + at];
    }
  }

  const LevelProblem& problem_;
  const Blocks& blocks_;
  std::vector<std::uint32_t> room_;  // as LevelProblem::capacities
  std::vector<bool> unused_;
  Assignment assignment_;
};

}  // namespace

Assignment fill_whole(const LevelProblem& problem, const Blocks& blocks) {
  Filling filling(problem, blocks);
  filling.whole();
  filling.packed(1);
  return filling.take();
}

Assignment fill_packed(const LevelProblem& problem, const Blocks& blocks, std::uint32_t stride) {
  Filling filling(problem, blocks);
  return filling.packed(stride) ? filling.take() : Assignment{};
}

}  // namespace robustrun::topo
