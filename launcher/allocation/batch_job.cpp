#include "launcher/allocation/batch_job.h"

#include <fmt/format.h>

#include <csignal>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "launcher/limits.h"

namespace robustrun::launcher {
namespace {

using End = base::Result<std::optional<base::Nanos>>;

// "90" seconds, "1:30:00", "1:30" hours and minutes, "2:01:30:00" days first.
std::optional<std::chrono::seconds> read_time(std::string_view text, bool ends_with_minutes) {
  const auto parts = base::split(base::trim(text), ':');
  if (parts.size() > 4) return std::nullopt;
  constexpr std::int64_t kPartMax = 100'000'000;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = base::parse_int<std::int64_t>(parts[i]);
    if (!number || *number < 0 || *number > kPartMax) return std::nullopt;
    sum = sum * (i == 1 && parts.size() == 4 ? 24 : i == 0 ? 1 : 60) + *number;
  }
  return std::chrono::seconds(ends_with_minutes ? sum * 60 : sum);
}

// The text after the first `name`, up to one of `ends`.
std::string_view after(std::string_view text, std::string_view name, std::string_view ends) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + name.size());
  return base::trim(rest.substr(0, rest.find_first_of(ends)));
}

std::unexpected<base::Error> unreadable(BatchSystem system, std::string_view text) {
  return base::fail(base::Errc::kCorrupt,
                    fmt::format("{} shows no readable end: '{}'", show_program(system),
                                base::printable(text.substr(0, kSlurmReasonBytesMax))));
}

// The end of a job that shows its limit and what it has used.
End end_by_use(BatchSystem system, std::string_view limit, std::string_view used, base::Nanos now) {
  if (limit.empty()) return std::nullopt;
  const auto whole = read_time(limit, false);
  const auto gone = used.empty() ? std::chrono::seconds(0) : read_time(used, false);
  if (!whole || !gone) return unreadable(system, whole ? used : limit);
  return now + *whole - *gone;
}

// Newer kinds of Grid Engine count in milliseconds or microseconds.
base::Nanos unix_time(std::int64_t count) {
  if (count >= 100'000'000'000'000) return std::chrono::microseconds(count);
  if (count >= 100'000'000'000) return std::chrono::milliseconds(count);
  return std::chrono::seconds(count);
}

// Grid Engine shows when the job began, and not how long it has run. `request`: what follows the
// name of the limit.
End end_by_start(std::string_view request, std::string_view start) {
  if (request.empty()) return std::nullopt;
  const std::string_view limit = after(request, "<CE_doubleval>", ".<");
  const auto whole = read_time(limit, false);
  const auto began = base::parse_int<std::int64_t>(start);
  if (!whole || !began || *began <= 0) {
    return unreadable(BatchSystem::kGridEngine, whole ? start : limit);
  }
  return unix_time(*began) + *whole;
}

// Grid Engine shows all tasks of an array: those before the job's own are cut out. Unchanged if
// the job is no array's task, or is not shown.
std::string without_other_tasks(const BatchJob& job, std::string shown) {
  const auto dot = job.id.find('.');
  if (job.system != BatchSystem::kGridEngine || dot == std::string::npos) return shown;
  const auto first = shown.find("<JAT_task_number>");
  const auto own = shown.find(fmt::format("<JAT_task_number>{}<", job.id.substr(dot + 1)));
  if (own != std::string::npos) shown.erase(first, own - first);
  return shown;
}

}  // namespace

std::string_view to_string(BatchSystem system) {
  switch (system) {
    case BatchSystem::kPbs: return "PBS";
    case BatchSystem::kGridEngine: return "Grid Engine";
    case BatchSystem::kLsf: return "LSF";
    case BatchSystem::kNone: break;
  }
  return "";
}

std::string_view show_program(BatchSystem system) {
  return system == BatchSystem::kLsf ? "bjobs" : "qstat";
}

std::vector<std::string> remote_shell(BatchSystem system) {
  if (system == BatchSystem::kGridEngine) return {"qrsh", "-inherit"};
  if (system == BatchSystem::kLsf) return {"blaunch"};
  return {};
}

std::vector<std::string> show_argv(const BatchJob& job) {
  std::vector<std::string> argv = {fmt::format("{}/{}", job.commands, show_program(job.system))};
  if (job.system == BatchSystem::kPbs) argv.emplace_back("-f");
  if (job.system == BatchSystem::kGridEngine) argv.insert(argv.end(), {"-xml", "-j"});
  if (job.system == BatchSystem::kLsf) argv.insert(argv.end(), {"-noheader", "-o", "time_left"});
  // qstat -j takes whole jobs only.
  const bool is_whole = job.system == BatchSystem::kGridEngine;
  argv.push_back(is_whole ? job.id.substr(0, job.id.find('.')) : job.id);
  return argv;
}

std::vector<std::string> requeue_argv(const BatchJob& job) {
  switch (job.system) {
    case BatchSystem::kPbs: return {job.commands + "/qrerun", job.id};
    case BatchSystem::kGridEngine: return {job.commands + "/qmod", "-rj", job.id};
    case BatchSystem::kLsf: return {job.commands + "/brequeue", job.id};
    case BatchSystem::kNone: break;
  }
  return {};
}

std::vector<int> warning_signals(BatchSystem system) {
  if (system == BatchSystem::kGridEngine) return {SIGUSR1, SIGUSR2};  // qsub -notify; s_rt
  if (system == BatchSystem::kLsf) return {SIGUSR2};
  return {};
}

End read_batch_end(BatchSystem system, std::string_view shown, base::Nanos now) {
  switch (system) {
    case BatchSystem::kPbs:
      if (!shown.starts_with("Job Id:")) return unreadable(system, shown);
      return end_by_use(system, after(shown, "Resource_List.walltime =", "\n"),
                        after(shown, "resources_used.walltime =", "\n"), now);
    case BatchSystem::kGridEngine:
      if (shown.find("<JB_job_number>") == std::string_view::npos) return unreadable(system, shown);
      return end_by_start(after(shown, "<CE_name>h_rt</CE_name>", {}),
                          after(shown, "<JAT_start_time>", "<"));
    case BatchSystem::kLsf: {
      // "11:59 L": hours and minutes left; "-": no limit.
      const std::string_view left = base::trim(shown);
      if (left == "-") return std::nullopt;
      const auto time = read_time(left.substr(0, left.find(' ')), true);
      if (!time || left.find(':') == std::string_view::npos) return unreadable(system, left);
      return now + *time;
    }
    case BatchSystem::kNone: break;
  }
  return std::nullopt;
}

End ask_batch_end(const BatchJob& job) {
  const auto done = RR_TRY(base::run_tool(show_argv(job), kSlurmJobEndWait));
  if (!done.status.success()) {
    return base::fail(
        base::Errc::kUnavailable,
        fmt::format("{} ended with {}: {}", show_program(job.system), base::describe(done.status),
                    base::printable(base::trim(done.err).substr(0, 200))));
  }
  return read_batch_end(job.system, without_other_tasks(job, done.out),
                        base::SystemClock().wall_time());
}

}  // namespace robustrun::launcher
