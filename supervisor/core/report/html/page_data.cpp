#include "supervisor/core/report/html/page_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/history.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/report/metric_words.h"
#include "supervisor/core/report/page.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/report/words.h"

namespace robustrun::supervisor {
namespace {

using base::Nanos;

constexpr std::size_t kNameBytes = 120;
constexpr std::size_t kLineBytes = 400;
constexpr std::size_t kSentenceBytes = 1200;
constexpr std::size_t kCausesMax = 12;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();  // null in JSON

std::string name_text(std::string_view text) { return inert_text(text, kNameBytes); }
std::string sentence(std::string_view text) { return inert_text(text, kSentenceBytes); }

double in_ms(Nanos time) { return static_cast<double>(time.count()) / 1e6; }
// For bulk data: microseconds would double its size.
double whole_ms(Nanos time) { return std::round(in_ms(time)); }

// The texts of one incident, which share a number of bytes.
class TextBudget {
 public:
  explicit TextBudget(std::size_t bytes) : left_(bytes) {}

  std::string take(std::string_view text, std::size_t bytes_max = kSentenceBytes) {
    if (text.empty()) return {};
    if (left_ == 0) {
      is_cut_ = true;
      return {};
    }
    std::string out = inert_text(text, std::min(bytes_max, left_));
    is_cut_ |= text.size() > std::min(bytes_max, left_);
    left_ -= std::min(left_, out.size() + 3);  // with quotes and a comma
    return out;
  }

  std::vector<std::string> first(const std::vector<std::string>& lines) {
    std::vector<std::string> out;
    for (const std::string& line : lines) {
      if (out.size() == kPageListMax || left_ == 0) break;
      out.push_back(take(line, kLineBytes));
    }
    note_missing(lines.size() - out.size(), out);
    return out;
  }

  // The last lines, as they tell most about an end.
  std::vector<std::string> last(const std::vector<std::string>& lines) {
    std::vector<std::string> out;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      if (out.size() == kPageListMax || left_ == 0) break;
      out.push_back(take(*line, kLineBytes));
    }
    is_cut_ |= out.size() < lines.size();
    std::ranges::reverse(out);
    return out;
  }

  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  void note_missing(std::size_t count, std::vector<std::string>& out) {
    if (count == 0) return;
    is_cut_ = true;
    out.push_back(fmt::format("and {} more", count));
  }

