#include "supervisor/core/status/event_lines.h"

#include <fmt/core.h>

#include <chrono>
#include <type_traits>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/fault/fault.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/core/types/rule.h"

namespace robustrun::supervisor {
namespace {

RunEvent new_event(base::Nanos at, std::string event, std::string text) {
  RunEvent made;
  made.at = at;
  made.event = std::move(event);
  made.text = std::move(text);
  return made;
}

std::string_view mark_word(Progress::Mark mark) {
  switch (mark) {
    case Progress::Mark::kUserCode: return "the script runs on every rank";
    case Progress::Mark::kFirstStep: return "every rank has done a step";
    case Progress::Mark::kCaughtUp: return "the steps of before the restart are done again";
    case Progress::Mark::kSummary: return "steps done";
  }
  return "";
}

// Members in their order; what is empty is left out.
class Members {
 public:
  Members& add(std::string_view name, const std::string& text) {
    return text.empty() ? *this : raw(name, base::json_string(text));
  }
  Members& add(std::string_view name, const std::vector<std::string>& texts) {
    return texts.empty() ? *this : raw(name, base::json_strings(texts));
  }
  template <std::integral T>
  Members& add(std::string_view name, const std::optional<T>& number) {
    return number ? raw(name, fmt::format("{}", *number)) : *this;
  }
  Members& add(std::string_view name, bool is_so) { return is_so ? raw(name, "true") : *this; }
  Members& raw(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", name, value);
    return *this;
  }
  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

RunEvent of_decision(const Decision& decision, base::Nanos at) {
  RunEvent made = new_event(at, "decision", decision.text);
  made.rule = rule_word(decision.rule);
  made.attempt = decision.attempt.value;
  made.evidence = decision.evidence;
  made.alternatives = decision.alternatives;
  made.incident = is_incident(decision.rule);
  made.gave_up = gives_up(decision.rule);
  return made;
}

RunEvent of_group(const GroupFormed& group, base::Nanos at) {
  std::uint64_t workers = 0;
  for (const GroupMember& member : group.members) workers += member.slots;
  RunEvent made = new_event(
      at, "group_formed",
      base::counted(workers, "worker") + " on " + base::counted(group.members.size(), "node"));
  made.attempt = group.attempt.value;
  return made;
}

}  // namespace

std::optional<RunEvent> EventLines::take(const JournalEntry& entry) {
  if (const auto* event = std::get_if<Event>(&entry.what)) return tell(*event);
  if (const auto* decision = std::get_if<Decision>(&entry.what)) {
    return of_decision(*decision, entry.at);
  }
  if (const auto* group = std::get_if<GroupFormed>(&entry.what)) return of_group(*group, entry.at);
  RunEvent made = new_event(entry.at, "finished", "");
  made.exit_code = std::get<Finish>(entry.what).exit_code;
  return made;
}

std::optional<RunEvent> EventLines::take(JobState state, base::Nanos at) {
  if (state == state_) return std::nullopt;
  RunEvent made = new_event(at, "state", "");
  made.from = to_string(state_);
  made.to = to_string(state);
  state_ = state;
  return made;
}

std::optional<RunEvent> EventLines::tell(const Event& event) {
  return std::visit(
      [&](const auto& body) -> std::optional<RunEvent> {
        using Body = std::decay_t<decltype(body)>;
        RunEvent made = new_event(event.at, "", "");
        made.node = node_name(event.node);
        if constexpr (requires { body.attempt; }) made.attempt = body.attempt.value;
        if constexpr (requires { body.rank; }) made.rank = body.rank.value;
        if constexpr (std::is_same_v<Body, RunStarted>) {
          run_id_ = body.spec.run_id;
          program_ = body.spec.program;
          first_at_ = event.at;
          wall_time_ = body.wall_time;
          for (const NodeSpec& node : body.spec.nodes) nodes_.push_back(node.name);
          return new_event(event.at, "run_started", "robustrun " + body.version);
        } else if constexpr (std::is_same_v<Body, NodeOffered>) {
          if (nodes_.size() < kNodesMax) nodes_.push_back(body.spec.name);
          made.event = "node_offered";
          made.node = body.spec.name;
        } else if constexpr (std::is_same_v<Body, AgentJoined>) {
          made.event = "agent_joined";
        } else if constexpr (std::is_same_v<Body, AgentLost>) {
          made.event = "agent_lost";
          made.text = body.why;
        } else if constexpr (std::is_same_v<Body, WorkerStarted>) {
          made.event = "worker_started";
          if (body.warm) made.text = "warm";
          if (!body.cold.empty()) made.text = "cold: " + body.cold;
        } else if constexpr (std::is_same_v<Body, WorkerStartFailed>) {
          made.event = "worker_start_failed";
          made.text = body.what;
        } else if constexpr (std::is_same_v<Body, WorkerExited>) {
          made.event = "worker_exited";
          made.text = how_it_ended(body) + (body.stopped_by_us ? " (stopped)" : "");
        } else if constexpr (std::is_same_v<Body, Progress>) {
          made = new_event(event.at, "progress", std::string(mark_word(body.mark)));
          made.attempt = body.attempt.value;
          made.steps = body.steps;
          made.step = body.step;
        } else if constexpr (std::is_same_v<Body, FaultInjected>) {
          made.event = "fault_injected";
          made.node = body.node ? node_name(*body.node) : "";
          if (body.victim) made.rank = body.victim->value;
          made.text = body.kind + ": " + body.done;
        } else if constexpr (std::is_same_v<Body, CheckpointMoved>) {
          made.event = "checkpoint_moved";
          made.text = fmt::format("{} is half-written: moved to {}", body.path, body.moved_to);
          made.evidence = {body.evidence};
        } else if constexpr (std::is_same_v<Body, SupervisorResumed>) {
          made = new_event(event.at, "supervisor_resumed", "on " + body.host);
        } else {
          return std::nullopt;  // decisions say what comes of it
        }
        return made;
      },
      event.body);
}

std::string EventLines::node_name(base::NodeId node) const {
  return node.value < nodes_.size() ? nodes_[node.value] : "";
}

std::string EventLines::json(const RunEvent& event) const {
  Members out;
  const base::Nanos since = elapsed(first_at_, event.at);
  out.raw("time", '"' + utc_text(later(wall_time_, since)) + '"');
  out.raw("since_start_s", fmt::format("{:.6f}", std::chrono::duration<double>(since).count()));
  out.add("run_id", run_id_).add("program", program_).add("event", event.event);
  out.add("rule", event.rule).add("attempt", event.attempt).add("node", event.node);
  out.add("rank", event.rank).add("from", event.from).add("to", event.to);
  out.add("text", event.text).add("evidence", event.evidence);
  out.add("alternatives", event.alternatives).add("steps", event.steps).add("step", event.step);
  out.add("exit_code", event.exit_code).add("incident", event.incident);
  return out.add("gave_up", event.gave_up).object();
}

std::string utc_text(base::Nanos unix_time) {
  using std::chrono::floor;
  const auto day = floor<std::chrono::days>(unix_time);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const auto ms = floor<std::chrono::milliseconds>(unix_time - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

}  // namespace robustrun::supervisor
