#include "supervisor/core/fault/fault.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <utility>

#include "supervisor/core/fault/failure_signature.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kExceptionShownMax = 200;  // bytes

// errnos of posix_spawn and exec that may pass.
bool is_transient(int os_errno) {
  constexpr int kTransient[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, EIO, ESTALE, ETIMEDOUT};
  return std::ranges::find(kTransient, os_errno) != std::end(kTransient);
}

// errnos that mean that the program is missing or not executable.
bool is_permanent(int os_errno) {
  constexpr int kPermanent[] = {ENOENT, EACCES, ENOEXEC, ENOTDIR,     EISDIR,
                                ELOOP,  E2BIG,  EPERM,   ENAMETOOLONG};
  return std::ranges::find(kPermanent, os_errno) != std::end(kPermanent);
}

// Class of a fault that no worker's exit shows. torchrun counts every restart against
// --max-restarts, whatever the cause; a growing group is no failure.
FaultClass class_of_infrastructure(Rule rule, bool compat) {
  return compat && rule != Rule::kGroupGrew ? FaultClass::kUser : FaultClass::kInfrastructure;
}

const char* oom_words(const WorkerExited& exited) {
  // Otherwise the OOM killer hit a process that the worker had started.
  const bool itself = exited.kind == base::ExitStatus::Kind::kSignaled && exited.code == SIGKILL;
  switch (exited.oom) {
    case OomKiller::kNo: return "";
    case OomKiller::kUnknown:
      return itself ? " (whether by an OOM killer could not be found out)" : "";
    case OomKiller::kKernel:
      return itself ? " (by the kernel's OOM killer)"
                    : " (the kernel's OOM killer killed a process of it)";
    case OomKiller::kCgroup:
      return itself ? " (by its cgroup's OOM killer)"
                    : " (its cgroup's OOM killer killed a process of it)";
  }
  return "";
}

const char* end_words(base::ScriptEnd end) {
  switch (end) {
    case base::ScriptEnd::kNotSeen: return "";
    case base::ScriptEnd::kReturned: return " after its script had returned";
    case base::ScriptEnd::kFinished: return " after its script and exit handlers had ended";
  }
  return "";
}

// The failure's time in the error file, if it is plausible.
std::int64_t time_of(const WorkerExited& exited, const FaultContext& context) {
  const bool plausible = exited.error_timestamp_s >= context.attempt_started_s &&
                         exited.error_timestamp_s <= context.now_s;
  return plausible ? exited.error_timestamp_s : context.now_s;
}

// A machine is gone, with its workers.
bool is_loss(const Fault& fault) {
  return fault.rule == Rule::kAgentLost || fault.rule == Rule::kNodeLeft;
}

// Its exception and the line that raised it, or how it ended.
std::string what_happened(const WorkerExited& exited) {
  const auto error = ending_exception(exited);
  if (!error) return how_it_ended(exited);
  const bool is_cut = error->exception.size() > kExceptionShownMax;
  std::string words = base::printable(error->exception.substr(0, kExceptionShownMax));
  if (is_cut) words += " ...";
  if (!error->file.empty()) words += ", in " + base::printable(place_in_words(*error));
  if (exited.code != 1) words += fmt::format(" (exit code {})", exited.code);
  return words;
}

}  // namespace

std::optional<ScriptError> ending_exception(const WorkerExited& exited) {
  const bool is_by_itself = exited.kind == base::ExitStatus::Kind::kExited && exited.code != 0 &&
                            !exited.shim_lost && exited.script_end == base::ScriptEnd::kNotSeen;
  return is_by_itself ? script_error(exited.stderr_tail) : std::nullopt;
}

std::string how_it_ended(const WorkerExited& exited) {
  const std::string words = base::describe(exited.status());
  if (exited.shim_lost) return words + " (its shim was killed)";
  return words + oom_words(exited) + end_words(exited.script_end);
}

std::string failure_in_words(const WorkerExited& exited, const std::string& node_name) {
  return fmt::format("rank {} on {}: {}", exited.rank.value, node_name, what_happened(exited));
}

std::string failure_in_words(const WorkerStartFailed& failed, const std::string& node_name) {
  return fmt::format("rank {} on {} could not be started: {}", failed.rank.value, node_name,
                     failed.what);
}

bool is_lost_at_end(const WorkerExited& exited) {
  const bool by_itself = exited.kind == base::ExitStatus::Kind::kExited || is_crash(exited.code);
  return by_itself && !exited.shim_lost && !exited.ended_well() &&
         exited.script_end != base::ScriptEnd::kNotSeen;
}

bool is_of_the_machine(const Classification& what) {
  return what.layer == Layer::kInfrastructure && what.confidence == Confidence::kHigh &&
         (what.action == FirstAction::kEvict || what.action == FirstAction::kTolerate);
}

