#include "topo/solve/descend.h"

#include <algorithm>

#include "topo/limits.h"
#include "topo/solve/level_problem.h"
#include "topo/solve/level_solver.h"

namespace robustrun::topo {
namespace {

// One switch's share of a shape: its places, and the parts of the groups in it.
struct Share {
  Shape shape;
  std::vector<PlaceIndex> places;  // by place of the share: its index in the whole
  std::vector<std::uint32_t> class_of_place;
};

std::vector<Share> divide(const Shape& shape, const std::vector<std::uint32_t>& class_of_place,
                          const Assignment& assignment, std::uint32_t switches) {
  std::vector<Share> shares(switches);
  std::vector<PlaceIndex> index(shape.places());  // by place: its index in its share
  for (PlaceIndex place = 0; place < shape.places(); ++place) {
    Share& share = shares[assignment[place]];
    index[place] = static_cast<PlaceIndex>(share.places.size());
    share.places.push_back(place);
    share.class_of_place.push_back(class_of_place[place]);
    share.shape.slots.push_back(shape.slots[place]);
  }
  std::vector<std::uint32_t> touched;
  std::vector<Family> parts(switches);
  for (const Family& family : shape.families) {
    for (Family& part : parts) {
      part = {};
      part.kind = family.kind;
      part.size = family.size;
      part.first.push_back(0);
    }
    for (std::uint32_t g = 0; g < family.groups(); ++g) {
      touched.clear();
      for (const PlaceIndex place : family.group(g)) {
        Family& part = parts[assignment[place]];
        if (part.places.size() == part.first.back()) touched.push_back(assignment[place]);
        part.places.push_back(index[place]);
      }
      for (const std::uint32_t at : touched) {
        Family& part = parts[at];
        if (part.places.size() - part.first.back() < 2) {
          part.places.pop_back();
        } else {
          part.first.push_back(static_cast<std::uint32_t>(part.places.size()));
          part.ranks.push_back(family.ranks[g]);
        }
      }
    }
    for (std::uint32_t at = 0; at < switches; ++at) {
      if (parts[at].groups() > 0) shares[at].shape.families.push_back(std::move(parts[at]));
    }
  }
  return shares;
}

enum class Part : std::uint8_t {
  kAll,    // all places and all candidates
  kWhole,  // all places, below one of several sufficient switches
  kShare,  // a share assigned by a higher level
};

class Descender {
 public:
  Descender(const Cluster& cluster, const Objective& objective,
            const std::vector<std::uint32_t>& class_of_node)
      : cluster_(cluster),
        objective_(objective),
        class_of_node_(class_of_node),
        switches_(switches_by_level(cluster)) {
    for (const std::uint32_t c : class_of_node) classes_ = std::max(classes_, c + 1);
  }

  // `levels`: the number of levels left.
  Descent run(std::size_t levels, const Shape& shape,
              const std::vector<std::uint32_t>& class_of_place,
              const std::vector<NodeIndex>& candidates, Part part) {
    if (levels == 0 || shape.places() < 2) {
      return {in_order(class_of_place, candidates), false, 0, 0, false, {}};
    }
    const std::size_t level = levels - 1;
    std::vector<std::vector<NodeIndex>> below = by_switch(level, candidates);
    if (below.size() == 1) return run(level, shape, class_of_place, candidates, part);
    const auto problem = problem_of(shape, class_of_place, below);
    const std::vector<std::uint32_t> whole = switches_for_all(problem);
    if (!whole.empty()) return best_below(level, shape, class_of_place, below, whole, part);

    LevelSolution solution = solve_level(problem, part != Part::kShare);
    Descent descent;
    descent.divided = part == Part::kAll;
    descent.level = static_cast<std::uint32_t>(level);
    descent.level_bound = solution.bound;
    descent.searched = solution.searched;
    descent.how = std::move(solution.how);
    descent.nodes.resize(shape.places());
    const auto shares = divide(shape, class_of_place, solution.assignment, problem.switches);
    for (std::uint32_t at = 0; at < shares.size(); ++at) {
      const Share& share = shares[at];
      if (share.places.empty()) continue;
      const Descent one = run(level, share.shape, share.class_of_place, below[at], Part::kShare);
      for (std::size_t i = 0; i < share.places.size(); ++i) {
        descent.nodes[share.places[i]] = one.nodes[i];
      }
    }
    return descent;
  }

