#pragma once
// A second job that hears of each event what the journal keeps of it: were the first one to know
// anything else, the two would differ at once, and not only after the next crash.
//
// It costs about as much as all the rest, so a fixed share of the seeds has one.

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

  // An event that was written. False: it cannot be read again.
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
