#include "loader/plan/figures.h"

#include <algorithm>

#include "loader/plan/balance.h"
#include "loader/plan/pack.h"

namespace robustrun::loader {
namespace {

Imbalance imbalance_of(const Deal& dealt, const std::vector<std::uint64_t>& costs,
                       std::uint32_t micro) {
  std::vector<std::uint64_t> slowest(micro);
  std::uint64_t slowest_rank = 0;
  std::uint64_t sum = 0;
  for (const auto& rank : dealt) {
    std::uint64_t of_rank = 0;
    for (std::uint32_t round = 0; round < micro; ++round) {
      std::uint64_t of_round = 0;
      for (const std::uint32_t bin : rank[round]) of_round += costs[bin];
      slowest[round] = std::max(slowest[round], of_round);
      of_rank += of_round;
    }
    slowest_rank = std::max(slowest_rank, of_rank);
    sum += of_rank;
  }
  Imbalance imbalance;
  if (sum == 0) return imbalance;
  const double mean = static_cast<double>(sum) / static_cast<double>(dealt.size());
  std::uint64_t waited = 0;
  for (const std::uint64_t of_round : slowest) waited += of_round;
  imbalance.step = static_cast<double>(slowest_rank) / mean;
  imbalance.micro = static_cast<double>(waited) / mean;
  return imbalance;
}

}  // namespace

StepFigures figures_of(const Spec& spec, const StepPlan& plan, std::uint32_t ranks) {
  StepFigures figures;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint64_t> piece_costs;
  for (const Piece& piece : plan.pieces) {
    lengths.push_back(piece.length);
    piece_costs.push_back(cost_of(spec, piece.length));
    figures.tokens += piece.length;
  }
  const auto& batch = spec.batch;
  const double room = static_cast<double>(batch.context) * batch.bins;
  figures.padding = 1 - static_cast<double>(figures.tokens) / room;

  std::vector<std::uint64_t> costs;
  std::uint64_t sum = 0;
  for (const Bin& bin : plan.bins) {
    costs.push_back(bin.cost);
    sum += bin.cost;
  }
  const Deal dealt = deal(costs, ranks, batch.micro, spec.balance.sync);
  figures.planned = imbalance_of(dealt, costs, batch.micro);

  std::vector<std::uint64_t> in_order(batch.bins);
  std::uint64_t placed = 0;
  const Packing packing = next_fit(lengths, batch.context, batch.bins);
  for (std::size_t i = 0; i < packing.size(); ++i) {
    if (packing[i] == kLeft) continue;
    in_order[packing[i]] += piece_costs[i];
    placed += lengths[i];
  }
  figures.padding_in_order = 1 - static_cast<double>(placed) / room;
  figures.in_order =
      imbalance_of(deal_in_order(batch.bins, ranks, batch.micro), in_order, batch.micro);

  if (sum > 0 && !piece_costs.empty()) {
    const double mean = static_cast<double>(sum) / ranks;
    figures.bound =
        std::max(1.0, static_cast<double>(*std::ranges::max_element(piece_costs)) / mean);
  }
  return figures;
}

}  // namespace robustrun::loader
