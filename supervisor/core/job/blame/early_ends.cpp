#include "supervisor/core/job/blame/early_ends.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr const char* kFinding = "ended early";  // of rows of the table of faults

std::string operation_of(const tracer::Verdict& verdict) {
  if (verdict.signature.kind == tracer::OpKind::kUnknown) return {};
  return std::string(to_string(verdict.signature.kind));
}

}  // namespace

void EarlyEnds::blame(const std::vector<EarlyEnd>& ended, std::string words, Fault& fault) const {
  fault.rule = Rule::kEndedEarly;
  fault.fault_class = FaultClass::kUser;
  fault.words = std::move(words);
  fault.signature = kFinding;
  fault.looks_like = classify_finding(kFinding, fmt::format("\"{}\"", fault.words), spec_.faults);
  fault.nodes.clear();
  for (const EarlyEnd& one : ended) {
    const base::NodeId node = group_.plan().node_of[one.rank.value];
    if (std::ranges::find(fault.nodes, node) == fault.nodes.end()) fault.nodes.push_back(node);
  }
}

void EarlyEnds::note(const WorkerExited& exited) {
  if (ended_well_.size() >= kEndedWellKept) return;
  ended_well_.push_back({exited.rank, exited.steps, exited.step});
}

// The failure keeps its exit code.
bool EarlyEnds::explain(Fault& fault, const WorkerExited& exited) const {
  if (ended_well_.empty() || !fault.looks_like || !fault.looks_like->sequel) return false;
  blame(ended_well_, in_words(ended_well_, {exited.rank}, operation_in_traceback(exited)), fault);
  return true;
}

bool EarlyEnds::explain(Fault& fault, const tracer::Verdict& verdict) const {
  if (verdict.finding != tracer::Finding::kDied) return false;
  std::vector<EarlyEnd> ended;
  for (const EarlyEnd& one : ended_well_) {
    if (std::ranges::find(verdict.culprits, one.rank) != verdict.culprits.end()) {
      ended.push_back(one);
    }
  }
  // Of more early ends than are kept, the first explain the rest.
  const std::size_t least = std::min(verdict.culprits.size(), kEndedWellKept);
  if (ended.empty() || ended.size() < least) return false;
  blame(ended, in_words(ended, verdict.victims, operation_of(verdict)), fault);
  return true;
}

void EarlyEnds::name_operation(Outage& outage, const tracer::Verdict& verdict) {
  if (outage.root.rule != Rule::kEndedEarly || !outage.lacks_operation) return;
  Fault known = outage.root;
  if (operation_of(verdict).empty() || !explain(known, verdict)) return;
  outage.lacks_operation = false;
  outage.explain(known.rule, known.words, known.signature);
  outage.looks_like = outage.said = known.looks_like;
  orders_.decide(known.rule, known.words, verdict.evidence, {}, known.looks_like);
}

}  // namespace robustrun::supervisor
