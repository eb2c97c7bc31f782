#include "agent/worker/gpu_holders.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

bool has_ended(pid_t pid) {
  const auto stat = base::read_file(fmt::format("/proc/{}/stat", pid), kProcStatusBytesMax);
  const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos || name_end + 2 >= stat->size()) return true;
  const char state = (*stat)[name_end + 2];
  return state == 'Z' || state == 'X';
}

bool uses_more(const GpuReading& now, const GpuReading& before) {
  return now.state.used_mib && before.state.used_mib &&
         *now.state.used_mib > *before.state.used_mib + kGpuSlackMib;
}

std::string culprit(const GpuHolder& holder, const std::function<GpuUser(pid_t)>& user_of) {
  if (holder.pid == 0)
    return fmt::format("GPU {} by a process that NVML does not name", holder.gpu);
  const bool is_ours = user_of(holder.pid) == GpuUser::kOurs;
  return fmt::format("GPU {} by pid {}, {}", holder.gpu, holder.pid,
                     is_ours ? "which is of this run" : "which has ended");
}

}  // namespace

std::vector<GpuHolder> gpu_holders(const std::vector<GpuReading>& now,
                                   const std::vector<GpuReading>& before,
                                   const std::function<GpuUser(pid_t)>& user_of) {
  std::vector<GpuHolder> holders;
  for (const GpuReading& gpu : now) {
    const auto same = std::ranges::find(before, gpu.index, &GpuReading::index);
    const GpuReading* const then = same == before.end() ? nullptr : &*same;
    for (const pid_t pid : gpu.pids) {
      const bool was_there =
          then != nullptr && std::ranges::find(then->pids, pid) != then->pids.end();
      if (!was_there && user_of(pid) != GpuUser::kForeign) holders.push_back({gpu.index, pid});
    }
    if (gpu.pids.empty() && then != nullptr && uses_more(gpu, *then)) {
      holders.push_back({gpu.index, 0});
    }
  }
  return holders;
}

GpuUser gpu_user(pid_t pid, const wire::WorkerTemplate& workers) {
  if (has_ended(pid)) return GpuUser::kGone;
  const auto bytes = base::read_file(fmt::format("/proc/{}/environ", pid), kProcEnvironBytesMax);
  if (!bytes) return GpuUser::kForeign;  // another user's
  std::vector<std::string> entries;
  for (const std::string_view entry : base::split(*bytes, '\0')) entries.emplace_back(entry);
  const Environment theirs(std::move(entries));
  const Environment ours(workers.environment);
  const bool is_ours = theirs.get("ROBUSTRUN_RUN_ID") == workers.run_id &&
                       theirs.get("ROBUSTRUN_NODE") == ours.get("ROBUSTRUN_NODE") &&
                       !theirs.get("ROBUSTRUN_STANDBY_SOCKET");
  return is_ours ? GpuUser::kOurs : GpuUser::kForeign;
}

std::string in_words(const std::vector<GpuHolder>& holders,
                     const std::function<GpuUser(pid_t)>& user_of) {
  std::string words;
  for (std::size_t i = 0; i < holders.size() && i < kGpuHoldersShown; ++i) {
    words += (i == 0 ? "" : "; ") + culprit(holders[i], user_of);
  }
  if (holders.size() > kGpuHoldersShown) words += "; …";
  return words;
}

}  // namespace robustrun::agent
