// One walk over the journal. Each attempt that failed is one incident: its causes are failures of
// workers (report_facts), lost agents, and decisions that name one (a deadline that passed without
// any answer has no event of its own); the verdict is the decision that follows.

#include <fmt/core.h>

#include <algorithm>

#include "supervisor/core/report_facts.h"
#include "supervisor/core/report_recovery.h"

namespace robustrun::supervisor {
namespace {

void append_unique(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

void append_sentence(std::string& text, const std::string& sentence) {
  if (sentence.empty() || text.ends_with(sentence)) return;
  if (!text.empty()) text += text.ends_with('.') ? " " : ". ";
  text += sentence;
}

// "12 ms later"; how much later than the first, as people say it.
std::string later_words(base::Nanos delay) {
  const double ms = std::chrono::duration<double, std::milli>(delay).count();
  return ms < 1000 ? fmt::format("{:.0f} ms later", ms) : fmt::format("{:.1f} s later", ms / 1000);
}

class IncidentList {
 public:
  explicit IncidentList(const Facts& facts) : facts_(facts) {
    for (const auto& [number, attempt] : facts.attempts) {
      if (!attempt.failures.empty()) describe_failures(attempt.failures, incident(number));
    }
  }

  void note(const Event& event) {
    if (std::holds_alternative<AgentLost>(event.body)) lost_ = &event;
    std::visit([this](const auto& body) {
      if constexpr (requires { body.attempt; }) attempt_ = std::max(attempt_, body.attempt.value);
    }, event.body);
  }

  void note(const Decision& decision) {
    const RuleRole role = role_of(decision.rule);
    if (role == RuleRole::kCause) {
      open_ = decision.attempt.value;
      Draft& draft = incident(*open_);
      if (draft.seen_at == base::Nanos{}) draft.seen_at = draft.handled_at = at_;
      if (decision.rule == Rule::kAgentLost && lost_ != nullptr) describe_loss(draft);
      take_reasons(decision, draft.incident);
    } else if (role == RuleRole::kVerdict) {
      // The verdict may carry the number of the attempt that it starts.
      if (!open_ && drafts_.contains(decision.attempt.value)) open_ = decision.attempt.value;
      if (open_) take_reasons(decision, incident(*open_).incident);
      open_.reset();
    }
    lost_ = nullptr;
  }

  void at(base::Nanos now) { at_ = now; }

  std::vector<Incident> finish(bool ended) {
    // The journal stops right behind the loss of an agent: nobody decided any more.
    if (lost_ != nullptr && !ended) describe_loss(incident(attempt_));
    std::vector<Incident> incidents;
    for (auto& [number, draft] : drafts_) {
      draft.incident.at = elapsed(facts_.first_at, draft.seen_at);
      const auto failed = facts_.attempts.find(number);
      const auto next = facts_.attempts.upper_bound(number);
      if (next != facts_.attempts.end()) {
        static const AttemptFacts kNothing;
        describe_recovery(facts_, failed == facts_.attempts.end() ? kNothing : failed->second,
                          next->second, draft.seen_at, draft.handled_at, draft.incident);
      } else if (failed != facts_.attempts.end()) {
        draft.incident.step_before = last_step(failed->second);
      }
      incidents.push_back(std::move(draft.incident));
    }
    return incidents;
  }

 private:
  struct Draft {
    Incident incident;
    base::Nanos seen_at{};
    base::Nanos handled_at{};
  };

  Draft& incident(std::uint32_t attempt) {
    Draft& draft = drafts_[attempt];
    draft.incident.attempt = attempt;
    return draft;
  }

  void describe_failures(const std::vector<Failure>& failures, Draft& draft) {
    const Failure& first = failures.front();
    Incident& out = draft.incident;
    draft.seen_at = first.seen_at;
    draft.handled_at = first.handled_at;
    out.rank = first.rank.value;
    out.node = node_name(facts_, first.node);
    out.ended = how_it_ended(first);
    if (first.exited != nullptr) {
      out.error_message = first.exited->error_message;
      out.stderr_tail = first.exited->stderr_tail;
    }
    for (std::size_t i = 1; i < failures.size(); ++i) {
      const Failure& other = failures[i];
      const bool elsewhere = other.node != first.node;
      out.also_failed.push_back(fmt::format(
          "rank {}{}: {}, {}", other.rank.value,
          elsewhere ? " on " + node_name(facts_, other.node) : "", how_it_ended(other),
          later_words(elapsed(first.seen_at, other.seen_at))));
    }
  }

  void describe_loss(Draft& draft) {
    const Event& event = *lost_;
    Incident& out = draft.incident;
    if (out.rank) return;  // a worker failed first
    draft.seen_at = draft.handled_at = event.at;
    out.node = node_name(facts_, event.node);
    out.ended = "its agent was lost: " + std::get<AgentLost>(event.body).why;
  }

  static void take_reasons(const Decision& decision, Incident& out) {
    append_sentence(out.decision, decision.text);
    for (const std::string& line : decision.evidence) append_unique(out.evidence, line);
    for (const std::string& line : decision.alternatives) append_unique(out.alternatives, line);
  }

  const Facts& facts_;
  std::map<std::uint32_t, Draft> drafts_;
  std::optional<std::uint32_t> open_;   // the incident whose verdict is not known yet
  const Event* lost_ = nullptr;         // an agent's loss that no decision followed yet
  std::uint32_t attempt_ = 0;           // newest that an event named
  base::Nanos at_{};
};

std::string outcome_of(const Facts& facts) {
  if (facts.finish == nullptr) return "unfinished";
  if (facts.ending != nullptr) {
    const Rule rule = facts.ending->rule;
    if (rule == Rule::kSignal || rule == Rule::kSecondSignal || rule == Rule::kTimeLimit) {
      return "stopped";
    }
  }
  return facts.finish->exit_code == 0 ? "succeeded" : "failed";
}

// What is known last of a run whose journal just stops.
std::string last_known(const Facts& facts, const Decision* last_decision) {
  std::string text = facts.run == nullptr
                         ? "The journal does not tell how the run began"
                         : "The journal has no end: the run goes on, or robustrun was killed";
  if (last_decision != nullptr) append_sentence(text, "Last decision: " + last_decision->text);
  if (facts.attempts.empty()) {
    append_sentence(text, "No worker was started");
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
  append_sentence(text, where);
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

}  // namespace

RunReport build_report(const std::vector<JournalEntry>& entries) {
  const Facts facts = gather(entries);
  RunReport report;
  if (facts.run != nullptr) take_spec(*facts.run, report);
  report.duration = elapsed(facts.first_at, facts.last_at);
  report.attempts = static_cast<std::uint32_t>(facts.attempts.size());
  take_progress(facts, report);

  IncidentList incidents(facts);
  const Decision* last_decision = nullptr;
  for (const JournalEntry& entry : entries) {
    incidents.at(entry.at);
    if (const auto* event = std::get_if<Event>(&entry.what)) {
      incidents.note(*event);
      const auto* exited = std::get_if<WorkerExited>(&event->body);
      if (exited != nullptr) report.dropped_bytes += exited->dropped_bytes;
    } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
      incidents.note(*decision);
      last_decision = decision;
    }
  }
  report.incidents = incidents.finish(facts.finish != nullptr);
  report.outcome = outcome_of(facts);
  if (facts.finish != nullptr) {
    report.exit_code = facts.finish->exit_code;
    if (facts.ending != nullptr) report.reason = facts.ending->text;
  } else {
    report.reason = last_known(facts, last_decision);
  }
  return report;
}

}  // namespace robustrun::supervisor