 private:
  std::vector<NodeIndex> in_order(const std::vector<std::uint32_t>& class_of_place,
                                  const std::vector<NodeIndex>& candidates) const {
    std::vector<std::size_t> next(classes_, 0);
    std::vector<NodeIndex> nodes;
    for (const std::uint32_t wanted : class_of_place) {
      while (class_of_node_[candidates[next[wanted]]] != wanted) ++next[wanted];
      nodes.push_back(candidates[next[wanted]++]);
    }
    return nodes;
  }

  [[nodiscard]] std::vector<std::vector<NodeIndex>> by_switch(
      std::size_t level, const std::vector<NodeIndex>& candidates) const {
    std::vector<std::uint32_t> number(cluster_.levels[level].switches.size(), kNoSwitch);
    std::vector<std::vector<NodeIndex>> below;
    for (const NodeIndex node : candidates) {
      std::uint32_t& at = number[switches_[level][node]];
      if (at == kNoSwitch) {
        at = static_cast<std::uint32_t>(below.size());
        below.emplace_back();
      }
      below[at].push_back(node);
    }
    return below;
  }

  LevelProblem problem_of(const Shape& shape, const std::vector<std::uint32_t>& class_of_place,
                          const std::vector<std::vector<NodeIndex>>& below) const {
    LevelProblem problem;
    problem.shape = &shape;
    problem.switches = static_cast<std::uint32_t>(below.size());
    problem.class_of = class_of_place;
    problem.classes = classes_;
    problem.capacities.assign(std::size_t{classes_} * below.size(), 0);
    for (std::uint32_t at = 0; at < below.size(); ++at) {
      for (const NodeIndex node : below[at]) {
        ++problem.capacities[class_of_node_[node] * problem.switches + at];
      }
    }
    for (const Family& family : shape.families) {
      problem.weights.push_back(objective_.kinds.of(family.kind));
    }
    return problem;
  }

  // Switches that hold all places, the tightest first.
  [[nodiscard]] std::vector<std::uint32_t> switches_for_all(const LevelProblem& problem) const {
    std::vector<std::uint32_t> wanted(classes_, 0);
    for (const std::uint32_t c : problem.class_of) ++wanted[c];
    std::vector<std::uint32_t> fit;
    for (std::uint32_t at = 0; at < problem.switches; ++at) {
      bool fits = true;
      for (std::uint32_t c = 0; c < classes_ && fits; ++c) {
        fits = problem.capacity(c, at) >= wanted[c];
      }
      if (fits) fit.push_back(at);
    }
    const std::vector<std::uint32_t> totals = problem.totals();
    std::ranges::stable_sort(fit, {}, [&](std::uint32_t at) { return totals[at]; });
    if (fit.size() > kWholeTriesMax) fit.resize(kWholeTriesMax);
    return fit;
  }

  Descent best_below(std::size_t level, const Shape& shape,
                     const std::vector<std::uint32_t>& class_of_place,
                     const std::vector<std::vector<NodeIndex>>& below,
                     const std::vector<std::uint32_t>& whole, Part part) {
    Descent best;
    Cost least;
    for (const std::uint32_t at : whole) {
      Descent one = run(level, shape, class_of_place, below[at],
                        part == Part::kShare ? Part::kShare : Part::kWhole);
      const Cost cost = score(cluster_, shape, objective_, one.nodes).cost;
      if (!best.nodes.empty() && cost >= least) continue;
      best = std::move(one);
      least = cost;
      if (least == Cost{}) break;
    }
    return best;
  }

  const Cluster& cluster_;
  const Objective& objective_;
  const std::vector<std::uint32_t>& class_of_node_;
  std::vector<std::vector<std::uint32_t>> switches_;  // by level, by node
  std::uint32_t classes_ = 1;
};

}  // namespace

Descent descend(const Cluster& cluster, const Objective& objective, const Shape& shape,
                const std::vector<std::uint32_t>& class_of_place,
                const std::vector<std::uint32_t>& class_of_node,
                const std::vector<NodeIndex>& candidates) {
  return Descender(cluster, objective, class_of_node)
      .run(cluster.levels.size(), shape, class_of_place, candidates, Part::kAll);
}

}  // namespace robustrun::topo
