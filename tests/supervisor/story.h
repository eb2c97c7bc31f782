#pragma once
// Writes the journal of a made-up run, entry by entry. All times in ms since the run's start.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor::scenarios {

using base::Attempt;
using base::ExitStatus;
using base::Rank;

inline base::Nanos ms(double value) {
  return std::chrono::duration_cast<base::Nanos>(std::chrono::duration<double, std::milli>(value));
}

// The supervisor's clock at the run's start, far from 0 as on a real machine.
inline constexpr base::Nanos kStart = std::chrono::hours(100);

class Story {
 public:
  std::vector<JournalEntry> entries;

  Story& event(double at_ms, EventBody body, std::uint32_t node = 0) {
    const base::Nanos at = kStart + ms(at_ms);
    return add<Event>(at, Event{at, base::NodeId{node}, base::Generation{1}, std::move(body)});
  }

  Story& decide(double at_ms, Rule rule, std::uint32_t attempt, std::string text,
                std::vector<std::string> evidence = {}, std::vector<std::string> others = {}) {
    return add<Decision>(kStart + ms(at_ms), Decision{rule, Attempt{attempt}, std::move(text),
                                                      std::move(evidence), std::move(others)});
  }

  Story& group(double at_ms, std::uint32_t attempt, std::vector<GroupMember> members,
               std::vector<std::string> spares = {}) {
    return add<GroupFormed>(kStart + ms(at_ms),
                            GroupFormed{Attempt{attempt}, std::move(members), std::move(spares)});
  }

  Story& finish(double at_ms, int exit_code) {
    return add<Finish>(kStart + ms(at_ms), Finish{exit_code});
  }

  Story& run(std::vector<NodeSpec> nodes) {
    RunStarted started;
    started.spec.run_id = "brave-otter-4711";
    started.spec.program = "train.py";
    started.spec.command = {"python", "-u", "train.py", "--lr", "0.1"};
    started.spec.nodes = std::move(nodes);
    started.spec.log_directory = "/home/ada/robustrun-runs/brave-otter-4711/logs";
    started.wall_time = std::chrono::seconds(1785578400);  // 2026-08-01 10:00:00 UTC
    started.seed = 42;
    started.version = "0.1.0";
    return event(0, started);
  }

  // Port, processes and first code of an attempt of `ranks` workers on the first node.
  Story& start(double at_ms, std::uint32_t attempt, std::uint32_t ranks) {
    event(at_ms, PortReserved{Attempt{attempt}, 29411, ""});
    for (std::uint32_t i = 0; i < ranks; ++i) {
      event(at_ms + 2 + 0.1 * i,
            WorkerStarted{Attempt{attempt}, Rank{i}, static_cast<std::int32_t>(4240 + i)});
    }
    return *this;
  }

  Story& progress(double at_ms, std::uint32_t attempt, Progress::Mark mark, double reached_ms,
                  std::uint64_t steps, std::optional<std::int64_t> step = std::nullopt,
                  double loss = 0) {
    Progress body;
    body.attempt = Attempt{attempt};
    body.mark = mark;
    body.reached_at = kStart + ms(reached_ms);
    body.steps = steps;
    body.step = step;
    if (step) {
      body.metric_names = {"loss"};
      body.metric_values = {loss};
    }
    return event(at_ms, body);
  }

 private:
  // In place: moving a whole entry makes g++ 12 see uninitialised members where there are none.
  template <class What>
  Story& add(base::Nanos at, What what) {
    JournalEntry& entry = entries.emplace_back();
    entry.at = at;
    entry.what.emplace<What>(std::move(what));
    return *this;
  }
};

inline WorkerExited exited(std::uint32_t attempt, std::uint32_t rank, ExitStatus::Kind kind,
                           int code, double seen_ms) {
  WorkerExited body;
  body.attempt = Attempt{attempt};
  body.rank = Rank{rank};
  body.pid = static_cast<std::int32_t>(4240 + rank);
  body.kind = kind;
  body.code = code;
  body.seen_at = kStart + ms(seen_ms);
  return body;
}

}  // namespace robustrun::supervisor::scenarios
