#include "loader/plan/order.h"

#include <algorithm>

#include "base/core/result.h"

namespace robustrun::loader {
namespace {

constexpr std::uint64_t kBlocksKept = 256;  // of a window

}  // namespace

Order::Order(std::uint64_t key, std::uint64_t samples, std::uint64_t block, std::uint64_t window)
    : key_(key),
      samples_(samples),
      block_(block),
      window_(window),
      blocks_((samples - 1) / block + 1),
      permutation_(key, blocks_),
      short_slot_(permutation_.inverse(blocks_ - 1)) {
  RR_ASSERT(samples >= 1 && block >= 1 && window >= 1);
}

std::uint64_t Order::samples_before(std::uint64_t slot) const {
  const std::uint64_t missing = blocks_ * block_ - samples_;
  return slot * block_ - (slot > short_slot_ ? missing : 0);
}

Order::Window Order::window_of(std::uint64_t position) const {
  // The short block may have moved the position's block by one.
  std::uint64_t slot = std::min(position / block_, blocks_ - 1);
  while (slot + 1 < blocks_ && samples_before(slot + 1) <= position) ++slot;
  const std::uint64_t number = slot / window_;
  Window window;
  window.first_slot = number * window_;
  window.end_slot = std::min(window.first_slot + window_, blocks_);
  window.begin = samples_before(window.first_slot);
  window.end = window.end_slot == blocks_ ? samples_ : samples_before(window.end_slot);
  window.within = Permutation(mixed_key(key_, number), window.end - window.begin);
  if (window.end_slot - window.first_slot <= kBlocksKept) {
    for (slot = window.first_slot; slot < window.end_slot; ++slot) {
      window.blocks.push_back(permutation_.at(slot));
    }
  }
  return window;
}

std::uint64_t Order::sample(std::uint64_t position) {
  RR_ASSERT(position < samples_);
  if (position < last_.begin || position >= last_.end) last_ = window_of(position);
  const Window& window = last_;
  const std::uint64_t read = window.begin + window.within.at(position - window.begin);
  std::uint64_t slot = std::min(read / block_, window.end_slot - 1);
  while (slot + 1 < window.end_slot && samples_before(slot + 1) <= read) ++slot;
  const std::uint64_t block =
      window.blocks.empty() ? permutation_.at(slot) : window.blocks[slot - window.first_slot];
  return block * block_ + (read - samples_before(slot));
}

}  // namespace robustrun::loader
