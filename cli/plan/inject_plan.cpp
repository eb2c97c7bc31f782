#include "cli/plan/inject_plan.h"

#include <fmt/format.h>
#include <time.h>

#include <vector>

#include "base/core/text.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using Target = wire::FaultRow::Target;

constexpr base::Nanos kUsualDelay = std::chrono::seconds(1);

base::Result<const wire::FaultRow*> kind_of(const std::string& word) {
  if (const auto* row = wire::find_fault(word)) return row;
  std::vector<std::string> names;
  for (const wire::FaultRow& row : wire::fault_rows()) names.emplace_back(row.name);
  return fail(Errc::kInvalidArgument,
              fmt::format("argument KIND: invalid choice: '{}'{} (choose from {})", word,
                          did_you_mean(word, names), base::join(names, ", ")));
}

// nullopt if the option is not given.
base::Result<std::optional<base::Nanos>> time_of(const char* option,
                                                 const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (const auto time = parse_duration(*text)) return *time;
  return fail(Errc::kInvalidArgument,
              fmt::format("argument {}: invalid time: '{}' (seconds, or 200ms, 90s, 15m, 2h)",
                          option, *text));
}

base::Result<std::optional<std::int64_t>> number_of(const char* option,
                                                    const std::optional<std::string>& text,
                                                    std::int64_t most) {
  if (!text) return std::nullopt;
  const auto number = parse_integer(*text);
  if (number && *number >= 0 && *number <= most) return *number;
  return fail(Errc::kInvalidArgument,
              fmt::format("argument {}: invalid value: '{}'", option, *text));
}

base::Status read_target(const InjectLine& line, const wire::FaultRow& row, InjectPlan& plan) {
  const auto rank = RR_TRY(number_of("--rank", line.rank, UINT32_MAX));
  if (rank) plan.fault.rank = base::Rank{static_cast<std::uint32_t>(*rank)};
  plan.fault.node = line.node.value_or("");
  const bool named = line.rank.has_value() || line.node.has_value();
  if (line.rank && line.node) {
    return fail(Errc::kInvalidArgument, "argument --node: not allowed with argument --rank");
  }
  if (named && row.target == Target::kSupervisor) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} hits the supervisor: leave out --rank and --node", row.name));
  }
  plan.draws = row.target != Target::kSupervisor && !line.rank &&
               (!line.node || row.target == Target::kRank);
  return {};
}

base::Status read_times(const InjectLine& line, const wire::FaultRow& row, InjectPlan& plan) {
  plan.after = RR_TRY(time_of("--after", line.after)).value_or(base::Nanos{});
  plan.every = RR_TRY(time_of("--every", line.every));
  const auto duration = RR_TRY(time_of("--for", line.duration));
  const auto delay = RR_TRY(time_of("--delay", line.delay));
  if (duration && !row.lasts) {
    return fail(Errc::kInvalidArgument,
                fmt::format("argument --for: {} has no duration", row.name));
  }
  if (delay && row.kind != wire::FaultKind::kNetDelay) {
    return fail(Errc::kInvalidArgument, "argument --delay: only for net-delay");
  }
  for (const auto& [option, time] : {std::pair("--every", plan.every), std::pair("--for", duration),
                                     std::pair("--delay", delay)}) {
    if (time && *time <= base::Nanos{}) {
      return fail(Errc::kInvalidArgument, fmt::format("argument {}: must be above 0", option));
    }
  }
  plan.fault.duration = duration.value_or(row.duration);
  if (row.kind == wire::FaultKind::kNetDelay) plan.fault.delay = delay.value_or(kUsualDelay);
  return {};
}

}  // namespace

base::Result<InjectPlan> plan_injection(const InjectLine& line, std::uint64_t seed) {
  const auto* const row = RR_TRY(kind_of(line.kind));
  InjectPlan plan;
  plan.run = line.run;
  plan.fault.kind = row->kind;
  RR_TRY(read_target(line, *row, plan));
  RR_TRY(read_times(line, *row, plan));
  const auto given = RR_TRY(number_of("--seed", line.seed, INT64_MAX));
  plan.seed = given ? static_cast<std::uint64_t>(*given) : seed;
  return plan;
}

std::string injection_text(base::Nanos wall_time, wire::FaultKind kind,
                           const supervisor::FaultReport& report) {
  const wire::FaultRow& row = *wire::find_fault(kind);
  const auto seconds =
      static_cast<time_t>(std::chrono::floor<std::chrono::seconds>(wall_time).count());
  tm local{};
  ::localtime_r(&seconds, &local);
  std::string target = "the supervisor";
  if (report.rank) {
    target = fmt::format("rank {} on {}", report.rank->value, base::printable(report.node));
  } else if (!report.node.empty()) {
    target = base::printable(report.node);
  }
  if (report.pid > 0) target += fmt::format(" (pid {})", report.pid);
  if (row.lasts) target += ": " + base::printable(report.done);
  return fmt::format("{:02}:{:02}:{:02}  {}  {}", local.tm_hour, local.tm_min, local.tm_sec,
                     row.name, target);
}

}  // namespace robustrun::cli
