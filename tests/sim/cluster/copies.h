#pragma once
// Copies in memory, as agents and the shell handle them: keepers, existing copies, saves.

#include <tuple>

#include "supervisor/group/backup_solver.h"
#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

// As the shell does it: soon, late, never, or with an invalid answer.
inline void Cluster::solve_backup(const core::SolveBackup& question) {
  const core::BackupSolver solver(scenario_.placement);
  core::BackupSolved solved = solver.solve(question);
  if (strikes(Mishap::kKeepersNever, 0, 0.12)) return;
  if (strikes(Mishap::kKeepersWrong, 0, 0.12) && !solved.keepers.empty()) solved.keepers[0] = 0;
  const bool is_late = strikes(Mishap::kKeepersLate, 0, 0.12);
  later(is_late ? seconds(30) : milliseconds(1), [this, solved] { tell({}, {}, solved); });
}

// An agent follows its order until the next one. Of two orders of one attempt the second counts,
// since connections keep their order: a repetition that TCP does not allow would undo it, which
// nothing here is designed for.
inline void Cluster::place_copies(const core::PlaceCopies& order_of) {
  const Link::Order what = [this, order_of, number = ++copy_orders_](VirtualNode& node) {
    ToldCopies& told = told_copies_[order_of.node];
    const bool is_newer =
        std::tie(told.order.attempt, told.number) <= std::tie(order_of.attempt, number);
    if (told.by == node.generation() && !is_newer) return;
    told = {order_of, node.generation(), number};
  };
  if (!scenario_.is_local) links_[order_of.node.value].copies = what;
  order(order_of.node, what);
}

// From time to time every agent with workers reports its ranks' copies: their own, and the one at
// their keeper unless that is gone, or slow at the moment.
inline void Cluster::tell_copies(base::Attempt attempt) {
  if (!scenario_.keeps_copies) return;
  for (const VirtualNode& node : nodes_) {
    const auto told = told_copies_.find(node.id());
    if (told == told_copies_.end() || node.alive(attempt) == 0) continue;
    const core::PlaceCopies& known = told->second.order;
    if (known.attempt != attempt || told->second.by != node.generation()) continue;
    core::CopiesKept kept{attempt, {}};
    for (const core::CopyRoute& route : known.send) {
      const bool is_there = route.node.value < nodes_.size() &&
                            nodes_[route.node.value].generation() == route.generation;
      const bool is_slow = strikes(Mishap::kCopySlow, route.rank.value, 0.14);
      const bool is_at_peer = is_there && !is_slow;
      kept.copies.push_back({route.rank, true, is_at_peer, steps_});
      std::optional<SourceWatch::Holder> keeper;
      if (is_at_peer) keeper.emplace(route.node, route.generation);
      invariants_.sources().kept(route.rank, {node.id(), node.generation()}, keeper);
    }
    if (kept.copies.empty()) continue;
    transmit(from_[node.id().value],
             [this, n = node.id(), g = node.generation(), kept] { hear(n, g, kept); });
  }
}

// As an agent does it: soon, unsuccessfully, too late, never, or it is lost meanwhile.
inline void Cluster::save_held_copies(const core::SaveHeldCopies& order_of) {
  const base::Generation generation = nodes_[order_of.node.value].generation();
  core::HeldCopiesSaved answer{
      order_of.attempt, order_of.order, static_cast<std::uint32_t>(order_of.ranks.size()), {}};
  if (strikes(Mishap::kSaveFails, 0, 0.25)) {
    answer.saved = 0;
    answer.errors = {"disk full"};
  }
  if (mutation_ == Mutation::kForgetsSaves) {
    queue_.after(
        {}, [this, order_of, generation, answer] { speak(order_of.node, generation, answer); });
  }
  if (strikes(Mishap::kSaveNever, 0, 0.2)) return;
  const bool is_late = strikes(Mishap::kSaveLate, 0, 0.2);
  queue_.after(is_late ? seconds(25) : seconds(3), [this, order_of, generation, answer] {
    if (nodes_[order_of.node.value].generation() != generation) return;
    invariants_.answered_save(order_of.order);
    speak(order_of.node, generation, answer);
  });
}

}  // namespace robustrun::sim
