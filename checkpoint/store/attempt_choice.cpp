#include "checkpoint/store/attempt_choice.h"

#include <algorithm>
#include <tuple>

namespace robustrun::checkpoint {

AttemptState ManifestCopies::state() const {
  if (any_sound_) return AttemptState::kCommitted;
  if (any_damaged_) return AttemptState::kDamaged;
  return any_deleted_ ? AttemptState::kDeleted : AttemptState::kIncomplete;
}

void AttemptMarks::add_marks(const AttemptMarks& of_one_directory) {
  verified = verified || of_one_directory.verified;
  pinned = pinned || of_one_directory.pinned;
  if (poisoned.empty()) poisoned = of_one_directory.poisoned;
}

// Step and token only make the order total. Two attempts of one generation have the same sequence
// only if one was not visible when the other was committed.
bool is_newer(const AttemptFacts& one, const AttemptFacts& other) {
  const auto key = [](const AttemptFacts& facts) {
    return std::tuple(facts.state == AttemptState::kCommitted, facts.generation, facts.sequence,
                      facts.step, facts.token);
  };
  return key(one) > key(other);
}

bool may_start_from(const AttemptFacts& one) {
  return one.state == AttemptState::kCommitted && !one.poisoned;
}

bool may_salvage(const AttemptFacts& one, std::span<const AttemptFacts> all) {
  return one.state == AttemptState::kIncomplete &&
         std::ranges::none_of(all, [&](const AttemptFacts& other) {
           return may_start_from(other) && other.generation == one.generation &&
                  other.step >= one.step;
         });
}

std::uint64_t next_sequence(std::span<const AttemptFacts> all) {
  std::uint64_t highest = 0;
  for (const AttemptFacts& one : all) highest = std::max(highest, one.sequence);
  return highest + 1;
}

std::uint64_t next_generation(std::uint64_t fence, std::span<const AttemptFacts> all) {
  std::uint64_t highest = fence;
  for (const AttemptFacts& one : all) highest = std::max(highest, one.generation);
  return highest + 1;
}

}  // namespace robustrun::checkpoint
