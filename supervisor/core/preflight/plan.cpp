#include "supervisor/core/preflight/plan.h"

#include <algorithm>

#include "base/core/result.h"

namespace robustrun::supervisor {

std::vector<std::uint32_t> call_steps(std::uint32_t nodes, std::uint32_t partners_max) {
  RR_ASSERT(partners_max >= 2);
  std::vector<std::uint32_t> steps;
  if (nodes < 2) return steps;
  if (nodes - 1 <= partners_max) {
    for (std::uint32_t step = 1; step < nodes; ++step) steps.push_back(step);
    return steps;
  }
  const std::uint32_t pairs = partners_max / 2;
  const std::uint64_t half = (nodes - 1) / 2;  // at least `pairs`, so that all are different
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const auto step = static_cast<std::uint32_t>(1 + i * half / pairs);
    steps.push_back(step);
    steps.push_back(nodes - step);
  }
  return steps;
}

std::vector<Pairing> first_round(std::uint32_t nodes) {
  std::vector<Pairing> pairs;
  for (std::uint32_t i = 0; i + 1 < nodes; i += 2) pairs.push_back({i, i + 1});
  if (nodes > 1 && nodes % 2 == 1) pairs.push_back({nodes - 1, 0});
  return pairs;
}

std::vector<Pairing> second_round(std::uint32_t nodes, const std::vector<std::uint32_t>& suspects) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (!std::ranges::binary_search(suspects, i)) others.push_back(i);
  }
  std::vector<Pairing> pairs;
  if (others.empty()) return pairs;
  const auto have_met = [nodes](std::uint32_t one, std::uint32_t other) {  // first_round()
    const auto [low, high] = std::minmax({one, other});
    const bool is_last = nodes % 2 == 1 && high == nodes - 1;
    return is_last ? low == 0 : (one ^ 1U) == other;
  };
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    std::uint32_t partner = others[i % others.size()];
    for (std::size_t k = 0; k < 3; ++k) {  // at most two of them are partners of the first round
      const std::uint32_t next = others[(i + k) % others.size()];
      if (have_met(suspects[i], next)) continue;
      partner = next;
      break;
    }
    pairs.push_back({suspects[i], partner});
  }
  return pairs;
}

}  // namespace robustrun::supervisor
