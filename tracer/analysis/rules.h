#pragma once
// The rules of docs/diagnosis.md: each looks at a case and accuses somebody, or says nothing. One
// per file; analyze.cpp has their order.

#include <optional>
#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/stacks.h"
#include "tracer/analysis/verdict.h"
#include "tracer/analysis/wait_graph.h"

namespace robustrun::tracer {

struct Case {
  const FleetView& view;
  const std::vector<Whereabouts>& where;  // by rank
  const std::vector<SameStack>& same;     // ranks whose stacks are the same
  const WaitGraph& graph;
};

using Rule = std::optional<Verdict> (*)(const Case& facts);

std::optional<Verdict> rule_died(const Case& facts);               // R1
std::optional<Verdict> rule_stopped(const Case& facts);            // R1b
std::optional<Verdict> rule_mismatch(const Case& facts);           // R6
std::optional<Verdict> rule_input_stall(const Case& facts);        // R9
std::optional<Verdict> rule_never_entered(const Case& facts);      // R2
std::optional<Verdict> rule_gpu_before_kernel(const Case& facts);  // R3
std::optional<Verdict> rule_left_behind(const Case& facts);        // R5
std::optional<Verdict> rule_long_phase(const Case& facts);         // R10
std::optional<Verdict> rule_gpu_stands(const Case& facts);  // R4a, by who shares what stands
std::optional<Verdict> rule_order_inversion(const Case& facts);  // R6b
std::optional<Verdict> rule_link_down(const Case& facts);  // R8b
std::optional<Verdict> rule_interface_down(const Case& facts);  // R8b, inferred
std::optional<Verdict> rule_gpu_in_kernel(const Case& facts);  // R4a
std::optional<Verdict> rule_link_stuck(const Case& facts);  // R4b
std::optional<Verdict> rule_proxy_stuck(const Case& facts);  // R4c
std::optional<Verdict> rule_gpu_errors(const Case& facts);  // R4a, by what it says
std::optional<Verdict> rule_slow_rank(const Case& facts);  // R7
std::optional<Verdict> rule_slow_link(const Case& facts);  // R8
std::optional<Verdict> rule_slow_tcp(const Case& facts);  // R8, without flows
std::optional<Verdict> rule_halted(const Case& facts);  // R2, at rest; no rank waits for it
std::optional<Verdict> rule_not_seen(const Case& facts);  // R2, by who has no record
std::optional<Verdict> rule_late_rank(const Case& facts);  // R7, by when ranks arrive
std::optional<Verdict> rule_nobody_inside(const Case& facts);  // R10 of all ranks at once
std::optional<Verdict> rule_ended_early(const Case& facts);  // R1, after a failure

std::optional<Verdict> rule_calls_by_stack(const Case& facts);  // R2, without any record
std::optional<Verdict> rule_unseen_elsewhere(const Case& facts);  // R2, by stacks

// R11: most ranks of a node are culprits; the verdict about the node instead, or none.
std::optional<Verdict> rule_group_failure(const Case& facts, const Verdict& verdict);

// Of those who are absent, by what keeps them.
struct Absent {
  std::vector<Blame> plain;  // nothing special, or not known
  std::vector<Blame> loader;
  std::vector<Blame> phase;  // checkpoint, evaluation, compile
  std::vector<Blame> own_gpu;
  std::vector<Blame> unrecorded;  // in a call of torch.distributed that their record does not show
};
[[nodiscard]] Absent sort_absent(const Case& facts);

// Members that nobody sees of operations in which nobody else is missing; both ascending.
struct Unseen {
  std::vector<base::Rank> certain;  // no other member can be the one that is missing
  std::vector<base::Rank> possible;  // these, and who cannot be told apart
};
[[nodiscard]] Unseen unseen_suspects(const Case& facts);

}  // namespace robustrun::tracer
