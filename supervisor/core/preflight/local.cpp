// Rule: what each node must have by itself: disk, /dev/shm, limits, a correct clock.

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

std::string in_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
  constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;
  if (bytes >= 10 * kGibi) return fmt::format("{} GiB", bytes / kGibi);
  if (bytes >= kGibi) {
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGibi));
  }
  return fmt::format("{} MiB", bytes / kMebi);
}

void judge_space(Judgement& judgement, std::size_t place) {
  const base::NodeFacts& facts = judgement.checked.nodes[place].facts;
  if (!facts.disk.error.empty()) {
    judgement.add(place, Fitness::kUnfit,
                  fmt::format("cannot read the free space in {}: {}",
                              facts.disk.path.empty() ? "its log folder" : said(facts.disk.path),
                              said(facts.disk.error)));
  } else if (facts.disk.free < kDiskFreeWarn) {
    const bool unfit = facts.disk.free < kDiskFreeMin;
    judgement.add(place, unfit ? Fitness::kUnfit : Fitness::kWarned,
                  fmt::format("only {} are free in {}, where log files go",
                              in_bytes(facts.disk.free), said(facts.disk.path)));
  }
  if (!facts.shm.error.empty()) {
    judgement.add(place, Fitness::kWarned,
                  fmt::format("cannot read the free space in /dev/shm: {}", said(facts.shm.error)));
  } else if (facts.shm.free < kShmFreeWarn) {
    const bool unfit = facts.shm.free < kShmFreeMin;
    judgement.add(
        place, unfit ? Fitness::kUnfit : Fitness::kWarned,
        fmt::format(
            "only {} of {} are free in /dev/shm, which NCCL and data loaders need{}",
            in_bytes(facts.shm.free), in_bytes(facts.shm.total),
            facts.shm.total < kShmFreeWarn ? " (docker run --shm-size makes it larger)" : ""));
  }
}

void judge_limits(Judgement& judgement, std::size_t place) {
  const base::NodeFacts& facts = judgement.checked.nodes[place].facts;
  const base::UserLimits& limits = facts.limits;
  const std::uint64_t files =
      std::max(kOpenFilesMin, kOpenFilesOwn + kOpenFilesPerRank * judgement.world_size);
  if (limits.open_files < files) {
    judgement.add(place, Fitness::kWarned,
                  fmt::format("processes may open {} files, and this job may need {} "
                              "(ulimit -n {}; the hard limit is {})",
                              limits.open_files, files, files,
                              limits.open_files_hard == base::kUnlimited
                                  ? "none"
                                  : std::to_string(limits.open_files_hard)));
  }
  if (facts.rdma_devices > 0 && limits.locked_bytes < kLockedBytesMin) {
    judgement.add(place, Fitness::kWarned,
                  fmt::format("only {} may be locked into memory, and RDMA needs more "
                              "(ulimit -l unlimited)",
                              in_bytes(limits.locked_bytes)));
  }
  const std::uint64_t processes =
      kProcessesMin + kProcessesPerWorker * judgement.wanted[place].slots;
  if (limits.processes < processes) {
    judgement.add(place, Fitness::kWarned,
                  fmt::format("its user may have {} processes and threads, and this job may need "
                              "{} (ulimit -u {})",
                              limits.processes, processes, processes));
  }
}

void judge_clock(Judgement& judgement, std::size_t place) {
  const NodeCheck& node = judgement.checked.nodes[place];
  const double ahead = std::chrono::duration<double>(node.clock_ahead).count();
  const double error = std::chrono::duration<double>(node.clock_error).count();
  const double most = std::chrono::duration<double>(kClockOffsetMax).count();
  if (std::abs(ahead) - error <= most) return;
  judgement.add(place, Fitness::kWarned,
                fmt::format("its clock is {:.4g} s {} the supervisor's", std::abs(ahead),
                            ahead > 0 ? "ahead of" : "behind"));
}

}  // namespace

void judge_local(Judgement& judgement) {
  for (std::size_t place = 0; place < judgement.checked.nodes.size(); ++place) {
    const NodeCheck& node = judgement.checked.nodes[place];
    if (!node.trouble.empty() || !node.answered) {
      judgement.add(place, Fitness::kUnfit,
                    node.trouble.empty() ? "it did not answer" : said(node.trouble));
    }
    if (!node.answered) continue;
    if (!node.facts.missing.empty()) {
      judgement.add(place, Fitness::kUnfit, said(node.facts.missing));
    }
    judge_space(judgement, place);
    judge_limits(judgement, place);
    judge_clock(judgement, place);
  }
}

}  // namespace robustrun::supervisor
