#include "supervisor/core/report/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/core/text.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/history.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/report/words.h"

namespace robustrun::supervisor {
namespace {

using base::Nanos;

constexpr std::size_t kTraceNameBytes = 200;
constexpr std::size_t kWordsBytes = 2000;
// Ranks that wait for a blocking rank: each gets a span.
constexpr std::size_t kVictimsMax = 64;

std::string quoted(std::string_view text, std::size_t bytes_max = kTraceNameBytes) {
  return base::json_string(inert_text(text, bytes_max));
}

// Process and thread of an event.
struct Track {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  auto operator<=>(const Track&) const = default;
};

constexpr std::uint32_t kRun = 0;
constexpr Track kTime{kRun, 1}, kAttempts{kRun, 2}, kIncidents{kRun, 3}, kEvents{kRun, 4},
    kCheckpoints{kRun, 5};
// Of a node's process; rank r has thread r + kFirstRank.
constexpr std::uint32_t kStages = 1;
constexpr std::uint32_t kFirstRank = 2;

Track node_track(base::NodeId node) { return {node.value + 1, kStages}; }
Track rank_track(base::NodeId node, base::Rank rank) {
  return {node.value + 1, rank.value + kFirstRank};
}

// Times are whole microseconds: viewers add ts and dur as doubles, so that with decimals a span may
// end after the next one begins, and speedscope draws that one inside it. Shorter spans are left
// out: they are invisible, and of two spans that begin together the format has no order.
class TraceWriter {
 public:
  void name_process(std::uint32_t process, std::string_view name) {
    meta("process_name", {process, 0}, fmt::format("\"name\":{}", quoted(name)));
    meta("process_sort_index", {process, 0}, fmt::format("\"sort_index\":{}", process));
  }
  void name_thread(Track track, std::string_view name) {
    meta("thread_name", track, fmt::format("\"name\":{}", quoted(name)));
    meta("thread_sort_index", track, fmt::format("\"sort_index\":{}", track.thread));
  }
  // `arguments`: members of a JSON object; may be empty.
  void span(Track track, std::string_view name, Nanos from, Nanos to,
            const std::string& arguments = {}) {
    const std::int64_t length = in_us(to) - in_us(from);
    if (length <= 0) return;
    add('X', track, name, from, fmt::format(",\"dur\":{}{}", length, args(arguments)));
  }
  // `scope`: "g" the whole trace, "p" the process, "t" the thread.
  void instant(Track track, std::string_view name, Nanos at, std::string_view scope,
               const std::string& arguments = {}) {
    add('i', track, name, at, fmt::format(",\"s\":\"{}\"{}", scope, args(arguments)));
  }
  void counter(std::string_view name, Nanos at, double value) {
    if (!std::isfinite(value)) return;
    add('C', {kRun, 0}, name, at, fmt::format(",\"args\":{{\"value\":{}}}", value));
  }
  std::string take(const std::string& other_data) {
    return fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{{}}},\"traceEvents\":[{}\n]}}\n", other_data,
        events_);
  }

 private:
  static std::int64_t in_us(Nanos time) {
    return std::chrono::floor<std::chrono::microseconds>(time).count();
  }
  static std::string args(const std::string& members) {
    return members.empty() ? "" : ",\"args\":{" + members + "}";
  }
  void meta(std::string_view what, Track track, const std::string& members) {
    add('M', track, what, Nanos{}, args(members));
  }
  void add(char kind, Track track, std::string_view name, Nanos at, const std::string& rest) {
    events_ += events_.empty() ? "\n" : ",\n";
    events_ += fmt::format("{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"name\":{},\"ts\":{}{}}}", kind,
                           track.process, track.thread, quoted(name), in_us(at), rest);
  }

  std::string events_;
};

// Workers from their start to their end, and ranks that block others, by walking the journal.
class WorkerTracks {
 public:
  WorkerTracks(const Facts& facts, Nanos duration, TraceWriter& out)
      : facts_(facts), duration_(duration), out_(out) {}

  void take(const Event& event) {
    if (const auto* started = std::get_if<WorkerStarted>(&event.body)) {
      end(started->rank, since_start(event.at), "");
      running_[started->rank] = {event.node, since_start(event.at), started->attempt.value,
                                 started->warm};
      named_.try_emplace(rank_track(event.node, started->rank), started->rank.value);
    } else if (const auto* exited = std::get_if<WorkerExited>(&event.body)) {
      end(exited->rank, since_start(event.at),
          exited->stopped_by_us ? "stopped" : base::describe(exited->status()));
    } else if (const auto* gone = std::get_if<WorkersGone>(&event.body)) {
      end_node(event.node, gone->attempt, since_start(event.at));
    } else if (const auto* diagnosed = std::get_if<Diagnosed>(&event.body)) {
      take(event.at, *diagnosed);
    }
  }

