#pragma once
// What the page's script draws, as one JSON object. Pure; plain data.
//
// The page must stay small after long runs, so texts are cut. The texts of an incident get fewer
// bytes the more incidents there are; other texts have fixed limits. Most lists have the limits
// below; `nodes`, `attempts` and `timeline` have none. Times are milliseconds since the run's start
// unless noted. NaN, null in JSON, stands for an unknown number. Texts are inert (inert.h).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

inline constexpr std::size_t kPagePartsMax = 8000;  // rows of PageNode::parts, over all nodes
inline constexpr std::size_t kPageStagesMax = 8000;  // stages in PageNode::stages, over all nodes
inline constexpr std::size_t kPageReadingsMax = 2000;
inline constexpr std::size_t kPageMarksMax = 2000;  // PageData::marks
inline constexpr std::size_t kPageMetricsMax = 6;
inline constexpr std::size_t kPageHealthMax = 20;  // lines of one node
inline constexpr std::size_t kPageEventsMax = 400;
inline constexpr std::size_t kPageIncidentsMax = 2000;
inline constexpr std::size_t kPageStacksMax = 6;  // of one incident
inline constexpr std::size_t kPageListMax = 24;  // lines of one list
// Bytes for the texts of all incidents. Each incident gets an equal share of them, but at least
// kPageTextBytesMin and at most kPageTextBytesMax.
inline constexpr std::size_t kPageTextBytes = 250'000;
inline constexpr std::size_t kPageTextBytesMin = 600;
inline constexpr std::size_t kPageTextBytesMax = 16'000;

using Rows = std::vector<std::vector<double>>;

struct PageFact {
  std::string label;
  std::string value;
  template <class V>
  void fields(V& v) {
    v(1, "label", label);
    v(2, "value", value);
  }
};

struct PageShare {
  std::uint32_t kind = 0;  // index of PageData::spent
  double ms = 0;
  double percent = 0;
  std::string words;
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "ms", ms);
    v(3, "percent", percent);
    v(4, "words", words);
  }
};

// Incidents that failed in the same way.
struct PageCause {
  std::string label;
  std::uint32_t incidents = 0;
  double ms = 0;  // until training went on, including steps that were repeated
  std::string words;
  template <class V>
  void fields(V& v) {
    v(1, "label", label);
    v(2, "incidents", incidents);
    v(3, "ms", ms);
    v(4, "words", words);
  }
};

struct PageHealth {
  double at = 0;
  std::string words;
  bool over = false;
  template <class V>
  void fields(V& v) {
    v(1, "at", at);
    v(2, "words", words);
    v(3, "over", over);
  }
};

struct PageEvent {
  double at = 0;
  std::string kind;  // "injected", "evicted", …
  std::string words;
  template <class V>
  void fields(V& v) {
    v(1, "at", at);
    v(2, "kind", kind);
    v(3, "words", words);
  }
};

struct PageNode {
  std::string name;
  std::string role;
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t failures = 0;
  bool offender = false;
  std::string keeper;
  std::string copies;  // in words
  Rows joins;  // stage, from, length
  // Attempt, started, first step, gone[, first rank, ranks]. Times since the attempt's start; null:
  // unknown. The last two only if they differ from `first_rank` and `ranks`.
  Rows parts;
  // Attempt, then for each stage: stage, from (since the attempt's start), length, 1: finished,
  // slowest rank (-1: the node).
  Rows stages;
  std::vector<PageHealth> health;
  std::vector<PageHealth> losses;  // of its agent
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "role", role);
    v(3, "first", first_rank);
    v(4, "ranks", ranks);
    v(5, "failures", failures);
    v(6, "offender", offender);
    v(7, "keeper", keeper);
    v(8, "copies", copies);
    v(9, "joins", joins);
    v(10, "parts", parts);
    v(11, "stages", stages);
    v(12, "health", health);
    v(13, "losses", losses);
  }
};

// Traceback and output of one failed worker.
struct PageStack {
  std::string title;
  std::vector<std::string> trace;  // the exception's call stack, if the worker left one
  std::vector<std::string> output;  // its last lines
  template <class V>
  void fields(V& v) {
    v(1, "title", title);
    v(2, "trace", trace);
    v(3, "output", output);
  }
};

