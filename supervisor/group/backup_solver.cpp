#include "supervisor/group/backup_solver.h"

#include <algorithm>
#include <numeric>

#include "topo/spares/backup.h"

namespace robustrun::supervisor {
namespace {

using topo::NodeIndex;

topo::GroupKind kind_of(RankGroups groups) {
  switch (groups) {
    case RankGroups::kTp: return topo::GroupKind::kTp;
    case RankGroups::kCp: return topo::GroupKind::kCp;
    case RankGroups::kEp: return topo::GroupKind::kEp;
    case RankGroups::kDp: return topo::GroupKind::kDp;
    case RankGroups::kPp: return topo::GroupKind::kPp;
  }
  return topo::GroupKind::kDp;
}

}  // namespace

BackupSolver::BackupSolver(const PlacementRequest& request) {
  cluster_ = is_consistent(request.cluster) ? request.cluster : topo::flat_cluster({});
  if (request.enabled) parallel_ = request.parallel;
  by_name_.resize(cluster_.nodes.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::ranges::sort(by_name_, {}, [this](NodeIndex node) -> const std::string& {
    return cluster_.nodes[node].name;
  });
}

BackupSolved BackupSolver::solve(const SolveBackup& question) const {
  topo::BackupProblem problem;
  problem.cluster = &cluster_;
  problem.parallel = parallel_;
  problem.former = question.former;
  for (const RankGroups groups : question.evictable) problem.evictable.push_back(kind_of(groups));
  for (const PlacementNode& place : question.places) {
    const auto found = std::ranges::lower_bound(
        by_name_, place.name, {},
        [this](NodeIndex node) -> const std::string& { return cluster_.nodes[node].name; });
    const bool is_there = found != by_name_.end() && cluster_.nodes[*found].name == place.name;
    problem.nodes.push_back(is_there ? *found : topo::kNoNode);
    problem.slots.push_back(std::max(place.slots, 1U));
  }
  const topo::Backup backup = topo::choose_keepers(problem);
  return {question.digest, backup.keeper, backup.how, backup.is_relaxed()};
}

}  // namespace robustrun::supervisor
