#pragma once
// Deals a step's bins to ranks and micro-batches so that ranks wait as little as possible for the
// slowest. Pure.
//
// If ranks wait for each other once per step (DDP with no_sync), even_groups() makes the ranks'
// sums of costs nearly equal. If they wait at every micro-batch (FSDP, expert parallelism), the
// bins are sorted by cost, each micro-batch takes the next bins for all ranks, and even_groups()
// deals these to the ranks.

#include <cstdint>
#include <span>
#include <vector>

#include "loader/plan/spec.h"

namespace robustrun::loader {

// bins[rank][micro]: indices of bins; each micro-batch has the same number of bins.
using Deal = std::vector<std::vector<std::vector<std::uint32_t>>>;

// groups[group]: indices of items.
using Groups = std::vector<std::vector<std::uint32_t>>;
// Divides items into groups with the same number of items and nearly equal sums. items.size() must
// be a multiple of `groups`. Takes the better result of LPT (Graham 1969) and the largest
// differencing method (Karmarkar and Karp 1982), each improved by swaps.
[[nodiscard]] Groups even_groups(std::span<const std::uint64_t> items, std::uint32_t groups);

// Deals one bin per cost. costs.size() must be a multiple of ranks * micro.
[[nodiscard]] Deal deal(std::span<const std::uint64_t> costs, std::uint32_t ranks,
                        std::uint32_t micro, Sync sync);
// Deals the bins in the given order, as a loader without balance does: the first micro-batch of
// each rank in turn, then the second micro-batch of each, and so on.
[[nodiscard]] Deal deal_in_order(std::size_t bins, std::uint32_t ranks, std::uint32_t micro);

}  // namespace robustrun::loader
