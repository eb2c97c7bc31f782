#include "loader/plan/order.h"

#include <algorithm>

#include "base/core/result.h"

namespace robustrun::loader {

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

std::uint64_t Order::sample(std::uint64_t position) const {
  RR_ASSERT(position < samples_);
  // The short block may have moved the position's block by one.
  std::uint64_t slot = std::min(position / block_, blocks_ - 1);
  while (slot + 1 < blocks_ && samples_before(slot + 1) <= position) ++slot;
  const std::uint64_t number = slot / window_;
  const std::uint64_t first = number * window_;
  const std::uint64_t end = std::min(first + window_, blocks_);
  const std::uint64_t begin = samples_before(first);
  const std::uint64_t size = (end == blocks_ ? samples_ : samples_before(end)) - begin;
  const Permutation within(mixed_key(key_, number), size);
  const std::uint64_t read = begin + within.at(position - begin);
  slot = std::min(read / block_, end - 1);
  while (slot + 1 < end && samples_before(slot + 1) <= read) ++slot;
  return permutation_.at(slot) * block_ + (read - samples_before(slot));
}

}  // namespace robustrun::loader
