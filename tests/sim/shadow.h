#pragma once
// A second job that gets each event as the journal keeps it: if the journal lost anything that the
// first job uses, the two would differ at once, and not only after the next crash.
//
// It costs about as much as everything else, so only a fixed share of the seeds has one.

#include <utility>
#include <vector>

#include "supervisor/core/job/job.h"
#include "supervisor/run_dir/journal.h"
#include "tests/sim/mutations.h"

namespace robustrun::sim {

class Shadow {
 public:
  static constexpr std::uint64_t kOneIn = 4;  // of the seeds

  Shadow(std::uint64_t seed, Mutation mutation)
      : is_there_(seed % kOneIn == 0), mutation_(mutation) {}

  // Takes an event that was written. False: it cannot be read back.
  [[nodiscard]] bool hear(const core::JournalEntry& entry) {
    if (!is_there_) return true;
    const auto encoded = core::encode_entry(entry);
    auto decoded = core::decode_entry(encoded.kind, encoded.payload);
    auto* event = decoded && *decoded ? std::get_if<core::Event>(&(*decoded)->what) : nullptr;
    if (event == nullptr) return false;
    if (mutation_ == Mutation::kRoundsTimes) {
      event->at = std::chrono::floor<std::chrono::milliseconds>(event->at);
    }
    job_.handle(*event, actions_);
    return true;
  }
  [[nodiscard]] bool agrees(const core::Job& job) const {
    return !is_there_ || job_.digest() == job.digest();
  }

 private:
  bool is_there_;
  Mutation mutation_;
  core::Job job_;
  std::vector<core::Action> actions_;
};

}  // namespace robustrun::sim
