#pragma once
// Where each rank's state is in memory, and that the plan of the next attempt leads there: a job
// continues from the newest step of which every rank finds its part, so every existing and reported
// copy must be found. No order may lead to an agent that is gone.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/sim/watch/group.h"

namespace robustrun::sim {

class SourceWatch {
 public:
  using Holder = std::pair<base::NodeId, base::Generation>;
  // `owner` (the rank's agent) and `keeper` (if any) have a complete copy, reported or not.
  void kept(base::Rank rank, const Holder& owner, const std::optional<Holder>& keeper) {
    there_.insert({owner.first, owner.second, rank});
    if (!keeper) return;
    there_.insert({keeper->first, keeper->second, rank});
    keeper_of_[{owner.first, owner.second, rank}] = *keeper;
  }
  // Sets the current keepers: reports about earlier keepers are outdated.
  void on_order(const core::PlaceCopies& order) {
    std::erase_if(ordered_, [&](const auto& one) { return one.second.owner == order.node; });
    for (const core::CopyRoute& route : order.send) {
      ordered_[route.rank] = {order.node, {route.node, route.generation}};
    }
  }
  // `groups`: state before the event.
  void on_event(const core::Event& event, const GroupWatch& groups) {
    const auto* kept = std::get_if<core::CopiesKept>(&event.body);
    if (kept == nullptr || kept->attempt != attempt_ || groups.is_of_the_past(event)) return;
    // Nothing within a connection comes after the end of the attempt.
    if (std::ranges::all_of(groups.nodes(), &GroupWatch::Node::gone)) return;
    for (const core::KeptCopy& copy : kept->copies) {
      const Holder owner{event.node, event.generation};
      Told& told = told_[copy.rank];
      told = {};
      if (copy.here) told.here = owner;
      const auto keeper = keeper_of_.find({owner.first, owner.second, copy.rank});
      const auto ordered = ordered_.find(copy.rank);
      const bool is_known = keeper != keeper_of_.end() && ordered != ordered_.end();
      if (copy.at_peer && is_known && ordered->second.keeper == keeper->second) {
        told.at_peer = keeper->second;
      }
    }
  }
  // Returns what is wrong with the orders of one attempt; empty: nothing.
  [[nodiscard]] std::string on_starts(const StartOrders& starts,
                                      const std::vector<core::PlaceCopies>& orders,
                                      const GroupWatch& groups) {
    attempt_ = starts.front()->attempt;
    if (world_ != starts.front()->world_size) told_.clear();
    world_ = starts.front()->world_size;
    std::string wrong;
    for (const auto* start : starts) {
      const auto order = std::ranges::find(orders, start->node, &core::PlaceCopies::node);
      if (order == orders.end()) continue;  // some agents cannot be reached by others
      for (const core::Assignment place : start->workers) {
        const std::string why = of_rank(place.rank, start->node, *order, groups);
        if (wrong.empty()) wrong = why;
      }
    }
    return wrong;
  }

 private:
  struct Told {
    std::optional<Holder> here, at_peer;
  };
  struct Ordered {
    base::NodeId owner;
    Holder keeper;
  };
  using Copy = std::tuple<base::NodeId, base::Generation, base::Rank>;

  [[nodiscard]] static bool lives(base::NodeId node, base::Generation generation,
                                  const GroupWatch& groups) {
    if (node.value >= groups.nodes().size()) return false;
    const GroupWatch::Node& there = groups.nodes()[node.value];
    return there.generation == generation.value && there.joined && !there.lost && !there.dismissed;
  }
  [[nodiscard]] bool is_somewhere(base::Rank rank, const GroupWatch& groups) const {
    const auto found = told_.find(rank);
    if (found == told_.end()) return false;
    const auto has_it = [&](const std::optional<Holder>& holder) {
      return holder && lives(holder->first, holder->second, groups) &&
             there_.contains({holder->first, holder->second, rank});
    };
    return has_it(found->second.here) || has_it(found->second.at_peer);
  }
  [[nodiscard]] std::string of_rank(base::Rank rank, base::NodeId here,
                                    const core::PlaceCopies& order,
                                    const GroupWatch& groups) const {
    const base::Generation own{groups.nodes()[here.value].generation};
    bool is_found = there_.contains({here, own, rank});
    for (const core::CopyRoute& route : order.fetch) {
      if (route.rank != rank) continue;
      if (!lives(route.node, route.generation, groups)) {
        return fmt::format("rank {} from n{}, which is gone", rank.value, route.node.value);
      }
      is_found = is_found || there_.contains({route.node, route.generation, rank});
    }
    if (is_found || !is_somewhere(rank, groups)) return {};
    return fmt::format("rank {} on n{} is not told where its copy is", rank.value, here.value);
  }

  base::Attempt attempt_;
  std::uint32_t world_ = 0;
  std::set<Copy> there_;
  std::map<Copy, Holder> keeper_of_;  // by the owner's copy
  std::map<base::Rank, Ordered> ordered_;
  std::map<base::Rank, Told> told_;  // newest report of each
};

}  // namespace robustrun::sim
