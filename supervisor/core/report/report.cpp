#include "supervisor/core/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/hang.h"
#include "supervisor/core/report/injected.h"
#include "supervisor/core/report/pace.h"
#include "supervisor/core/report/recovery.h"
#include "supervisor/core/types/json_writer.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

void append_unique(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

void append_part(std::string& text, const std::string& part, const char* separator) {
  if (part.empty() || text.ends_with(part)) return;
  if (!text.empty()) text += separator;
  text += part;
}

// "12 ms later"
std::string later_words(base::Nanos first, base::Nanos other) {
  const char* const which = other < first ? "earlier" : "later";
  const base::Nanos delay = other < first ? elapsed(other, first) : elapsed(first, other);
  const double ms = std::chrono::duration<double, std::milli>(delay).count();
  return ms < 1000 ? fmt::format("{:.0f} ms {}", ms, which)
                   : fmt::format("{:.1f} s {}", ms / 1000, which);
}

// One walk over the journal. Each attempt whose workers failed is one incident; so is every
// setback before an attempt had workers (an agent that does not start, a deadline that passes
// without any answer). What was done is in the decisions that follow: a cause, then a verdict.
class IncidentList {
 public:
  explicit IncidentList(const Facts& facts) : facts_(facts) {
    for (const auto& [number, attempt] : facts.attempts) {
      if (!attempt.failures.empty()) describe_failures(attempt.failures, of_attempt(number));
    }
  }

  void note(base::Nanos, const Event& event) {
    if (std::holds_alternative<AgentJoined>(event.body)) running_.insert(event.node);
    if (std::holds_alternative<AgentLost>(event.body)) {
      lost_ = &event;
      had_started_ = running_.erase(event.node) > 0;
    }
    std::visit(
        [this, &event](const auto& body) {
          if constexpr (requires { body.attempt; }) attempt_ = body.attempt.value;
          if constexpr (requires { body.attempt, body.rank; }) {
            with_workers_ = attempt_;
            running_.insert(event.node);
          }
        },
        event.body);
  }

  void note(base::Nanos at, const Decision& decision) {
    if (decision.rule == Rule::kUpdating) return;  // nothing failed
    const RuleRole role = role_of(decision.rule);
    if (role == RuleRole::kCause) {
      open_ = last_ = affected_by(decision.attempt.value);
      Draft& draft = drafts_[*open_];
      if (draft.seen_at == base::Nanos{}) draft.seen_at = draft.handled_at = at;
      if (decision.rule == Rule::kAgentLost && lost_ != nullptr) describe_loss(*lost_, draft, true);
      take_reasons(decision, draft.incident);
    } else if (role == RuleRole::kVerdict) {
      if (!open_ && by_attempt_.contains(decision.attempt.value)) {
        open_ = by_attempt_.at(decision.attempt.value);
      }
      if (open_) {
        drafts_[*open_].replaced |= decision.rule == Rule::kRestart;
        drafts_[*open_].incident.verdict = decision.text;
        take_reasons(decision, drafts_[*open_].incident);
      }
      open_.reset();
    } else if (role == RuleRole::kSequel && last_) {
      if (decision.rule == Rule::kNodeEvicted) name_machines(decision, drafts_[*last_].incident);
      take_reasons(decision, drafts_[*last_].incident);
    }
    lost_ = nullptr;
  }

  void note(base::Nanos, const Finish&) { lost_ = nullptr; }
  void note(base::Nanos, const GroupFormed&) {}

  std::vector<Incident> finish() {
    // The journal stops right after the loss of an agent, before any decision about it.
    if (lost_ != nullptr) describe_loss(*lost_, drafts_[affected_by(attempt_)], false);
    std::ranges::stable_sort(drafts_, {}, &Draft::seen_at);
    std::vector<Incident> incidents;
    for (Draft& draft : drafts_) {
      draft.incident.at = elapsed(facts_.first_at, draft.seen_at);
      describe_aftermath(draft);
      note_further_evidence(draft);
      incidents.push_back(std::move(draft.incident));
    }
    return incidents;
  }

 private:
  struct Draft {
    Incident incident;
    base::Nanos seen_at{};
    base::Nanos handled_at{};
    bool replaced = false;   // by a new attempt
    std::vector<std::string> failures;  // evidence about workers that the incident names anyway
  };

  std::size_t new_draft(std::uint32_t attempt) {
    drafts_.emplace_back().incident.attempt = attempt;
    return drafts_.size() - 1;
  }

  Draft& of_attempt(std::uint32_t attempt) {
    const auto [place, is_new] = by_attempt_.try_emplace(attempt, drafts_.size());
    if (is_new) new_draft(attempt);
    return drafts_[place->second];
  }

  // The attempt's own incident when it had workers, else a new one.
  std::size_t affected_by(std::uint32_t attempt) {
    if (!with_workers_ || attempt > *with_workers_) return new_draft(attempt);
    of_attempt(attempt);
    return by_attempt_.at(attempt);
  }

  void describe_failures(const std::vector<Failure>& failures, Draft& draft) const {
    const Failure& first = failures.front();
    Incident& out = draft.incident;
    draft.seen_at = first.seen_at;
    draft.handled_at = first.handled_at;
    draft.replaced = true;
    out.rank = first.rank.value;
    out.node = node_name(facts_, first.node);
    out.ended = how_it_ended(first);
    if (first.exited != nullptr) {
      out.error_message = first.exited->error_message;
      out.stderr_tail = first.exited->stderr_tail;
      if (const auto error = ending_exception(*first.exited)) {
        out.exception = error->exception;
        out.place = place_in_words(*error);
      }
    }
    for (const Failure& failure : failures) draft.failures.push_back(evidence_of(facts_, failure));
    for (std::size_t i = 1; i < failures.size(); ++i) {
      out.also_failed.push_back(also_failed(failures[i], first.node, first.seen_at));
    }
  }

  // A failure beside the first one, which was seen at `first` on `node`.
  [[nodiscard]] std::string also_failed(const Failure& other, base::NodeId node,
                                        base::Nanos first) const {
    return fmt::format("rank {}{}: {}, {}", other.rank.value,
                       other.node == node ? "" : " on " + node_name(facts_, other.node),
                       how_it_ended(other), later_words(first, other.seen_at));
  }

  // A loss that was decided on is the cause of the failures around it, but not of one that is older
  // and was reported after the loss.
  void describe_loss(const Event& event, Draft& draft, bool is_decided) const {
    Incident& out = draft.incident;
    if (out.rank) {
      const std::vector<Failure>& failures = facts_.attempts.at(out.attempt).failures;
      const Failure& first = failures.front();
      const auto second =
          std::chrono::floor<std::chrono::seconds>(wall_time(facts_, event.at)).count();
      const bool is_older = first.handled_at > event.at && failure_second(facts_, first) < second;
      if (!is_decided || is_older) return;
      draft.seen_at = std::min(draft.seen_at, event.at);
      draft.handled_at = std::min(draft.handled_at, event.at);
      out.rank.reset();
      out.error_message = out.exception = out.place = "";
      out.stderr_tail.clear();
      out.also_failed.clear();
      for (const Failure& other : failures) {
        out.also_failed.push_back(also_failed(other, event.node, event.at));
      }
    } else {
      draft.seen_at = draft.handled_at = event.at;
    }
    out.node = node_name(facts_, event.node);
    const std::string& why = std::get<AgentLost>(event.body).why;
    if (had_started_) {
      out.ended = "its agent was lost: " + why;
    } else {
      // The decision has the reason.
      out.ended = is_decided ? "could not be started" : "could not be started: " + why;
    }
  }

  // Evicted machines, where no worker or agent failed.
  void name_machines(const Decision& decision, Incident& out) const {
    if (out.rank || !out.node.empty()) return;
    for (const base::NodeId node : decision.nodes) {
      append_part(out.node, node_name(facts_, node), ", ");
    }
  }

  void describe_aftermath(Draft& draft) const {
    static const AttemptFacts kNothing;
    const auto failed = facts_.attempts.find(draft.incident.attempt);
    const auto next = facts_.attempts.upper_bound(draft.incident.attempt);
    const AttemptFacts& before = failed == facts_.attempts.end() ? kNothing : failed->second;
    if (draft.replaced && next != facts_.attempts.end()) {
      describe_recovery(facts_, before, next->second, draft.seen_at, draft.handled_at,
                        draft.incident);
    } else {
      draft.incident.step_before = last_step(before);
    }
    describe_checkpoints(facts_, draft.incident);
  }

  static void note_further_evidence(Draft& draft) {
    for (const std::string& line : draft.incident.evidence) {
      const bool is_known = std::ranges::find(draft.failures, line) != draft.failures.end();
      if (!is_known) draft.incident.further_evidence.push_back(line);
    }
  }

  static void take_reasons(const Decision& decision, Incident& out) {
    if (decision.rule == Rule::kNotResumed) {
      out.not_resumed = decision.text;
      return;
    }
    const bool is_growth = decision.rule == Rule::kGroupGrew;
    if ((is_growth || decision.rule == Rule::kEndedEarly) && !decision.evidence.empty()) {
      out.cause = decision.evidence.front();
      out.is_growth = is_growth;
    }
    append_part(out.decision, decision.text, "; ");
    if (decision.looks_like) out.looks_like = decision.looks_like;
    for (const std::string& line : decision.evidence) append_unique(out.evidence, line);
    for (const std::string& line : decision.alternatives) append_unique(out.alternatives, line);
  }

  const Facts& facts_;
  std::vector<Draft> drafts_;
  std::map<std::uint32_t, std::size_t> by_attempt_;
  std::optional<std::size_t> open_;  // the draft whose verdict is not known yet
  std::optional<std::size_t> last_;  // the draft that a cause was added to last
  const Event* lost_ = nullptr;  // an agent's loss, before a decision about it
  bool had_started_ = false;  // that agent
  std::set<base::NodeId> running_;  // nodes whose agents have started
  std::uint32_t attempt_ = 0;  // newest that an event named
  std::optional<std::uint32_t> with_workers_;  // newest attempt that had workers
};

RunOutcome outcome_of(const Facts& facts) {
  if (facts.finish == nullptr) return RunOutcome::kUnfinished;
  if (facts.ending != nullptr) {
    const Rule rule = facts.ending->rule;
    if (rule == Rule::kSignal || rule == Rule::kSecondSignal || rule == Rule::kTimeLimit ||
        rule == Rule::kPreempted) {
      return RunOutcome::kStopped;
    }
  }
  return facts.finish->exit_code == 0 ? RunOutcome::kSucceeded : RunOutcome::kFailed;
}

// The last known state of a run whose journal just stops.
std::string last_known(const Facts& facts, const Decision* last_decision) {
  std::string text = facts.run == nullptr
                         ? "The journal does not tell how the run began"
                         : "The journal has no end: the run is active, or robustrun was killed";
  if (last_decision != nullptr) append_part(text, "Last decision: " + last_decision->text, ". ");
  if (facts.attempts.empty()) {
    append_part(text, "No worker was started", ". ");
    return text;
  }
  const auto& [number, attempt] = *facts.attempts.rbegin();
  std::string where = fmt::format("Last seen: attempt {}", number);
  if (const auto step = last_step(attempt)) {
    where += fmt::format(" at step {}", *step);
  } else if (!attempt.progress.empty() && attempt.progress.back()->steps > 0) {
    where += fmt::format(", {} steps done", attempt.progress.back()->steps);
  } else if (attempt.user_code) {
    where += ", script running, no step yet";
  } else if (attempt.started) {
    where += ", workers started";
  }
  if (attempt.gone) where += ", workers stopped";
  append_part(text, where, ". ");
  return text;
}

void take_progress(const Facts& facts, RunReport& report) {
  for (const auto& [number, attempt] : facts.attempts) {
    for (const Progress* reading : attempt.progress) {
      if (reading->step && reading->steps > 0) report.step = reading->step;
      if (reading->metric_names.empty()) continue;
      report.metrics.clear();
      const std::size_t count =
          std::min(reading->metric_names.size(), reading->metric_values.size());
      for (std::size_t i = 0; i < count; ++i) {
        report.metrics.push_back({reading->metric_names[i], reading->metric_values[i]});
      }
    }
  }
  if (facts.attempts.empty()) return;
  for (const Progress* reading : facts.attempts.rbegin()->second.progress) {
    report.steps = std::max(report.steps, reading->steps);
    report.data_skipped = std::max(report.data_skipped, reading->data_skipped);
    if (reading->data_waited < report.data_waited) continue;
    report.data_waited = reading->data_waited;
    report.data_rank = reading->data_rank.value;
  }
}

void take_pace(const Facts& facts, RunReport& report) {
  PaceFold pace;
  for (const auto& [number, attempt] : facts.attempts) {
    for (const Progress* reading : attempt.progress) pace.take(*reading);
  }
  if (facts.finish != nullptr) {
    report.steps_per_second = pace.mean();
    return;
  }
  if (facts.attempts.empty() || facts.attempts.rbegin()->second.gone) return;
  report.steps_per_second = pace.of(base::Attempt{facts.attempts.rbegin()->first});
  if (facts.run == nullptr) return;
  report.left = time_left(step_goal(facts.run->spec.stop_after_steps, report.metrics), report.steps,
                          report.step, report.steps_per_second);
}

void take_bandwidth(const Facts& facts, RunReport& report) {
  BandwidthFold fold;
  for (const auto& [number, attempt] : facts.attempts) {
    for (const Progress* reading : attempt.progress) fold.take(number, reading->bandwidth);
  }
  report.bandwidth = rows_of(fold.sums());
  if (report.bandwidth.size() > kBandwidthReportedMax) {
    report.bandwidth.resize(kBandwidthReportedMax);
  }
}

void take_spec(const RunStarted& run, RunReport& report) {
  report.run_id = run.spec.run_id;
  report.program = run.spec.program;
  report.version = run.version;
  report.started = run.wall_time;
  report.log_directory = run.spec.log_directory;
  report.nodes = static_cast<std::uint32_t>(run.spec.nodes.size());
  for (const NodeSpec& node : run.spec.nodes) report.world_size += node.slots;
}

void take_group(const GroupFormed& group, RunReport& report) {
  report.nodes = static_cast<std::uint32_t>(group.members.size());
  report.world_size = 0;
  for (const GroupMember& member : group.members) report.world_size += member.slots;
}

// Each with the failure after which it was moved, if there was one.
void describe_moved(const std::vector<MovedCheckpoint>& moved, std::vector<Incident>& incidents) {
  for (const MovedCheckpoint& one : moved) {
    const auto before = std::ranges::find_if(
        incidents.rbegin(), incidents.rend(),
        [&](const Incident& incident) { return incident.attempt < one.attempt; });
    if (before != incidents.rend()) before->moved.push_back(in_words(one));
  }
}

// Why the run ended. An order to stop announces what comes next; afterwards it is past.
std::string reason_of(const Decision& ending) {
  const bool is_order = role_of(ending.rule) == RuleRole::kEnd;
  return is_order && !ending.evidence.empty() ? ending.evidence.front() : ending.text;
}

}  // namespace

