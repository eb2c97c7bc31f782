// An injected fault explains the failure of the rank it hit or, when it hit a node, the first
// failure there. A rank is one process per attempt, and a dead one cannot be hit: so a fault
// recorded after the failure of its rank was only reported late (an exception is, by a moment). A
// node may be hit again after its failure; then the times decide.

#include "supervisor/core/report/injected.h"

#include <fmt/core.h>

#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {
namespace {

bool explains(const InjectedFault& fault, const Incident& incident) {
  if (fault.attempt != incident.attempt || fault.node.empty()) return false;
  if (fault.rank) return fault.rank == incident.rank;
  return fault.node == incident.node && fault.at <= incident.at;
}

}  // namespace

std::string injected_words(const InjectedFault& fault) {
  if (fault.rank) return fmt::format("{} of rank {} on {}", fault.kind, *fault.rank, fault.node);
  return fault.node.empty() ? fault.kind : fmt::format("{} on {}", fault.kind, fault.node);
}

std::vector<InjectedFault> injected_faults(const Facts& facts) {
  std::vector<InjectedFault> faults;
  for (const auto& [at, body] : facts.injected) {
    InjectedFault& fault = faults.emplace_back();
    fault.kind = body->kind;
    fault.at = elapsed(facts.first_at, at);
    fault.attempt = body->attempt.value;
    if (body->node) fault.node = node_name(facts, *body->node);
    if (body->victim) fault.rank = body->victim->value;
    fault.done = body->done;
  }
  return faults;
}

void explain_by_injection(const std::vector<InjectedFault>& faults, Incident& incident) {
  for (const InjectedFault& fault : faults) {
    if (explains(fault, incident)) incident.injected = injected_words(fault);
  }
  // It is not unknown why this failed.
  const auto& looks = incident.looks_like;
  if (!incident.injected.empty() && looks && looks->symptom == kUnexplained) {
    incident.looks_like.reset();
  }
}

}  // namespace robustrun::supervisor
