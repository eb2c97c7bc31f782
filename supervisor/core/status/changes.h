#pragma once
// A run's status as changes since an earlier one, for viewers that ask twice a second (`robustrun
// top`). Pure.
//
// Most of a large run's status stays the same. Numbers that change in every node all the time are
// made coarse: a rank's steps become its distance behind the median, 0 while it keeps up
// (steps_behind.h); times of nodes become whole seconds, and NodeStatus::heard is 0 while the node
// is not silent. So in a healthy run hardly more than the run's own counters change, however many
// nodes it has. As JSON: docs/formats/control-socket.md.

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// A node that was heard of within this time is not silent.
inline constexpr base::Nanos kNodeSilence = std::chrono::seconds(5);

struct RankNews {
  WorkerStage state = WorkerStage::kPending;
  std::int32_t pid = 0;
  std::uint64_t behind = 0;  // steps behind the median; 0: it keeps up
  template <class V>
  void fields(V& v) {
    v(1, "state", state);
    v(2, "pid", pid);
    v(3, "behind", behind);
  }
  friend bool operator==(const RankNews&, const RankNews&) = default;
};

struct NodeNews {
  std::uint32_t index = 0;  // in RunStatus::nodes
  NodeStatus node;  // without its ranks
  std::vector<RankNews> ranks;
  template <class V>
  void fields(V& v) {
    v(1, "index", index);
    v(2, "node", node);
    v(3, "ranks", ranks);
  }
  friend bool operator==(const NodeNews&, const NodeNews&) = default;
};

struct StatusNews {
  std::uint64_t version = 0;  // of the status with these changes; never 0
  std::uint32_t nodes = 0;  // size of RunStatus::nodes
  std::uint64_t median = 0;  // of all ranks' steps
  RunStatus run;  // without its nodes
  std::vector<NodeNews> changed;
  std::optional<RankStatus> chosen;  // the rank that was asked for
  template <class V>
  void fields(V& v) {
    v(1, "version", version);
    v(2, "nodes", nodes);
    v(3, "median", median);
    v(4, "run", run);
    v(5, "changed", changed);
    v(6, "chosen", chosen);
  }
};

// The supervisor's side: one for all viewers.
class StatusChanges {
 public:
  void take(RunStatus status);
  // What changed after `version`, an earlier StatusNews::version; 0: everything. `rank`: the rank
  // for StatusNews::chosen.
  [[nodiscard]] StatusNews since(std::uint64_t version,
                                 std::optional<std::uint32_t> rank = {}) const;

 private:
  struct Node {
    NodeNews news;
    std::vector<RankStatus> ranks;
    std::uint64_t changed_at = 0;  // version
  };
  RunStatus run_;  // without its nodes
  std::uint64_t version_ = 0;
  std::uint64_t median_ = 0;
  std::vector<Node> nodes_;
};

// A viewer's side. It mirrors one supervisor: another supervisor counts versions from the
// beginning.
class StatusMirror {
 public:
  // `rank`: as given to since(). Changes of nodes with an index beyond StatusNews::nodes are
  // dropped.
  void take(StatusNews news, std::optional<std::uint32_t> rank = {});
  [[nodiscard]] std::uint64_t version() const { return version_; }  // 0: nothing is known
  // Steps of ranks are the median less RankNews::behind, except those of the chosen rank.
  [[nodiscard]] const RunStatus& status() const { return status_; }

 private:
  RunStatus status_;
  std::uint64_t version_ = 0;
  std::vector<std::vector<std::uint64_t>> behind_;  // by node and local rank
};

}  // namespace robustrun::supervisor