bool asks_not_to_requeue(const WorkerExited& exited, bool compat) {
  return !compat && exited.kind == base::ExitStatus::Kind::kExited &&
         exited.code == kExitDoNotRequeue;
}

Fault worker_fault(const WorkerExited& exited, const FaultContext& context) {
  Fault fault;
  fault.exit_code = exit_code_for_worker(exited.status(), context.compat);
  fault.time_s = time_of(exited, context);
  fault.nodes = {context.node};
  fault.words = failure_in_words(exited, context.node_name);
  if (exited.shim_lost) {
    fault.fault_class = class_of_infrastructure(fault.rule, context.compat);
  } else if (context.port_may_conflict && exited.rank.value == 0 && says_address_in_use(exited)) {
    fault.fault_class = FaultClass::kPortConflict;
    fault.rule = Rule::kPortConflict;
    fault.words += " (MASTER_PORT was already in use)";
  } else {
    fault.signature = failure_signature(exited);
  }
  if (context.rows != nullptr) fault.looks_like = classify(exited, context.phase, *context.rows);
  if (context.trusts_looks && fault.looks_like && is_of_the_machine(*fault.looks_like)) {
    fault.exit_code = exit_code_for_infrastructure(context.compat);
    if (fault.looks_like->action == FirstAction::kTolerate) {
      fault.fault_class = class_of_infrastructure(fault.rule, context.compat);
    }
  }
  return fault;
}

Fault start_fault(const WorkerStartFailed& failed, const FaultContext& context) {
  Fault fault;
  fault.rule = Rule::kStartFailed;
  fault.time_s = context.now_s;
  fault.nodes = {context.node};
  fault.words = failure_in_words(failed, context.node_name);
  if (is_transient(failed.os_errno)) {
    fault.fault_class = class_of_infrastructure(fault.rule, context.compat);
    fault.exit_code = exit_code_for_infrastructure(context.compat);
  } else {
    fault.fault_class = is_permanent(failed.os_errno) ? FaultClass::kPermanent : FaultClass::kUser;
    fault.exit_code = exit_code_for_start_failure(failed.os_errno, context.compat);
    fault.signature = failure_signature(failed);
  }
  if (context.rows != nullptr) fault.looks_like = classify(failed, *context.rows);
  return fault;
}

Fault infrastructure_fault(Rule rule, std::string words, const FaultContext& context) {
  Fault fault;
  fault.fault_class = class_of_infrastructure(rule, context.compat);
  fault.rule = rule;
  fault.exit_code = exit_code_for_infrastructure(context.compat);
  fault.time_s = context.now_s;
  fault.words = std::move(words);
  return fault;
}

void Evidence::add(std::string line) {
  if (first.size() < kEvidenceMax) {
    first.push_back(std::move(line));
  } else {
    ++more;
  }
}

void Evidence::add_first(std::string line) {
  first.insert(first.begin(), std::move(line));
  if (first.size() <= kEvidenceMax) return;
  first.pop_back();
  ++more;
}

std::vector<std::string> Evidence::lines() const {
  std::vector<std::string> all = first;
  if (more > 0) all.push_back(fmt::format("and {} more", more));
  return all;
}

bool Outage::add(Fault fault, bool explains_root) {
  evidence.add(fault.words);
  const auto order = [](const Fault& one) {
    return std::pair(one.fault_class != FaultClass::kPortConflict, one.time_s);
  };
  // A tie goes to the fault that came first. A worker that ended early is the cause only as long as
  // no other cause is known.
  const bool outweighs =
      root.rule == Rule::kEndedEarly && fault.looks_like && !fault.looks_like->sequel;
  const bool is_root = explains_root || outweighs || order(fault) < order(root);
  const bool is_explained = is_loss(root) && fault.looks_like && fault.looks_like->sequel;
  if (explains_root) {
    looks_like.reset();
    nodes = fault.nodes;
  }
  if (fault.looks_like && !nothing_failed() && !is_explained &&
      (!looks_like || outweighs || (looks_like->sequel && !fault.looks_like->sequel) ||
       (is_root && looks_like->sequel == fault.looks_like->sequel))) {
    looks_like = fault.looks_like;
    nodes = fault.nodes;
  }
  if (is_root) root = std::move(fault);
  return is_root;
}

void Outage::trace_to(Classification what, std::vector<base::NodeId> machines) {
  looks_like = std::move(what);
  nodes = std::move(machines);
}

void Outage::explain(Rule rule, std::string words, std::string signature) {
  evidence.add_first(words);
  root.fault_class = FaultClass::kUser;
  root.rule = rule;
  root.time_s = std::numeric_limits<std::int64_t>::min();
  root.signature = std::move(signature);
  root.words = std::move(words);
}

}  // namespace robustrun::supervisor
