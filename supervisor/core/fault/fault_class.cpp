#include "supervisor/core/fault/fault_class.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <span>
#include <tuple>

#include "base/core/text.h"
#include "supervisor/core/fault/fault.h"
#include "supervisor/core/fault/fault_lines.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

struct FaultFacts {
  std::uint32_t rank = 0;
  std::span<const FaultLine> lines;
  const WorkerExited* exited = nullptr;  // nullptr: it never ran
};

bool holds(const std::vector<std::int32_t>& numbers, std::int32_t number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

bool wants_end(const FaultRow& row) {
  return row.out_of_memory || !row.exits.empty() || !row.signals.empty();
}
bool wants_line(const FaultRow& row) {
  return !row.exceptions.empty() || !row.texts.empty() || !row.xids.empty();
}

bool fits_end(const FaultRow& row, const FaultFacts& facts) {
  if (!wants_end(row)) return true;
  if (facts.exited == nullptr) return false;
  const WorkerExited& exited = *facts.exited;
  if (row.out_of_memory && (exited.oom == OomKiller::kKernel || exited.oom == OomKiller::kCgroup))
    return true;
  return holds(exited.kind == base::ExitStatus::Kind::kExited ? row.exits : row.signals,
               exited.code);
}

bool names_exception(const FaultRow& row, std::string_view type) {
  if (type.empty()) return false;
  return std::ranges::any_of(row.exceptions,
                             [&](const std::string& name) { return name == "*" || name == type; });
}

bool fits_line(const FaultRow& row, const FaultLine& line) {
  if (!row.exceptions.empty()) {
    if (!names_exception(row, line.exception)) return false;
  } else if (is_programming_error(line.exception)) {
    return false;
  }
  if (!row.xids.empty()) {
    const auto code = line.xid != 0 ? std::optional(line.xid) : xid_of(line.text);
    if (!code || std::ranges::find(row.xids, *code) == row.xids.end()) return false;
  }
  return row.texts.empty() || std::ranges::any_of(row.texts, [&](const std::string& pattern) {
           return contains_pattern(line.text, pattern);
         });
}

// How well a row explains the failure: the greater the better.
struct Fit {
  const FaultRow* row = nullptr;
  const FaultLine* line = nullptr;  // nullptr: by how it ended alone
  std::size_t place = 0;            // of the line

  [[nodiscard]] auto rank() const {
    const bool ended_it = line == nullptr || line->last_exception;
    const bool own_mistake = line != nullptr && ended_it && is_programming_error(line->exception);
    return std::tuple(!row->sequel, own_mistake, row->confidence, ended_it, place);
  }
};

std::optional<Fit> best_fit(const FaultFacts& facts, std::span<const FaultRow> rows) {
  std::optional<Fit> best;
  const auto offer = [&](const Fit& fit) {
    if (!best || fit.rank() > best->rank()) best = fit;
  };
  for (const FaultRow& row : rows) {
    if (!row.found.empty() || !fits_end(row, facts)) continue;
    if (!wants_line(row)) {
      if (wants_end(row)) offer({&row, nullptr, 0});
      continue;
    }
    // The last line that fits: of two alike the later one is nearer to the end. Only a row that
    // could be better than what is known needs a look.
    for (std::size_t i = facts.lines.size(); i > 0; --i) {
      const FaultLine& line = facts.lines[i - 1];
      const Fit fit{&row, &line, i};
      if (best && fit.rank() <= best->rank()) continue;
      if (fits_line(row, line)) offer(fit);
    }
  }
  return best;
}

const char* words_of(FaultLine::Source source) {
  switch (source) {
    case FaultLine::Source::kStderr: return "'s stderr";
    case FaultLine::Source::kErrorFile: return "'s error file";
    case FaultLine::Source::kStart: return ", on starting it";
    case FaultLine::Source::kNode: return "";
  }
  return "";
}

std::string quote(const FaultLine& line, const std::string& source) {
  std::string_view text = base::trim(line.text);
  const bool cut = text.size() > kFaultQuoteBytesMax;
  return fmt::format("\"{}{}\" ({}{})", base::printable(text.substr(0, kFaultQuoteBytesMax)),
                     cut ? " ..." : "", source, words_of(line.source));
}

std::string quote(const FaultLine& line, std::uint32_t rank) {
  return quote(line, fmt::format("rank {}", rank));
}

Classification of_row(const FaultRow& row, std::string evidence) {
  return {row.name,   row.symptom, row.layer,           row.confidence,
          row.action, row.sequel,  std::move(evidence), row.advice};
}

const char* when(FaultPhase phase) {
  switch (phase) {
    case FaultPhase::kStarting: return "before the script was seen to run on every rank";
    case FaultPhase::kBeforeFirstStep: return "before the first step";
    case FaultPhase::kProgressing: return "after progress";
  }
  return "";
}

// No row fits: by exit and time.
Classification by_end(const WorkerExited& exited, FaultPhase phase) {
  Classification what;
  what.symptom = kUnexplained;
  if (exited.shim_lost) {
    what.name = "its shim was killed";
    what.layer = Layer::kInfrastructure;
  } else if (exited.kind == base::ExitStatus::Kind::kSignaled && is_crash(exited.code)) {
    what.name = fmt::format("crash of native code {}", when(phase));
    what.action = FirstAction::kCheck;
    if (phase != FaultPhase::kProgressing) {
      what.advice = "often native libraries that do not fit each other: CUDA, NCCL, an extension";
    }
  } else if (exited.kind == base::ExitStatus::Kind::kSignaled) {
    what.name = exited.ended_well() ? "ended by a signal while the interpreter ended"
                                    : fmt::format("ended by a signal {}", when(phase));
    what.layer = Layer::kInfrastructure;
  } else {
    what.name = fmt::format("exit {}", when(phase));
    // What never worked is more likely wrong than broken.
    if (phase != FaultPhase::kProgressing) {
      what.layer = Layer::kUserCode;
      what.action = FirstAction::kRollBack;
    }
  }
  what.evidence = fmt::format("{} (rank {})", how_it_ended(exited), exited.rank.value);
  return what;
}

std::string action_words(FirstAction action) {
  switch (action) {
    case FirstAction::kRestart: return "restart";
    case FirstAction::kEvict: return "take the machine out";
    case FirstAction::kRollBack: return "correct the code or data, or go back to what worked";
    case FirstAction::kCheck: return "check the machine";
    case FirstAction::kTolerate: return "wait: it may pass";
    case FirstAction::kGiveUp: return "end the run";
    case FirstAction::kReplay: return "replay it on groups of machines";
  }
  return "restart";
}

}  // namespace

