#pragma once
// A run over time, node by node, from its journal alone: what the HTML page (html/) and traces
// (trace.h) need beyond RunReport. Pure.
//
// All times count from the run's start and lie within its duration, whatever the journal says.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/copy_events.h"
#include "supervisor/core/types/health.h"
#include "supervisor/core/types/stage_events.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

// A stage of a start on one node.
struct StageSpan {
  StageName stage = StageName::kAllocate;
  base::Nanos from{};
  base::Nanos to{};  // of an unfinished stage: when the node reported it last
  bool finished = true;
  std::optional<std::uint32_t> slowest;  // rank; nullopt: not a worker's stage
};

// A node's part in one attempt. A moment is when the last of the node's ranks got there.
struct NodePart {
  std::uint32_t attempt = 0;
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0;  // 0: unknown
  std::optional<base::Nanos> started;  // the worker's process
  std::optional<base::Nanos> script;  // the script's first line
  std::optional<base::Nanos> first_step;
  std::optional<base::Nanos> gone;  // no worker is left on the node
  std::vector<StageSpan> stages;
};

// A node's report about its health (core/types/health.h).
struct HealthNote {
  base::Nanos at{};
  NodeHealth::Source source = NodeHealth::Source::kKernel;
  std::string subject;
  std::string line;
  bool over = false;
};

struct AgentLoss {
  base::Nanos at{};
  std::string why;
};

enum class NodeRole : std::uint8_t {
  kMember,  // of the newest group
  kSpare,
  kEvicted,
  kLost,  // its agent is gone, and it is not in the newest group
  kOutside,  // none of these
};
// "in the group", "spare", "evicted", "lost", "unused"
[[nodiscard]] const char* to_string(NodeRole role);

struct NodeTimeline {
  std::string name;
  NodeRole role = NodeRole::kOutside;
  std::uint32_t first_rank = 0;  // in the newest group
  std::uint32_t ranks = 0;
  std::uint32_t failures = 0;  // attempts whose first failing worker was on this node
  bool offender = false;  // a repeat offender
  std::vector<StageSpan> joins;  // kAllocate and kConnect of each of the node's agents
  std::vector<NodePart> parts;  // by attempt
  std::vector<HealthNote> health;  // in order
  std::vector<AgentLoss> losses;  // in order
  std::string keeper;  // the node that keeps its ranks' copies; empty: none
  std::vector<KeptCopy> copies;  // as last reported
};

struct AttemptSpan {
  std::uint32_t attempt = 0;
  base::Nanos from{};  // the first event of the attempt
  base::Nanos to{};  // no worker is left; if unknown, the next attempt's start or the run's end
};

struct Reading {
  base::Nanos at{};
  std::uint32_t attempt = 0;
  std::uint64_t steps = 0;  // of this attempt
  std::optional<std::int64_t> step;  // number of that step, from the script or its optimizer
  std::optional<double> rate;  // steps per second since the reading before
  std::vector<double> values;  // by RunHistory::metrics; NaN: not reported
};

struct CheckpointMark {
  enum class What : std::uint8_t { kSaved, kCommitted, kLoaded };
  base::Nanos at{};
  What what = What::kSaved;
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;
  std::string source;  // of a load
  std::uint32_t ranks = 0;
};
[[nodiscard]] const char* to_string(CheckpointMark::What what);

struct RunHistory {
  base::Nanos duration{};
  std::vector<AttemptSpan> attempts;  // by number
  std::vector<NodeTimeline> nodes;  // by NodeId
  std::vector<std::string> metrics;  // names, those that contain "loss" first
  std::vector<Reading> readings;  // in order
  std::vector<CheckpointMark> checkpoints;  // in order
};

// Accepts any journal, even an incomplete or inconsistent one.
[[nodiscard]] RunHistory run_history(const Facts& facts, const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