  std::size_t left_;
  bool is_cut_ = false;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(base::trim(text), '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

std::string capitalized(std::string text) {
  const bool is_small = !text.empty() && text[0] >= 'a' && text[0] <= 'z';
  if (is_small) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

Nanos cost_of(const Incident& incident) {
  Nanos sum{};
  for (const Phase& phase : incident.phases) sum = later(sum, phase.duration);
  return sum;
}

std::string cause_label(const Incident& incident) {
  if (incident.looks_like && incident.looks_like->symptom != kUnexplained) {
    return incident.looks_like->name;
  }
  if (!incident.exception.empty()) {
    return incident.exception.substr(0, incident.exception.find(':'));
  }
  if (!incident.rank && !incident.ended.empty()) return "agent lost";
  return incident.ended.empty() ? "other" : incident.ended;
}

void fill_causes(const RunReport& report, PageData& page) {
  std::map<std::string, PageCause> causes;
  for (const Incident& incident : report.incidents) {
    PageCause& cause = causes[name_text(cause_label(incident))];
    ++cause.incidents;
    cause.ms += in_ms(cost_of(incident));
  }
  for (auto& [label, cause] : causes) {
    cause.label = label;
    cause.words = base::duration_words(
        std::chrono::duration_cast<Nanos>(std::chrono::duration<double, std::milli>(cause.ms)));
    page.causes.push_back(std::move(cause));
  }
  std::ranges::stable_sort(page.causes, std::greater(), &PageCause::ms);
  if (page.causes.size() > kCausesMax) page.causes.resize(kCausesMax);
}

void fill_summary(const RunReport& report, PageData& page) {
  page.title = name_text(program_words(report));
  page.outcome = to_string(report.outcome);
  page.summary.push_back(sentence(headline(report)));
  const std::string time = time_words(report.time, 0.005);
  if (!time.empty()) page.summary.push_back(capitalized(time));
  const std::string why = why_words(report);
  const std::string progress = progress_words(report);
  const std::string third = why.empty() ? progress : why;
  if (!third.empty()) page.summary.push_back(capitalized(sentence(third)));
  const auto fact = [&](const char* label, const std::string& value) {
    if (!value.empty()) page.facts.push_back({label, sentence(value)});
  };
  fact("Run", report.run_id);
  fact("Started", utc_words(report.started));
  fact("Lasted", base::duration_words(report.duration));
  fact("Workers", worker_words(report));
  if (!why.empty()) fact("Progress", progress);
  fact("Logs", report.log_directory);
  fact("robustrun", report.version);
}

void fill_time(const RunReport& report, PageData& page) {
  page.started = in_ms(report.started);
  page.duration = in_ms(report.duration);
  page.duration_words = base::duration_words(report.duration);
  for (std::uint8_t kind = 0; kind < kSpentKinds; ++kind) {
    page.spent.emplace_back(to_string(static_cast<Spent>(kind)));
  }
  for (const TimeShare& share : report.time.shares) {
    page.shares.push_back({static_cast<std::uint32_t>(share.spent), in_ms(share.duration),
                           100 * in_ms(share.duration) / std::max(1e-9, page.duration),
                           base::duration_words(share.duration)});
  }
  for (const Stretch& stretch : report.time.timeline) {
    page.timeline.push_back(
        {static_cast<double>(stretch.spent), in_ms(stretch.from), in_ms(stretch.to)});
  }
}

PageStack stack_of(const Facts& facts, const Failure& failure, Nanos first_seen,
                   TextBudget& budget) {
  PageStack stack;
  const Nanos later_by = elapsed(first_seen, failure.seen_at);
  stack.title = budget.take(
      fmt::format("rank {} on {}: {}{}", failure.rank.value, node_name(facts, failure.node),
                  how_it_ended(failure),
                  later_by > Nanos{} ? ", " + base::duration_words(later_by) + " later" : ""),
      kLineBytes);
  if (failure.exited == nullptr) return stack;
  stack.trace = budget.last(lines_of(failure.exited->error_callstack));
  stack.output = budget.last(failure.exited->stderr_tail);
  return stack;
}

// Of an attempt, with the stacks that a verdict is based on.
std::vector<PageDiagnosis> diagnoses_of(const Facts& facts, std::uint32_t attempt,
                                        TextBudget& budget) {
  std::vector<PageDiagnosis> out;
  for (const auto& [at, diagnosed] : facts.diagnoses) {
    const tracer::Verdict& verdict = diagnosed->verdict;
    if (diagnosed->attempt.value != attempt) continue;
    if (verdict.finding == tracer::Finding::kNothing || out.size() == kPageStacksMax) continue;
    PageDiagnosis& one = out.emplace_back();
    one.title = budget.take(fmt::format("{} after {}: {}", stage_word(diagnosed->stage),
                                        base::duration_words(elapsed(facts.first_at, at)),
                                        verdict.sentence));
    one.evidence = budget.first(verdict.evidence);
    if (!verdict.runner_up.sentence.empty()) {
      one.evidence.push_back(budget.take("less likely: " + verdict.runner_up.sentence));
    }
  }
  return out;
}

PageIncident page_incident(const Facts& facts, const Incident& incident, std::size_t bytes) {
  TextBudget budget(bytes);
  PageIncident out;
  out.attempt = incident.attempt;
  out.at = in_ms(incident.at);
  out.when = base::duration_words(incident.at);
  out.node = name_text(incident.node);
  out.rank = incident.rank;
  out.subject = name_text(subject_of(incident));
  out.what = budget.take(failure_words(incident), kLineBytes);
  out.verdict =
      budget.take(incident.verdict.empty() ? incident.decision : incident.verdict, kLineBytes);
  out.cost_ms = in_ms(cost_of(incident));
  out.cost = incident.phases.empty() ? "" : base::duration_words(cost_of(incident));
  out.ended = budget.take(incident.ended, kLineBytes);
  if (incident.looks_like) {
    out.likely = budget.take(cause_in_words(*incident.looks_like));
    out.advice = budget.take(advice_in_words(*incident.looks_like));
  }
  out.injected = budget.take(incident.injected, kLineBytes);
  out.error = budget.first(lines_of(error_words(incident)));
  out.decision = budget.first({incident.decision});
  out.evidence = budget.first(incident.evidence);
  if (!incident.phases.empty()) out.recovery = recovery_words(incident);
  for (const Phase& phase : incident.phases) {
    out.phases.push_back(
        {to_string(phase.name), in_ms(phase.duration), base::duration_words(phase.duration)});
  }
  out.steps = step_words(incident);
  out.saved = budget.take(saved_words(incident), kLineBytes);
  out.not_resumed = budget.take(incident.not_resumed, kLineBytes);
  const auto attempt = facts.attempts.find(incident.attempt);
  if (incident.rank && attempt != facts.attempts.end()) {
    const auto& failures = attempt->second.failures;
    for (const Failure& failure : failures) {
      if (out.stacks.size() == kPageStacksMax) break;
      out.stacks.push_back(stack_of(facts, failure, failures.front().seen_at, budget));
    }
  }
  out.diagnoses = diagnoses_of(facts, incident.attempt, budget);
  out.not_done = budget.first(incident.alternatives);
  out.also = budget.first(incident.also_failed);
  out.cold = budget.first(incident.cold);
  out.moved = budget.first(incident.moved);
  out.is_cut = budget.is_cut();
  return out;
}

void fill_incidents(const Facts& facts, const RunReport& report, PageData& page) {
  const std::size_t count = std::min(report.incidents.size(), kPageIncidentsMax);
  if (count == 0) return;
  if (count < report.incidents.size()) {
    page.left_out.push_back(fmt::format("{} more, after the {} shown here",
                                        base::counted(report.incidents.size() - count, "incident"),
                                        count));
  }
  const std::size_t bytes =
      std::clamp(kPageTextBytes / count, kPageTextBytesMin, kPageTextBytesMax);
  for (std::size_t i = 0; i < count; ++i) {
    page.incidents.push_back(page_incident(facts, report.incidents[i], bytes));
  }
}

void fill_events(const RunReport& report, PageData& page) {
  const auto note = [&](Nanos at, const char* kind, const std::string& words) {
    page.events.push_back({in_ms(at), kind, inert_text(words, kLineBytes)});
  };
  for (const InjectedFault& fault : report.injected) {
    note(fault.at, "injected",
         injected_words(fault) + (fault.done.empty() ? "" : ": " + fault.done));
  }
  for (const Takeover& takeover : report.takeovers) {
    note(takeover.at, "takeover",
         fmt::format("supervisor {} took over on {}, {} after its predecessor was last heard of",
                     takeover.incarnation, takeover.host, base::duration_words(takeover.away)));
  }
  for (const MovedCheckpoint& moved : report.moved) note(moved.at, "moved", in_words(moved));
  for (const Eviction& eviction : report.evictions) note(eviction.at, "evicted", eviction.words);
  for (const AlarmReport& alarm : report.alarms) note(alarm.at, "alarm", alarm.text);
  for (const HangReport& hang : report.hangs) {
    note(hang.at, "hang", fmt::format("{}: {}", stage_word(hang.stage), hang.text));
  }
  std::ranges::stable_sort(page.events, {}, &PageEvent::at);
  if (page.events.size() <= kPageEventsMax) return;
  page.left_out.push_back(base::counted(page.events.size() - kPageEventsMax, "event") +
                          ", the newest of all");
  page.events.resize(kPageEventsMax);
}

std::string copies_words(const NodeTimeline& node) {
  if (node.copies.empty()) return {};
  std::size_t here = 0, at_peer = 0;
  std::uint64_t step = 0;
  for (const KeptCopy& copy : node.copies) {
    here += copy.here ? 1 : 0;
    at_peer += copy.at_peer ? 1 : 0;
    step = std::max(step, copy.step);
  }
  return fmt::format("{} here, {} at the keeper, step {}", here, at_peer, step);
}

// Attempts in the order in which their details are kept: the first one, then the newest ones.
std::vector<std::uint32_t> by_weight(const RunHistory& history) {
  std::vector<std::uint32_t> order;
  for (const AttemptSpan& span : history.attempts) order.push_back(span.attempt);
  if (order.size() > 1) std::reverse(order.begin() + 1, order.end());
  return order;
}

// The attempts whose parts and stages fit into the limits.
struct Shown {
  std::map<std::uint32_t, bool> parts, stages;
};

Shown choose_attempts(const RunHistory& history, PageData& page) {
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> sizes;
  for (const NodeTimeline& node : history.nodes) {
    for (const NodePart& part : node.parts) {
      ++sizes[part.attempt].first;
      sizes[part.attempt].second += part.stages.size();
    }
  }
  Shown shown;
  std::size_t parts = 0, stages = 0, without_parts = 0, without_stages = 0;
  for (const std::uint32_t attempt : by_weight(history)) {
    const auto [own_parts, own_stages] = sizes[attempt];
    shown.parts[attempt] = parts + own_parts <= kPagePartsMax;
    shown.stages[attempt] = shown.parts[attempt] && stages + own_stages <= kPageStagesMax;
    if (shown.parts[attempt]) parts += own_parts;
    if (shown.stages[attempt]) stages += own_stages;
    without_parts += shown.parts[attempt] ? 0 : 1;
    without_stages += shown.stages[attempt] || own_stages == 0 ? 0 : 1;
  }
  if (without_parts > 0) {
    page.left_out.push_back("the nodes' bars of " + base::counted(without_parts, "attempt"));
  }
  if (without_stages > 0) {
    page.left_out.push_back("the nodes' stages of " + base::counted(without_stages, "restart"));
  }
  return shown;
}

std::vector<double> join_row(const StageSpan& span) {
  return {static_cast<double>(span.stage), whole_ms(span.from), whole_ms(span.to - span.from)};
}

// `starts`: of the attempts.
PageNode page_node(const NodeTimeline& node, const Shown& shown,
                   const std::map<std::uint32_t, Nanos>& starts) {
  PageNode out;
  out.name = name_text(node.name);
  out.role = to_string(node.role);
  out.first_rank = node.first_rank;
  out.ranks = node.ranks;
  out.failures = node.failures;
  out.offender = node.offender;
  out.keeper = name_text(node.keeper);
  out.copies = copies_words(node);
  for (const StageSpan& span : node.joins) {
    if (out.joins.size() < kPageListMax) out.joins.push_back(join_row(span));
  }
  for (const NodePart& part : node.parts) {
    const double attempt = part.attempt;
    const auto span = starts.find(part.attempt);
    const Nanos start = span == starts.end() ? Nanos{} : span->second;
    const auto with_parts = shown.parts.find(part.attempt);
    if (with_parts != shown.parts.end() && with_parts->second) {
      std::vector<double>& row = out.parts.emplace_back();
      row = {attempt};
      for (const auto& time : {part.started, part.first_step, part.gone}) {
        row.push_back(time ? whole_ms(*time - start) : kNone);
      }
      if (part.first_rank != node.first_rank || part.ranks != node.ranks) {
        row.push_back(part.first_rank);
        row.push_back(part.ranks);
      }
    }
    const auto with_stages = shown.stages.find(part.attempt);
    if (with_stages == shown.stages.end() || !with_stages->second || part.stages.empty()) continue;
    std::vector<double>& row = out.stages.emplace_back();
    row = {attempt};
    for (const StageSpan& one : part.stages) {
      row.push_back(static_cast<double>(one.stage));
      row.push_back(whole_ms(one.from - start));
      row.push_back(whole_ms(one.to - one.from));
      row.push_back(one.finished ? 1 : 0);
      row.push_back(one.slowest ? *one.slowest : -1.0);
    }
  }
  const std::size_t unseen =
      node.health.size() > kPageHealthMax ? node.health.size() - kPageHealthMax : 0;
  for (std::size_t i = unseen; i < node.health.size(); ++i) {
    const HealthNote& note = node.health[i];
    out.health.push_back(
        {in_ms(note.at),
         inert_text(fmt::format("{}{}{}: {}", to_string(note.source),
                                note.subject.empty() ? "" : ", ", note.subject, note.line),
                    kLineBytes),
         note.over});
  }
  for (const AgentLoss& loss : node.losses) {
    if (out.losses.size() == kPageHealthMax) break;
    out.losses.push_back({in_ms(loss.at), inert_text(loss.why, kLineBytes), false});
  }
  return out;
}

// Of each run of `stride` readings the first, and the one whose first metric is highest.
std::vector<const Reading*> thinned(const std::vector<Reading>& readings) {
  const std::size_t stride = readings.size() <= kPageReadingsMax
                                 ? 1
                                 : 2 * (readings.size() + kPageReadingsMax - 1) / kPageReadingsMax;
  std::vector<const Reading*> out;
  const auto height = [](const Reading* one) {
    return one->values.empty() || std::isnan(one->values[0])
               ? -std::numeric_limits<double>::infinity()
               : one->values[0];
  };
  for (std::size_t i = 0; i < readings.size(); i += stride) {
    out.push_back(&readings[i]);
    const Reading* highest = nullptr;
    for (std::size_t j = i + 1; j < std::min(i + stride, readings.size()); ++j) {
      if (highest == nullptr || height(&readings[j]) > height(highest)) highest = &readings[j];
    }
    if (highest != nullptr) out.push_back(highest);
  }
  return out;
}

void fill_history(const RunHistory& history, PageData& page) {
  for (std::size_t i = 0; i < wire::kStageNames; ++i) {
    page.stages.emplace_back(to_string(static_cast<StageName>(i)));
  }
  for (const AttemptSpan& span : history.attempts) {
    page.attempts.push_back({static_cast<double>(span.attempt), in_ms(span.from), in_ms(span.to)});
  }
  const Shown shown = choose_attempts(history, page);
  std::map<std::uint32_t, Nanos> starts;
  for (const AttemptSpan& span : history.attempts) starts[span.attempt] = span.from;
  for (const NodeTimeline& node : history.nodes) {
    page.nodes.push_back(page_node(node, shown, starts));
  }
  const std::size_t metrics = std::min(history.metrics.size(), kPageMetricsMax);
  for (std::size_t i = 0; i < metrics; ++i) {
    page.metrics.push_back(name_text(metric_title(history.metrics[i])));
  }
  if (metrics < history.metrics.size()) {
    page.left_out.push_back(base::counted(history.metrics.size() - metrics, "metric"));
  }
  for (const Reading* reading : thinned(history.readings)) {
    std::vector<double>& row = page.readings.emplace_back();
    row = {in_ms(reading->at), static_cast<double>(reading->attempt),
           static_cast<double>(reading->steps),
           reading->step ? static_cast<double>(*reading->step) : kNone,
           reading->rate.value_or(kNone)};
    row.insert(row.end(), reading->values.begin(),
               reading->values.begin() + static_cast<std::ptrdiff_t>(metrics));
  }
  const auto& marks = history.checkpoints;
  const std::size_t stride = marks.size() / kPageMarksMax + 1;
  for (std::size_t i = 0; i < marks.size(); i += stride) {
    page.marks.push_back({whole_ms(marks[i].at), static_cast<double>(marks[i].what),
                          static_cast<double>(marks[i].attempt),
                          static_cast<double>(marks[i].step)});
  }
}

void fill_checkpoints(const RunReport& report, PageData& page) {
  if (!report.checkpoints) return;
  const CheckpointReport& checkpoints = *report.checkpoints;
  page.checkpoints = capitalized(checkpoint_words(checkpoints));
  const auto note = [&](const std::string& words) {
    if (page.checkpoint_notes.size() < kPageHealthMax) {
      page.checkpoint_notes.push_back(capitalized(inert_text(words, kLineBytes)));
    }
  };
  for (const std::string& words : checkpoints.set_aside) note(words);
  if (const std::string saved = saved_copies_words(checkpoints); !saved.empty()) note(saved);
  for (const std::string& words : checkpoints.copies_lost) note(words);
  for (const std::string& words : load_words(checkpoints)) note(words);
}

}  // namespace

PageData page_data(const std::vector<JournalEntry>& entries) {
  const Facts facts = gather(entries);
  const RunReport report = build_report(entries);
  PageData page;
  fill_summary(report, page);
  fill_time(report, page);
  fill_causes(report, page);
  fill_history(run_history(facts, entries), page);
  fill_incidents(facts, report, page);
  fill_events(report, page);
  fill_checkpoints(report, page);
  page.placement = sentence(report.placement);
  return page;
}

}  // namespace robustrun::supervisor
