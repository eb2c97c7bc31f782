#pragma once
// The rules of docs/diagnosis.md. Each examines a case and returns a verdict, or nullopt if the
// rule does not apply. Each file in rules/ has one rule or variants of one rule; analyze.cpp has
// the order. "At rest" means: the snapshot comes from files of a job that no longer makes progress
// (FleetSnapshot::at_rest).

#include <optional>
#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/stacks.h"
#include "tracer/analysis/verdict.h"
#include "tracer/analysis/wait_graph.h"

namespace robustrun::tracer {

// The facts that all rules examine.
struct Case {
  const FleetView& view;
  const std::vector<Whereabouts>& where;  // by index for FleetView::rank()
  const std::vector<SameStack>& same;  // groups of ranks with equal stacks
  const WaitGraph& graph;
};

using Rule = std::optional<Verdict> (*)(const Case& facts);

std::optional<Verdict> rule_died(const Case& facts);  // R1
std::optional<Verdict> rule_stopped(const Case& facts);  // R1b
std::optional<Verdict> rule_mismatch(const Case& facts);  // R6
std::optional<Verdict> rule_input_stall(const Case& facts);  // R9
std::optional<Verdict> rule_never_entered(const Case& facts);  // R2
std::optional<Verdict> rule_gpu_before_kernel(const Case& facts);  // R3
std::optional<Verdict> rule_left_behind(const Case& facts);  // R5
std::optional<Verdict> rule_long_phase(const Case& facts);  // R10
std::optional<Verdict> rule_gpu_stands(const Case& facts);  // R4a, at rest
std::optional<Verdict> rule_order_inversion(const Case& facts);  // R6b
std::optional<Verdict> rule_link_down(const Case& facts);  // R8b
std::optional<Verdict> rule_interface_down(const Case& facts);  // R8b, inferred
std::optional<Verdict> rule_gpu_in_kernel(const Case& facts);  // R4a, R4d
std::optional<Verdict> rule_link_stuck(const Case& facts);  // R4b
std::optional<Verdict> rule_proxy_stuck(const Case& facts);  // R4c
std::optional<Verdict> rule_gpu_errors(const Case& facts);  // R4a, by reported errors
std::optional<Verdict> rule_slow_rank(const Case& facts);  // R7
std::optional<Verdict> rule_slow_link(const Case& facts);  // R8
std::optional<Verdict> rule_slow_gpu(const Case& facts);  // R7b
std::optional<Verdict> rule_slow_group(const Case& facts);  // R8c
std::optional<Verdict> rule_slow_tcp(const Case& facts);  // R8, without flows
// R2, at rest: halted ranks, if no wait in the graph leads to them.
std::optional<Verdict> rule_halted(const Case& facts);
std::optional<Verdict> rule_not_seen(const Case& facts);  // R2, by missing records
std::optional<Verdict> rule_late_rank(const Case& facts);  // R7, by times of arrival
std::optional<Verdict> rule_all_outside(const Case& facts);  // R10, for all ranks at once
std::optional<Verdict> rule_ended_early(const Case& facts);  // R1, after a failure
std::optional<Verdict> rule_not_ended(const Case& facts);  // R12

std::optional<Verdict> rule_calls_by_stack(const Case& facts);  // R2, without any record
std::optional<Verdict> rule_unseen_elsewhere(const Case& facts);  // R2, by stacks

// R11: if `verdict` blames most ranks of every node that has culprits, returns a verdict about
// these nodes, to replace it.
std::optional<Verdict> rule_group_failure(const Case& facts, const Verdict& verdict);

// The ranks that have not entered an operation, by the reason that keeps them.
struct Absent {
  std::vector<Blame> plain;  // none of the reasons below, or unknown
  std::vector<Blame> loader;
  std::vector<Blame> phase;  // checkpoint, evaluation, compilation
  std::vector<Blame> own_gpu;
  std::vector<Blame> unrecorded;  // a call of torch.distributed that is not in the rank's record
};
[[nodiscard]] Absent sort_absent(const Case& facts);

// Members without a record that are missing from operations that all other members have entered;
// both lists ascending.
struct Unseen {
  // First, the members that are the only candidate for some operation. Then, one by one, the member
  // that is a candidate for most of the operations without a listed candidate. Ends at a tie.
  std::vector<base::Rank> certain;
  std::vector<base::Rank> possible;  // `certain`, and members that cannot be told apart
};
[[nodiscard]] Unseen unseen_suspects(const Case& facts);

}  // namespace robustrun::tracer
