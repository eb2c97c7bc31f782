#pragma once
// Checkpoints as `robustrun ckpt` shows them, as text and as JSON (docs/checkpoint-format.md).
// Pure.

#include <span>
#include <string>
#include <vector>

#include "checkpoint/store/catalog.h"

namespace robustrun::cli {

[[nodiscard]] std::string checkpoints_text(std::span<const checkpoint::FoundAttempt> all);
[[nodiscard]] std::string checkpoints_json(std::span<const checkpoint::FoundAttempt> all);

// One checkpoint with its tensors and files.
[[nodiscard]] std::string checkpoint_text(const checkpoint::FoundAttempt& found);
[[nodiscard]] std::string checkpoint_json(const checkpoint::FoundAttempt& found);

struct VerifiedCheckpoint {
  const checkpoint::FoundAttempt* found = nullptr;
  std::vector<std::string> faults;
  std::vector<std::string> away;  // files on local disks of other machines
};
[[nodiscard]] std::string verified_text(std::span<const VerifiedCheckpoint> all);
[[nodiscard]] std::string verified_json(std::span<const VerifiedCheckpoint> all);

struct RepairedCheckpoint {
  const checkpoint::FoundAttempt* found = nullptr;
  std::vector<std::string> done;  // what was repaired
  std::vector<std::string> lost;  // what cannot be restored, and why
};
[[nodiscard]] std::string repaired_text(std::span<const RepairedCheckpoint> all);
[[nodiscard]] std::string repaired_json(std::span<const RepairedCheckpoint> all);

struct PrunedCheckpoints {
  std::vector<const checkpoint::FoundAttempt*> removed;
  std::vector<const checkpoint::FoundAttempt*> left;
  std::vector<std::string> notes;  // why nothing, or less than expected, was removed
};
[[nodiscard]] std::string pruned_text(const PrunedCheckpoints& pruned);
[[nodiscard]] std::string pruned_json(const PrunedCheckpoints& pruned);
[[nodiscard]] std::string pinned_text(const checkpoint::FoundAttempt& found);

}  // namespace robustrun::cli