  void finish() {
    for (const auto& [attempt, hang] : hangs_) show(hang, duration_);
    while (!running_.empty()) end(running_.begin()->first, duration_, "");
    for (const auto& [track, rank] : named_) {
      out_.name_thread(track, fmt::format("rank {}", rank));
    }
  }

 private:
  struct Running {
    base::NodeId node;
    Nanos from{};
    std::uint32_t attempt = 0;
    bool warm = false;
    Nanos busy{};  // the end of its last span within
  };
  struct Hang {
    Nanos from{};
    const tracer::Verdict* verdict = nullptr;
  };

  [[nodiscard]] Nanos since_start(Nanos at) const {
    return std::min(elapsed(facts_.first_at, at), duration_);
  }

  void end(base::Rank rank, Nanos at, const std::string& how) {
    const auto found = running_.find(rank);
    if (found == running_.end()) return;
    const Running& own = found->second;
    out_.span(
        rank_track(own.node, rank), fmt::format("attempt {}", own.attempt), own.from, at,
        fmt::format("\"attempt\":{},\"warm\":{},\"end\":{}", own.attempt, own.warm, quoted(how)));
    running_.erase(found);
  }

  void end_node(base::NodeId node, base::Attempt attempt, Nanos at) {
    std::vector<base::Rank> ended;
    for (const auto& [rank, own] : running_) {
      if (own.node == node && own.attempt == attempt.value) ended.push_back(rank);
    }
    for (const base::Rank rank : ended) end(rank, at, "");
  }

  void take(Nanos at, const Diagnosed& diagnosed) {
    const tracer::Verdict& verdict = diagnosed.verdict;
    const std::uint32_t attempt = diagnosed.attempt.value;
    if (verdict.finding == tracer::Finding::kNothing || is_slowness(verdict.finding)) return;
    const Nanos from = std::max(Nanos{}, since_start(at) - std::max(Nanos{}, verdict.lasting));
    switch (diagnosed.stage) {
      case Diagnosed::Stage::kSuspected:
        hangs_.try_emplace(attempt, Hang{from, &verdict}).first->second.verdict = &verdict;
        break;
      case Diagnosed::Stage::kConvicted:
      case Diagnosed::Stage::kPassed: {
        const auto [hang, is_new] = hangs_.try_emplace(attempt, Hang{from, &verdict});
        hang->second.verdict = &verdict;
        show(hang->second, since_start(at));
        hangs_.erase(hang);
        break;
      }
      case Diagnosed::Stage::kPostMortem:
      case Diagnosed::Stage::kRound: break;
    }
  }

  void show(const Hang& hang, Nanos to) {
    const tracer::Verdict& verdict = *hang.verdict;
    const std::string words = fmt::format("\"verdict\":{}", quoted(verdict.sentence, kWordsBytes));
    const std::string_view finding = to_string(verdict.finding);
    for (const base::Rank rank : verdict.culprits) {
      within(rank, fmt::format("blocks others: {}", finding), hang.from, to, words);
    }
    const std::string whom = verdict.culprits.size() == 1
                                 ? fmt::format("waits for rank {}", verdict.culprits[0].value)
                                 : std::string("waits for other ranks");
    for (std::size_t i = 0; i < verdict.victims.size() && i < kVictimsMax; ++i) {
      within(verdict.victims[i], whom, hang.from, to, words);
    }
  }

  void within(base::Rank rank, std::string_view name, Nanos from, Nanos to,
              const std::string& words) {
    const auto found = running_.find(rank);
    if (found == running_.end()) return;
    Running& own = found->second;
    from = std::max({from, own.from, own.busy});
    if (to <= from) return;
    out_.span(rank_track(own.node, rank), name, from, to, words);
    own.busy = to;
  }

  const Facts& facts_;
  const Nanos duration_;
  TraceWriter& out_;
  std::map<base::Rank, Running> running_;
  std::map<std::uint32_t, Hang> hangs_;  // by attempt
  std::map<Track, std::uint32_t> named_;  // rank
};

// A stage may begin on the first rank before the one before ends on the last: it is cut there.
void show_stages(const NodeTimeline& node, Track track, TraceWriter& out) {
  struct Span {
    StageSpan stage;
    std::optional<std::uint32_t> attempt;
  };
  std::vector<Span> spans;
  for (const StageSpan& span : node.joins) spans.push_back({span, std::nullopt});
  for (const NodePart& part : node.parts) {
    for (const StageSpan& span : part.stages) spans.push_back({span, part.attempt});
  }
  std::ranges::stable_sort(spans, {}, [](const Span& one) { return one.stage.from; });
  Nanos busy{};
  for (const auto& [span, attempt] : spans) {
    const Nanos from = std::max(busy, span.from);
    if (span.to < from) continue;
    std::string arguments = fmt::format("\"finished\":{}", span.finished);
    if (attempt) arguments += fmt::format(",\"attempt\":{}", *attempt);
    if (span.slowest) arguments += fmt::format(",\"slowest_rank\":{}", *span.slowest);
    out.span(track, to_string(span.stage), from, span.to, arguments);
    busy = span.to;
  }
}