bool is_crash(std::int32_t signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
         signal == SIGABRT || signal == SIGTRAP || signal == SIGSYS;
}

Classification classify(const WorkerExited& exited, FaultPhase phase,
                        const std::vector<FaultRow>& rows) {
  const bool ended_well = exited.ended_well() && !exited.status().success();
  // A signal of someone else's, such as SIGKILL, is no crash.
  if (ended_well && !is_crash(exited.code)) return by_end(exited, phase);
  if (is_lost_at_end(exited) || ended_well) {
    const std::string how = fmt::format("{} (rank {})", how_it_ended(exited), exited.rank.value);
    return classify_finding("crash at exit", how, rows);
  }
  const std::vector<FaultLine> lines = fault_lines(exited);
  const FaultFacts facts{exited.rank.value, lines, &exited};
  const auto best = best_fit(facts, rows);
  if (!best) return by_end(exited, phase);
  return of_row(*best->row, best->line != nullptr
                                ? quote(*best->line, facts.rank)
                                : fmt::format("{} (rank {})", how_it_ended(exited), facts.rank));
}

Classification classify(const WorkerStartFailed& failed, const std::vector<FaultRow>& rows) {
  const FaultLine line{std::string_view(failed.what).substr(0, kFaultLineBytesMax),
                       {},
                       false,
                       FaultLine::Source::kStart};
  const FaultFacts facts{failed.rank.value, {&line, 1}, nullptr};
  const auto best = best_fit(facts, rows);
  if (best) return of_row(*best->row, quote(line, facts.rank));
  Classification what;
  what.name = "could not be started";
  what.symptom = kUnexplained;
  what.evidence = quote(line, facts.rank);
  return what;
}

std::optional<Classification> classify(const NodeHealth& health, const std::string& node,
                                       const std::vector<FaultRow>& rows) {
  if (health.source == NodeHealth::Source::kUser) {
    Classification what;
    what.name = what.symptom = "a user's order";
    what.layer = Layer::kInfrastructure;
    what.confidence = Confidence::kHigh;
    what.action = FirstAction::kEvict;
    what.evidence = health.line;
    return what;
  }
  const FaultLine line{std::string_view(health.line).substr(0, kFaultLineBytesMax),
                       {},
                       false,
                       FaultLine::Source::kNode,
                       health.xid};
  const auto best = best_fit({0, {&line, 1}, nullptr}, rows);
  if (!best) return std::nullopt;
  return of_row(*best->row, quote(line, fmt::format("{} of {}", to_string(health.source), node)));
}

