#include "supervisor/core/job/phases/verdicts.h"

#include <fmt/core.h>

#include <string_view>

#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// "twice", "3 times"
std::string times_in_words(std::uint32_t times) {
  return times == 2 ? "twice" : base::counted(times, "time");
}

// "train.py:30, train.py:41, train.py:87 and 5 more"
std::string lines_in_words(std::string_view place) {
  constexpr std::size_t kLinesNamed = 3;
  constexpr std::string_view kBetween = ", ";
  std::size_t lines = 1;
  std::size_t named = place.size();  // where the names end
  for (std::size_t at = place.find(kBetween); at != std::string_view::npos;
       at = place.find(kBetween, at + kBetween.size())) {
    if (lines == kLinesNamed) named = at;
    ++lines;
  }
  if (lines <= kLinesNamed) return std::string(place);
  return fmt::format("{} and {} more", place.substr(0, named), lines - kLinesNamed);
}

}  // namespace

OutageVerdict Verdicts::of(const Outage& outage) const {
  const Fault& root = outage.root;
  const std::uint32_t allowed = restarts_.budget().policy().max_restarts;
  if (!workers_.unkillable().empty()) {
    return {Answer::kNone, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec_.compat),
            workers_.unkillable().front() + ": giving up, as nothing can be started beside it"};
  }
  if (workers_.lost_at_end()) {
    return {Answer::kNone, Rule::kBudgetExhausted, *workers_.lost_at_end(),
            "no restart: a script had returned, and would train all over again"};
  }
  if (root.rule == Rule::kUpdating ||
      (updates_.versions().now && updates_.versions().is_changing())) {
    return {Answer::kVersionRestart, Rule::kRestart, kExitSuccess,
            fmt::format("free restart with version {}", updates_.versions().next)};
  }
  // torchrun has no room for a node that goes without a restart left, unless the group may shrink.
  const bool is_the_end = spec_.compat && root.rule == Rule::kNodeLeft &&
                          nodes_.there() < nodes_.min_wanted() &&
                          !restarts_.budget().allows(FaultClass::kUser);
  if (is_the_end) {
    return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
            fmt::format("no restart: {}, and none is left (--max-restarts)",
                        joining_.missing_in_words(nodes_.there()))};
  }
  if (outage.nothing_failed()) {
    return {Answer::kPlannedRestart, Rule::kRestart, kExitSuccess, "free restart (nothing failed)"};
  }
  if (updates_.is_to_blame(outage) && !updates_.versions().is_changing() &&
      updates_.versions().older(false)) {
    return {Answer::kVersionRestart, Rule::kRestart, kExitSuccess,
            fmt::format("free restart with version {}", *updates_.versions().older(false))};
  }
  if (root.fault_class == FaultClass::kPermanent) {
    return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
            "no restart: a program that cannot run now will not run next time"};
  }
  const bool counted = is_counted(root.fault_class);
  if (counted && !progress_.made && restarts_.budget().policy().crash_loop_stop &&
      !checkpoints_.blames(outage) && root.looks_like && is_surely_the_scripts(*root.looks_like)) {
    return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
            "giving up: a restart cannot change that"};
  }
  if (counted && !progress_.made && restarts_.budget().is_crash_loop(root.signature) &&
      !checkpoints_.blames(outage)) {
    const std::string text =
        fmt::format("giving up: failed {} in the same way",
                    times_in_words(restarts_.budget().times_seen(root.signature)));
    if (broken_.is_surely_broken(outage)) {
      return {Answer::kNone, Rule::kInfrastructureGivenUp,
              exit_code_for_infrastructure(spec_.compat), text + broken_.in_words(outage, true)};
    }
    return {Answer::kNone, Rule::kCrashLoop, kExitCrashLoop, text};
  }
  if (counted && root.hangs_there >= kHangsAtLineMax &&
      restarts_.budget().policy().crash_loop_stop) {
    return {Answer::kNone, Rule::kCrashLoop, kExitCrashLoop,
            fmt::format("giving up: the script hung {} in {} (if it waits there on purpose, use "
                        "--hang-timeout=0)",
                        times_in_words(root.hangs_there), lines_in_words(root.script_line))};
  }
  if (is_failed_start(root) && !restarts_.may_start_again()) {
    return {Answer::kNone, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec_.compat),
            restarts_.failed_starts_in_words(root.words)};
  }
  if (restarts_.budget().allows(root.fault_class)) {
    return {counted ? Answer::kCountedRestart : Answer::kFreeRestart, Rule::kRestart, kExitSuccess,
            counted ? fmt::format("restart {} of {}", restarts_.budget().used() + 1, allowed)
                    : std::string(root.script_line.empty() ? "free restart (likely not your code)"
                                                           : "free restart")};
  }
  if (!counted) {
    return {Answer::kNone, Rule::kInfrastructureGivenUp, exit_code_for_infrastructure(spec_.compat),
            fmt::format("giving up after {} infrastructure faults in a row without progress",
                        restarts_.budget().used_uncounted() + 1)};
  }
  return {Answer::kNone, Rule::kBudgetExhausted, root.exit_code,
          (allowed == 0 ? std::string("no restart: none is allowed (--max-restarts)")
                        : fmt::format("no restart left: {} of {} used", restarts_.budget().used(),
                                      allowed)) +
              broken_.in_words(outage, true)};
}

std::string hangs_in_words(const Fault& root) {
  if (root.hangs_there == 0) return "";
  if (root.hangs_there == 1) {
    return fmt::format("; another hang in {} will count as the script's",
                       lines_in_words(root.script_line));
  }
  return fmt::format("; the hang in {} came back, and {} of them end the run",
                     lines_in_words(root.script_line), kHangsAtLineMax);
}

}  // namespace robustrun::supervisor
