#pragma once
// A job whose nodes keep each other's copies in memory.

#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test {

// Three nodes of two workers each and a spare, each of which can be reached by the others.
struct Copied : Harness {
  explicit Copied(JobSpec spec = policy_spec({2, 2, 2, 2}, 3, 3), bool reachable = true)
      : Harness(std::move(spec)), is_reachable(reachable) {
    for (std::uint32_t node = 0; node < generation.size(); ++node) meet(node);
  }
  void meet(std::uint32_t node) {
    AgentJoined hello{10, {}, 0};
    if (is_reachable) hello.bulk = endpoint(node);
    tell(std::move(hello), node);
    if (!all<SolveBackup>().empty()) question = all<SolveBackup>()[0];
  }
  static std::string endpoint(std::uint32_t node) {
    return "10.0.0." + std::to_string(node) + ":7";
  }
  void answer(std::vector<std::uint32_t> keepers, bool is_relaxed = false) {
    tell(BackupSolved{question.digest, std::move(keepers), "another node", is_relaxed});
  }
  // Running, each node's copies with the next one; the attempt's orders are in `placed`.
  void start() {
    answer({1, 2, 0});
    reserve();
    placed = all<PlaceCopies>();
    start_all();
    REQUIRE(job.state() == JobState::kRunning);
  }
  // Of both ranks of a node.
  void keep(std::uint32_t node, bool at_peer = true, bool here = true) {
    CopiesKept kept{job.attempt(), {}};
    for (std::uint32_t rank = 0; rank < node_of.size(); ++rank) {
      if (node_of[rank] == node) kept.copies.push_back({{rank}, here, at_peer, 100});
    }
    tell(std::move(kept), node);
  }
  void keep_all() {
    for (const std::uint32_t node : std::vector(group)) keep(node);
  }
  void saved(std::uint32_t node, std::uint64_t order, std::uint32_t count,
             std::vector<std::string> errors = {}) {
    tell(HeldCopiesSaved{{0}, order, count, std::move(errors)}, node);
  }
  [[nodiscard]] const PlaceCopies& placed_on(std::uint32_t node) const {
    const auto found = std::ranges::find(placed, base::NodeId{node}, &PlaceCopies::node);
    REQUIRE(found != placed.end());
    return *found;
  }
  SolveBackup question;
  std::vector<PlaceCopies> placed;
  bool is_reachable;
};

}  // namespace robustrun::supervisor::test