struct PagePhase {
  std::string name;
  double ms = 0;
  std::string words;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "ms", ms);
    v(3, "words", words);
  }
};

struct PageDiagnosis {
  std::string title;
  std::vector<std::string> evidence;
  template <class V>
  void fields(V& v) {
    v(1, "title", title);
    v(2, "evidence", evidence);
  }
};

struct PageIncident {
  std::uint32_t attempt = 0;
  double at = 0;
  std::string when;
  std::string node;
  std::optional<std::uint32_t> rank;
  std::string subject;
  std::string what;  // the failure in one line
  std::string verdict;  // what was done, in one line
  double cost_ms = 0;
  std::string cost;
  std::string ended, likely, advice, injected, recovery, steps, saved, not_resumed;
  std::vector<std::string> error;  // lines
  std::vector<std::string> also, evidence, decision, not_done, cold, moved;
  std::vector<PagePhase> phases;
  std::vector<PageStack> stacks;
  std::vector<PageDiagnosis> diagnoses;
  bool is_cut = false;  // some of its texts are shortened or left out
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "at", at);
    v(3, "when", when);
    v(4, "node", node);
    v(5, "rank", rank);
    v(6, "subject", subject);
    v(7, "what", what);
    v(8, "verdict", verdict);
    v(9, "cost_ms", cost_ms);
    v(10, "cost", cost);
    v(11, "ended", ended);
    v(12, "likely", likely);
    v(13, "advice", advice);
    v(14, "injected", injected);
    v(15, "recovery", recovery);
    v(16, "steps", steps);
    v(17, "saved", saved);
    v(18, "not_resumed", not_resumed);
    v(19, "error", error);
    v(20, "also", also);
    v(21, "evidence", evidence);
    v(22, "decision", decision);
    v(23, "not_done", not_done);
    v(24, "cold", cold);
    v(25, "phases", phases);
    v(26, "stacks", stacks);
    v(27, "diagnoses", diagnoses);
    v(28, "cut", is_cut);
    v(29, "moved", moved);
  }
};

struct PageData {
  std::string title;
  std::string outcome;
  std::vector<std::string> summary;  // at most three lines
  std::vector<PageFact> facts;
  double started = 0;  // Unix time, ms
  double duration = 0;
  std::string duration_words;
  std::vector<std::string> spent;  // kinds of time
  std::vector<PageShare> shares;
  Rows timeline;  // kind, from, to
  std::vector<PageCause> causes;  // most time first
  std::vector<std::string> stages;  // names
  Rows attempts;  // number, from, to
  std::vector<PageNode> nodes;
  std::vector<std::string> left_out;  // what is missing because of the limits above, in words
  std::vector<PageIncident> incidents;
  std::vector<PageEvent> events;
  std::vector<std::string> metrics;
  Rows readings;  // at, attempt, steps, step, rate, values by metric
  std::string checkpoints;
  std::vector<std::string> checkpoint_notes;
  Rows marks;  // at, 0 saved / 1 committed / 2 loaded, attempt, step
  std::string placement;
  template <class V>
  void fields(V& v) {
    v(1, "title", title);
    v(2, "outcome", outcome);
    v(3, "summary", summary);
    v(4, "facts", facts);
    v(5, "started", started);
    v(6, "duration", duration);
    v(7, "duration_words", duration_words);
    v(8, "spent", spent);
    v(9, "shares", shares);
    v(10, "timeline", timeline);
    v(11, "causes", causes);
    v(12, "stages", stages);
    v(13, "attempts", attempts);
    v(14, "nodes", nodes);
    v(15, "left_out", left_out);
    v(16, "incidents", incidents);
    v(17, "events", events);
    v(18, "metrics", metrics);
    v(19, "readings", readings);
    v(20, "checkpoints", checkpoints);
    v(21, "checkpoint_notes", checkpoint_notes);
    v(22, "marks", marks);
    v(23, "placement", placement);
  }
};

// Accepts any journal, even an incomplete or inconsistent one.
[[nodiscard]] PageData page_data(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
