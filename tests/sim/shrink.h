#pragma once
// Reduces a run that breaks an invariant to the few necessary mishaps: delta debugging (Zeller and
// Hildebrandt, 2002, "ddmin"). Deterministic. Removing a mishap leaves the others as before.

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/cluster/cluster.h"
#include "tests/sim/draw_scenario.h"

namespace robustrun::sim {

struct Shrunk {
  std::vector<Struck> struck;  // in order; a run with only these breaks the same invariant
  std::uint32_t runs = 0;
  bool is_minimal = false;  // none can be removed; otherwise the budget of runs was used up
};

class Shrinker {
 public:
  static constexpr std::uint32_t kRunsMax = 200;

  // `rule`: the invariant that the run with all of `struck` breaks. `scenario` must outlive this.
  Shrinker(const Scenario& scenario, Mutation mutation, std::string rule,
           std::vector<Struck> struck)
      : scenario_(scenario), mutation_(mutation), rule_(std::move(rule)) {
    found_.struck = std::move(struck);
  }

  Shrunk run() {
    if (breaks({})) found_.is_minimal = true;
    std::size_t parts = 2;
    while (!found_.is_minimal && found_.runs < kRunsMax) {
      const std::size_t size = found_.struck.size();
      parts = std::min(parts, size);
      if (leaves_a_part_out(parts)) {
        parts = std::max<std::size_t>(2, parts - 1);
      } else if (parts == size) {
        found_.is_minimal = found_.runs < kRunsMax;
        break;
      } else {
        parts *= 2;
      }
    }
    return found_;
  }

 private:
  bool leaves_a_part_out(std::size_t parts) {
    const std::vector<Struck> all = found_.struck;
    for (std::size_t part = 0; part < parts && found_.runs < kRunsMax; ++part) {
      std::set<MishapId> rest;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i * parts / all.size() != part) rest.insert(all[i].id);
      }
      if (breaks(rest)) return true;
    }
    return false;
  }
  // If so, keeps it as the best result so far.
  bool breaks(const std::set<MishapId>& allowed) {
    ++found_.runs;
    Outcome outcome = Cluster(scenario_, mutation_, false, &allowed).run();
    if (!outcome.violation || outcome.violation->rule != rule_) return false;
    found_.struck = std::move(outcome.struck);
    return true;
  }

  const Scenario& scenario_;
  Mutation mutation_;
  std::string rule_;
  Shrunk found_;
};

inline Shrunk shrink(const Scenario& scenario, Mutation mutation, const Outcome& broken) {
  return Shrinker(scenario, mutation, broken.violation->rule, broken.struck).run();
}

inline std::string words_of(const Shrunk& shrunk, std::size_t of) {
  std::string text =
      fmt::format("{} of {} mishaps are enough{}, found in {} runs:", shrunk.struck.size(), of,
                  shrunk.is_minimal ? "" : " (perhaps fewer)", shrunk.runs);
  for (const Struck& one : shrunk.struck) {
    text += fmt::format("\n    {:12.6f} {}", std::chrono::duration<double>(one.at).count(),
                        words_of(one.id));
  }
  return text;
}

// The broken invariant, how to reproduce it with `program`, and the minimal mishaps.
inline std::string complaint(const Scenario& scenario, const Outcome& broken, const Shrunk& shrunk,
                             const std::string& program) {
  return fmt::format(
      "seed {0} breaks {1}: {2}\n  replay: ROBUSTRUN_SIM_SEED={0} {3}\n"
      "  of the shortened run: ROBUSTRUN_SIM_SHORT=1 ROBUSTRUN_SIM_SEED={0} {3}\n  {4}",
      scenario.seed, broken.violation->rule, broken.violation->what, program,
      words_of(shrunk, broken.struck.size()));
}

}  // namespace robustrun::sim