void show_nodes(const RunHistory& history, TraceWriter& out) {
  for (std::size_t i = 0; i < history.nodes.size(); ++i) {
    const NodeTimeline& node = history.nodes[i];
    const Track track = node_track(base::NodeId{static_cast<std::uint32_t>(i)});
    out.name_process(track.process, node.name);
    out.name_thread(track, "stages");
    show_stages(node, track, out);
    for (const HealthNote& note : node.health) {
      out.instant(
          track, note.over ? "health: over" : "health", note.at, "p",
          fmt::format("\"source\":{},\"subject\":{},\"line\":{}", quoted(to_string(note.source)),
                      quoted(note.subject), quoted(note.line, kWordsBytes)));
    }
    for (const AgentLoss& loss : node.losses) {
      out.instant(track, "agent lost", loss.at, "p",
                  fmt::format("\"why\":{}", quoted(loss.why, kWordsBytes)));
    }
  }
}

void show_run(const RunReport& report, const RunHistory& history, TraceWriter& out) {
  out.name_process(kRun, program_words(report));
  out.name_thread(kTime, "time");
  out.name_thread(kAttempts, "attempts");
  out.name_thread(kIncidents, "incidents");
  out.name_thread(kEvents, "events");
  out.name_thread(kCheckpoints, "checkpoints");
  for (const Stretch& stretch : report.time.timeline) {
    out.span(kTime, to_string(stretch.spent), stretch.from, stretch.to);
  }
  Nanos busy{};
  for (const AttemptSpan& span : history.attempts) {
    const Nanos from = std::max(busy, span.from);
    out.span(kAttempts, fmt::format("attempt {}", span.attempt), from, span.to);
    busy = std::max(from, span.to);
  }
  for (const Incident& incident : report.incidents) {
    out.instant(kIncidents, failure_words(incident), incident.at, "g",
                fmt::format("\"attempt\":{},\"verdict\":{}", incident.attempt,
                            quoted(incident.verdict, kWordsBytes)));
  }
  for (const InjectedFault& fault : report.injected) {
    out.instant(kEvents, "injected: " + injected_words(fault), fault.at, "p",
                fmt::format("\"done\":{}", quoted(fault.done, kWordsBytes)));
  }
  for (const Eviction& eviction : report.evictions) {
    out.instant(kEvents, "evicted", eviction.at, "p",
                fmt::format("\"words\":{}", quoted(eviction.words, kWordsBytes)));
  }
  for (const AlarmReport& alarm : report.alarms) {
    out.instant(kEvents, "alarm: " + alarm.metric, alarm.at, "p",
                fmt::format("\"words\":{}", quoted(alarm.text, kWordsBytes)));
  }
  for (const Takeover& takeover : report.takeovers) {
    out.instant(
        kEvents, "takeover", takeover.at, "p",
        fmt::format("\"incarnation\":{},\"host\":{}", takeover.incarnation, quoted(takeover.host)));
  }
  for (const CheckpointMark& mark : history.checkpoints) {
    out.instant(kCheckpoints, fmt::format("{}: step {}", to_string(mark.what), mark.step), mark.at,
                "t", fmt::format("\"attempt\":{},\"step\":{}", mark.attempt, mark.step));
  }
}

void show_readings(const RunHistory& history, TraceWriter& out) {
  for (const Reading& reading : history.readings) {
    if (reading.step) out.counter("step", reading.at, static_cast<double>(*reading.step));
    if (reading.rate) out.counter("steps per second", reading.at, *reading.rate);
    for (std::size_t i = 0; i < reading.values.size(); ++i) {
      out.counter(history.metrics[i], reading.at, reading.values[i]);
    }
  }
}

}  // namespace

std::string trace_events(const std::vector<JournalEntry>& entries) {
  const Facts facts = gather(entries);
  const RunReport report = build_report(entries);
  const RunHistory history = run_history(facts, entries);
  TraceWriter out;
  show_run(report, history, out);
  show_readings(history, out);
  show_nodes(history, out);
  WorkerTracks workers(facts, history.duration, out);
  for (const JournalEntry& entry : entries) {
    if (const auto* event = std::get_if<Event>(&entry.what)) workers.take(*event);
    if (std::holds_alternative<Finish>(entry.what)) break;
  }
  workers.finish();
  return out.take(fmt::format("\"run\":{},\"robustrun\":{},\"started_unix_s\":{:.3f}",
                              quoted(report.run_id), quoted(report.version),
                              std::chrono::duration<double>(report.started).count()));
}

}  // namespace robustrun::supervisor
