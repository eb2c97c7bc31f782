#pragma once
// Checkpoints as `robustrun ckpt` shows them, as text and as JSON (docs/checkpoint-format.md).
// Pure.

#include <span>
#include <string>
#include <vector>

#include "checkpoint/catalog.h"

namespace robustrun::cli {

[[nodiscard]] std::string checkpoints_text(std::span<const checkpoint::FoundAttempt> all);
[[nodiscard]] std::string checkpoints_json(std::span<const checkpoint::FoundAttempt> all);

// One of them with its tensors and files.
[[nodiscard]] std::string checkpoint_text(const checkpoint::FoundAttempt& found);
[[nodiscard]] std::string checkpoint_json(const checkpoint::FoundAttempt& found);

struct VerifiedCheckpoint {
  const checkpoint::FoundAttempt* found = nullptr;
  std::vector<std::string> faults;
};
[[nodiscard]] std::string verified_text(std::span<const VerifiedCheckpoint> all);
[[nodiscard]] std::string verified_json(std::span<const VerifiedCheckpoint> all);

}  // namespace robustrun::cli
