#pragma once
// Random jobs with one planted culprit: ranks in a grid of tensor-, pipeline- and data-parallel
// groups call the same random sequence of collectives, several in flight, until the culprit
// blocks all ranks. One seed, one job.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/core/clock.h"
#include "tests/tracer/fleet.h"

namespace robustrun::tracer {

enum class Culprit : std::uint8_t { kAbsent, kLoader, kStopped, kDead, kGpu };
inline constexpr std::uint64_t kCulprits = 5;

class RandomJob {
 public:
  explicit RandomJob(std::uint64_t seed) : rng_(seed) {
    const std::array<std::uint32_t, 3> sizes = {pick({1, 2, 4}), pick({1, 2, 3}),
                                                pick({2, 3, 4})};  // tensor, pipeline, data
    world_ = sizes[0] * sizes[1] * sizes[2];
    kind_ = static_cast<Culprit>(rng_.below(kCulprits));
    culprit_ = static_cast<std::uint32_t>(rng_.below(world_));
    window_ = 1 + rng_.below(3);
    make_groups(sizes);
    // The last operation is of all ranks, so that all are blocked in the end.
    for (std::uint64_t i = 0, n = 8 + rng_.below(20); i < n; ++i) {
      program_.push_back(static_cast<std::uint32_t>(rng_.below(kDimensions)));
    }
    held_ = rng_.below(program_.size());
    for (std::uint64_t i = 0; i < 4; ++i) program_.push_back(kDimensions - 1);
    run();
  }

  [[nodiscard]] std::uint32_t world() const { return world_; }
  [[nodiscard]] std::uint32_t culprit() const { return culprit_; }
  [[nodiscard]] Culprit kind() const { return kind_; }

  [[nodiscard]] Fleet fleet() const {
    Fleet fleet(world_, 4);
    for (const Group& group : groups_) fleet.group(group.key, group.ranks, 0);
    for (std::uint32_t r = 0; r < world_; ++r) describe(fleet, r);
    RankSnapshot& rank = fleet.rank(culprit_);
    if (kind_ == Culprit::kLoader) fleet.stack(culprit_, loader_stack());
    if (kind_ == Culprit::kStopped) rank.life = Life::kStopped;
    if (kind_ == Culprit::kDead) rank.life = Life::kDead;
    return fleet;
  }

  [[nodiscard]] Finding expected() const {
    switch (kind_) {
      case Culprit::kAbsent: return Finding::kNeverEntered;
      case Culprit::kLoader: return Finding::kInputStall;
      case Culprit::kStopped: return Finding::kStopped;
      case Culprit::kDead: return Finding::kDied;
      case Culprit::kGpu: break;
    }
    return Finding::kGpuBeforeKernel;
  }

 private:
  static constexpr std::uint32_t kDimensions = 4;  // tensor, pipeline, data, world
  struct Group {
    std::uint64_t key = 0;
    std::uint32_t dimension = 0;
    std::vector<std::uint32_t> ranks;
  };

  std::uint32_t pick(const std::array<std::uint32_t, 3>& from) { return from[rng_.below(3)]; }

  void make_groups(const std::array<std::uint32_t, 3>& sizes) {
    const std::array<std::uint32_t, 3> strides = {1, sizes[0], sizes[0] * sizes[1]};
    group_of_.assign(kDimensions, std::vector<std::size_t>(world_));
    for (std::uint32_t d = 0; d < kDimensions; ++d) {
      for (std::uint32_t r = 0; r < world_; ++r) {
        const bool is_world = d + 1 == kDimensions;
        const std::uint32_t first = is_world ? 0 : r - r / strides[d] % sizes[d] * strides[d];
        const std::uint64_t key = 1000ULL * (d + 1) + first;
        auto group = std::ranges::find(groups_, key, &Group::key);
        if (group == groups_.end()) group = groups_.insert(group, {key, d, {}});
        group->ranks.push_back(r);
        group_of_[d][r] = static_cast<std::size_t>(group - groups_.begin());
      }
    }
  }

  // The culprit makes no calls from operation held_ on; a stopped or dead one has called that one;
  // with a hanging GPU, it has called that and more, as far as the window allows.
  [[nodiscard]] bool may_enter(std::uint32_t r) const {
    if (next_[r] == program_.size() || next_[r] - done_[r] >= window_) return false;
    if (r != culprit_ || kind_ == Culprit::kGpu) return true;
    const bool is_inside = kind_ == Culprit::kStopped || kind_ == Culprit::kDead;
    return next_[r] < held_ + (is_inside ? 1 : 0);
  }
  // On each GPU operations run one after another.
  [[nodiscard]] bool is_running(std::uint32_t r) const {
    return done_[r] < next_[r] && !(r == culprit_ && kind_ != Culprit::kAbsent &&
                                    kind_ != Culprit::kLoader && done_[r] >= held_);
  }

  void run() {
    next_.assign(world_, 0);
    done_.assign(world_, 0);
    entered_at_.assign(world_, std::vector<std::uint64_t>(program_.size(), 0));
    for (bool has_moved = true; has_moved; ++now_) {
      has_moved = false;
      for (std::uint32_t r = 0; r < world_; ++r) {
        if (!may_enter(r)) continue;
        entered_at_[r][next_[r]++] = now_;
        has_moved = true;
      }
      for (const Group& group : groups_) has_moved |= complete(group);
    }
  }

  bool complete(const Group& group) {
    const std::size_t at = done_[group.ranks.front()];
    for (const std::uint32_t r : group.ranks) {
      if (done_[r] != at || !is_running(r) || program_[at] != group.dimension) return false;
    }
    for (const std::uint32_t r : group.ranks) ++done_[r];
    return true;
  }

  void describe(Fleet& fleet, std::uint32_t r) const {
    for (std::size_t i = 0; i < next_[r]; ++i) {
      const std::uint64_t key = groups_[group_of_[program_[i]][r]].key;
      const bool is_head = i == done_[r];
      const bool is_gpu = r == culprit_ && kind_ == Culprit::kGpu;
      const double age = 10 + 0.01 * static_cast<double>(now_ - entered_at_[r][i]);
      fleet.enter(key, r, age, all_reduce(1000 + i),
                  is_head && !is_gpu ? Operation::Stage::kRunning : Operation::Stage::kQueued);
      if (i < done_[r]) fleet.finish(key, r);
    }
  }

  base::Rng rng_;
  std::uint32_t world_ = 0;
  Culprit kind_ = Culprit::kAbsent;
  std::uint32_t culprit_ = 0;
  std::uint64_t window_ = 1;
  std::vector<Group> groups_;
  std::vector<std::vector<std::size_t>> group_of_;  // by dimension and rank
  std::vector<std::uint32_t> program_;  // dimensions
  std::uint64_t held_ = 0;
  std::vector<std::size_t> next_, done_;  // by rank, of program_
  std::vector<std::vector<std::uint64_t>> entered_at_;
  std::uint64_t now_ = 0;
};

}  // namespace robustrun::tracer
