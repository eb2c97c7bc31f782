#pragma once
// Deals a step's bins to ranks and micro-batches so that ranks wait least for the slowest. Pure.
//
// Where ranks wait for each other once per step (DDP with no_sync), the sums of the ranks are
// evened: the better one of LPT (Graham 1969) and the largest differencing method (Karmarkar and
// Karp 1982), both with equal counts, then improved by swaps. Where they wait at every micro-batch
// (FSDP, expert parallelism), bins are sorted by cost and dealt in rounds, so that the bins of one
// round are nearly equal.

#include <cstdint>
#include <span>
#include <vector>

#include "loader/plan/spec.h"

namespace robustrun::loader {

// bins[rank][micro]: indices of bins; each micro-batch has the same number of bins.
using Deal = std::vector<std::vector<std::vector<std::uint32_t>>>;

// Groups with the same number of items and nearly equal sums; items.size() is a multiple of
// `groups`. result[group]: indices of items.
using Groups = std::vector<std::vector<std::uint32_t>>;
[[nodiscard]] Groups even_groups(std::span<const std::uint64_t> items, std::uint32_t groups);

// costs.size() is a multiple of ranks * micro.
[[nodiscard]] Deal deal(std::span<const std::uint64_t> costs, std::uint32_t ranks,
                        std::uint32_t micro, Sync sync);
// Deals the bins as a loader without balance does: in the given order, the first micro-batch of
// each rank in turn, then the second of each.
[[nodiscard]] Deal deal_in_order(std::size_t bins, std::uint32_t ranks, std::uint32_t micro);

}  // namespace robustrun::loader
