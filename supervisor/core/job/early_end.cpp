// A worker that ends with exit code 0 while others still train makes the others fail, or wait for
// ever. Then it is the cause, and not the rank that lost its peer.

#include <algorithm>

#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr const char* kFinding = "ended early";  // of rows of the table of faults

std::string operation_of(const tracer::Verdict& verdict) {
  if (verdict.signature.kind == tracer::OpKind::kUnknown) return {};
  return std::string(to_string(verdict.signature.kind));
}

void blame(const std::vector<EarlyEnd>& ended, std::string words, const JobMemory& job,
           Fault& fault) {
  fault.rule = Rule::kEndedEarly;
  fault.fault_class = FaultClass::kUser;
  fault.words = std::move(words);
  fault.signature = kFinding;
  fault.looks_like = classify_finding(kFinding, "\"" + fault.words + "\"", job.spec.faults);
  fault.nodes.clear();
  for (const EarlyEnd& one : ended) {
    const base::NodeId node = job.plan.node_of[one.rank.value];
    if (std::ranges::find(fault.nodes, node) == fault.nodes.end()) fault.nodes.push_back(node);
  }
}

}  // namespace

void Job::Impl::note_ended_well(const WorkerExited& exited) {
  if (ended_well.size() >= kEndedWellKept) return;
  ended_well.push_back({exited.rank, exited.steps, exited.step});
}

// A worker failed because it missed one that ended early. The failure keeps its exit code.
bool Job::Impl::blame_early_end(Fault& fault, const WorkerExited& exited) const {
  if (ended_well.empty() || !fault.looks_like || !fault.looks_like->sequel) return false;
  blame(ended_well, in_words(ended_well, {exited.rank}, operation_in_traceback(exited)), *this,
        fault);
  return true;
}

// Workers wait for ever for one that ended early.
bool Job::Impl::blame_early_end(Fault& fault, const tracer::Verdict& verdict) const {
  if (verdict.finding != tracer::Finding::kDied) return false;
  std::vector<EarlyEnd> ended;
  for (const EarlyEnd& one : ended_well) {
    if (std::ranges::find(verdict.culprits, one.rank) != verdict.culprits.end()) {
      ended.push_back(one);
    }
  }
  if (ended.empty() || ended.size() < verdict.culprits.size()) return false;
  blame(ended, in_words(ended, verdict.victims, operation_of(verdict)), *this, fault);
  return true;
}

// `verdict`: made from what all workers had called last when one failed.
void Job::Impl::name_operation(const tracer::Verdict& verdict) {
  if (outage->root.rule != Rule::kEndedEarly || !outage->lacks_operation) return;
  Fault known = outage->root;
  if (operation_of(verdict).empty() || !blame_early_end(known, verdict)) return;
  outage->lacks_operation = false;
  outage->explain(known.rule, known.words, known.signature);
  outage->looks_like = outage->said = known.looks_like;
  decide(known.rule, known.words, verdict.evidence, {}, known.looks_like);
}

}  // namespace robustrun::supervisor