Classification classify_finding(std::string_view finding, std::string evidence,
                                const std::vector<FaultRow>& rows) {
  const auto row = std::ranges::find_if(rows, [&](const FaultRow& one) {
    return std::ranges::find(one.found, finding) != one.found.end();
  });
  if (row != rows.end()) return of_row(*row, std::move(evidence));
  Classification what;
  what.name = finding;
  what.symptom = kUnexplained;
  what.evidence = std::move(evidence);
  return what;
}

const char* to_string(NodeHealth::Source source) {
  switch (source) {
    case NodeHealth::Source::kKernel: return "the kernel log";
    case NodeHealth::Source::kGpu: return "the GPU driver";
    case NodeHealth::Source::kNetwork: return "the network";
    case NodeHealth::Source::kDisk: return "the disks";
    case NodeHealth::Source::kMemory: return "the memory";
    case NodeHealth::Source::kProcessor: return "the processors";
    case NodeHealth::Source::kClock: return "the clock";
    case NodeHealth::Source::kUser: return "a user";
    case NodeHealth::Source::kScheduler: return "the scheduler";
  }
  return "the agent";
}

const char* to_string(Layer layer) {
  switch (layer) {
    case Layer::kUnclear: return "unclear";
    case Layer::kInfrastructure: return "infrastructure";
    case Layer::kUserCode: return "user code";
    case Layer::kData: return "data";
    case Layer::kExternalService: return "external service";
  }
  return "unclear";
}

const char* to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow: return "low";
    case Confidence::kMedium: return "medium";
    case Confidence::kHigh: return "high";
  }
  return "low";
}

const char* to_string(FirstAction action) {
  switch (action) {
    case FirstAction::kRestart: return "restart";
    case FirstAction::kEvict: return "evict";
    case FirstAction::kRollBack: return "roll back";
    case FirstAction::kCheck: return "check";
    case FirstAction::kTolerate: return "tolerate";
    case FirstAction::kGiveUp: return "give up";
    case FirstAction::kReplay: return "replay";
  }
  return "restart";
}

bool is_surely_the_scripts(const Classification& what) {
  return what.layer == Layer::kUserCode && what.confidence == Confidence::kHigh &&
         what.action == FirstAction::kRollBack && !what.sequel;
}

std::string class_in_words(const Classification& what) {
  if (what.symptom == kUnexplained) return "unknown: " + what.name;
  const bool same = what.symptom.empty() || what.symptom == what.name;
  return fmt::format("{}{}{} ({}, {} confidence)", same ? "" : what.symptom, same ? "" : ", ",
                     what.name,
                     what.layer == Layer::kUnclear ? "layer unclear" : to_string(what.layer),
                     to_string(what.confidence));
}

std::string cause_in_words(const Classification& what) {
  return class_in_words(what) + (what.evidence.empty() ? "" : ": " + what.evidence);
}

std::string in_words(const Classification& what, std::string_view shown) {
  if (what.symptom == kUnexplained) return "";
  constexpr std::size_t kEnough = 60;  // of a quoted line, to recognize it
  const std::size_t from = what.evidence.find('"');
  const std::size_t to = what.evidence.rfind('"');
  const bool is_quote = from != std::string::npos && to > from;
  const std::string_view quoted =
      is_quote ? std::string_view(what.evidence).substr(from + 1, std::min(to - from - 1, kEnough))
               : std::string_view();
  const bool is_shown = !quoted.empty() && shown.find(quoted) != shown.npos;
  return "likely: " + (is_shown ? class_in_words(what) : cause_in_words(what));
}

std::string advice_in_words(const Classification& what) {
  const bool is_machine = what.action == FirstAction::kEvict ||
                          (what.action == FirstAction::kCheck && what.layer != Layer::kData);
  // A restart is what happens anyway.
  const bool has_action = what.symptom != kUnexplained && (is_machine || what.advice.empty()) &&
                          what.action != FirstAction::kRestart;
  if (!has_action) return what.advice;
  return action_words(what.action) + (what.advice.empty() ? "" : "; " + what.advice);
}

}  // namespace robustrun::supervisor