const char* to_string(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kUnfinished: return "unfinished";
    case RunOutcome::kSucceeded: return "succeeded";
    case RunOutcome::kFailed: return "failed";
    case RunOutcome::kStopped: return "stopped";
  }
  return "unfinished";
}

RunReport build_report(const std::vector<JournalEntry>& entries) {
  const Facts facts = gather(entries);
  RunReport report;
  if (facts.run != nullptr) take_spec(*facts.run, report);
  if (!facts.groups.empty()) take_group(*facts.groups.back(), report);
  report.duration = elapsed(facts.first_at, facts.last_at);
  report.attempts = static_cast<std::uint32_t>(facts.attempts.size());
  take_progress(facts, report);
  take_pace(facts, report);
  take_bandwidth(facts, report);

  IncidentList incidents(facts);
  const Decision* last_decision = nullptr;
  for (const JournalEntry& entry : entries) {
    std::visit([&](const auto& what) { incidents.note(entry.at, what); }, entry.what);
    if (const auto* decision = std::get_if<Decision>(&entry.what)) {
      last_decision = decision;
      if (is_about_places(decision->rule)) report.placement = decision->text;
      if (decision->rule == Rule::kKilled) report.killed.push_back(decision->text);
    }
    if (const auto* event = std::get_if<Event>(&entry.what)) {
      const auto* exited = std::get_if<WorkerExited>(&event->body);
      if (exited != nullptr) report.dropped_bytes += exited->dropped_bytes;
    }
    if (std::holds_alternative<Finish>(entry.what)) break;  // afterwards agents only leave
  }
  report.incidents = incidents.finish();
  report.moved = moved_checkpoints(facts);
  describe_moved(report.moved, report.incidents);
  report.injected = injected_faults(facts);
  report.hangs = hang_reports(facts);
  report.alarms = alarm_reports(facts);
  report.time = account_time(facts, entries);
  report.evictions = evictions(facts, entries);
  report.costs = phase_costs(facts, entries);
  report.stages = stage_costs(facts, entries);
  report.checkpoints = checkpoint_report(facts);
  for (const auto& [at, body] : facts.takeovers) {
    report.takeovers.push_back(
        {body->incarnation, elapsed(facts.first_at, at), body->away, body->host});
  }
  for (Incident& incident : report.incidents) explain_by_injection(report.injected, incident);
  report.outcome = outcome_of(facts);
  if (facts.finish != nullptr) {
    report.exit_code = facts.finish->exit_code;
    if (facts.ending != nullptr) report.reason = reason_of(*facts.ending);
  } else {
    report.reason = last_known(facts, last_decision);
  }
  return report;
}

std::string report_json(const RunReport& report) { return JsonWriter::object(report); }

}  // namespace robustrun::supervisor
