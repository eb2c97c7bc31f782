#pragma once
// The job's checkpoints as they lie on disks, each on one of two homes. Workers take the newest
// that is committed, not marked, and on a home that is there (checkpoint/catalog.h does it for
// real).

#include <array>
#include <cstddef>
#include <optional>
#include <ranges>
#include <vector>

#include "supervisor/core/checkpoint_events.h"

namespace robustrun::sim {

namespace core = supervisor;

class Disks {
 public:
  Disks() {  // of runs before
    for (std::uint64_t step = 1; step <= 24; ++step) commit({step, 0, "s"});
  }
  void commit(const core::CheckpointId& id) {
    all_.push_back({id, all_.size() % homes_.size(), false});
  }
  void mark(const core::CheckpointId& id) {
    for (Saved& saved : all_) saved.marked = saved.marked || saved.id == id;
  }
  void lose_home(std::size_t home) { homes_[home] = false; }
  [[nodiscard]] std::optional<core::CheckpointId> newest(bool looks_at_marks) const {
    for (const Saved& saved : all_ | std::views::reverse) {
      if (homes_[saved.home] && !(looks_at_marks && saved.marked)) return saved.id;
    }
    return std::nullopt;
  }

 private:
  struct Saved {
    core::CheckpointId id;
    std::size_t home = 0;
    bool marked = false;
  };
  std::vector<Saved> all_;  // in the order of their commits
  std::array<bool, 2> homes_ = {true, true};
};

}  // namespace robustrun::sim
