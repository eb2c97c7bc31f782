// Rules about the kernel and its limits.

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "checkpoint/memory/copies_kept.h"
#include "cli/doctor/checks.h"

namespace robustrun::cli {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// As the check before a run has them (docs/preflight.md).
constexpr std::uint64_t kShmWarnBelow = 512 * kMiB;
constexpr std::uint64_t kShmBadBelow = 16 * kMiB;
constexpr std::uint64_t kFilesWarnBelow = 1024;
constexpr std::uint64_t kFilesOfSupervisor = 256;
constexpr std::uint64_t kFilesPerRank = 2;
constexpr std::uint64_t kMemoryWarnBelow = 1024 * kMiB;

std::string in_gib(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(1024 * kMiB));
}

// Two digits: machines of one kind differ by what their kernels keep.
std::string roughly_in_gib(std::uint64_t bytes) {
  return fmt::format("about {:.2g} GiB",
                     static_cast<double>(bytes) / static_cast<double>(1024 * kMiB));
}

std::string limit_words(std::uint64_t limit) {
  return limit == base::kUnlimited ? "unlimited" : std::to_string(limit);
}

}  // namespace

Check check_kernel(const Facts& facts) {
  Check check{"kernel", CheckState::kOk, "Linux " + base::printable(facts.kernel), ""};
  if (!facts.has_pidfd) {
    check.state = CheckState::kBad;
    check.found += " without pidfd_open or waitid(P_PIDFD)";
    check.advice = "Linux 5.4 or newer; in a container, a seccomp profile that allows both";
  }
  return check;
}

// Workers are killed process by process without one (base/io/strays.h).
Check check_cgroups(const Facts& facts) {
  const CgroupFacts& cgroup = facts.cgroup;
  Check check{"cgroups", CheckState::kOk, "", ""};
  if (cgroup.folder.empty()) {
    check.state = CheckState::kWarn;
    check.found = "no cgroup v2 here; worker trees are killed process by process";
    check.advice = "nothing is needed; with cgroup v2 a worker also has its own count of OOM kills";
  } else if (!cgroup.is_writable) {
    check.state = CheckState::kWarn;
    check.found = fmt::format(
        "may not make cgroups below {}; worker trees are killed process by "
        "process",
        base::printable(cgroup.folder));
    check.advice =
        "nothing is needed; for a cgroup per worker: systemd-run --user --scope -p Delegate=yes";
  } else {
    check.found = "each worker gets its own";
    if (!cgroup.has_kill) check.found += "; killed process by process (Linux before 5.14)";
  }
  return check;
}

Check check_stacks(const Facts& facts) {
  const StackFacts& stacks = facts.stacks;
  Check check{"native stacks", CheckState::kAbsent, "neither eu-stack nor py-spy", ""};
  if (!stacks.has_eu_stack && !stacks.has_py_spy) return check;
  const std::int64_t scope = stacks.ptrace_scope.value_or(0);
  check.state = CheckState::kOk;
  check.found = stacks.has_eu_stack && stacks.has_py_spy ? "eu-stack and py-spy"
                : stacks.has_eu_stack                    ? "eu-stack"
                                                         : "py-spy";
  if (scope >= 3 || (scope > 0 && !facts.is_root)) {
    check.state = CheckState::kWarn;
    check.found += fmt::format(" may not attach to workers (ptrace_scope {})", scope);
    check.advice = scope >= 3
                       ? "fixed until the next boot; Python stacks are still shown"
                       : "as root: sysctl kernel.yama.ptrace_scope=0; Python stacks need nothing";
  }
  return check;
}

Check check_fuse(const Facts& facts) {
  const FuseFacts& fuse = facts.fuse;
  Check check{"FUSE", CheckState::kAbsent, "no /dev/fuse", ""};
  if (!fuse.has_device) return check;
  check.state = CheckState::kWarn;
  if (!fuse.opens) {
    check.found = "/dev/fuse may not be opened: --image works as root only";
    check.advice = "give your container /dev/fuse, or your user the group of that file";
  } else if (!facts.is_root && !fuse.has_fusermount) {
    check.found = "no fusermount3: --image works as root only";
    check.advice = "install fuse3";
  } else {
    check.state = CheckState::kOk;
    check.found = "images can be mounted";
    if (!facts.is_root && !fuse.has_squashfuse) {
      check.found += "; squashfuse is not installed: with --image-mode=blocks only";
    }
  }
  return check;
}

Check check_namespaces(const Facts& facts) {
  const NamespaceFacts& namespaces = facts.namespaces;
  Check check{"user namespaces", CheckState::kOk, "", ""};
  using State = Answer::State;
  if (namespaces.bwrap.state == State::kAnswered) {
    check.found = "bwrap starts containers";
    return check;
  }
  if (!facts.is_root) {
    if (namespaces.max_user == 0) {
      check.found = "none allowed (user.max_user_namespaces is 0)";
      check.advice = "as root: sysctl user.max_user_namespaces=15000";
    } else if (namespaces.unprivileged_clone == 0) {
      check.found = "for root only (kernel.unprivileged_userns_clone is 0)";
      check.advice = "as root: sysctl kernel.unprivileged_userns_clone=1";
    } else if (namespaces.apparmor_restricts.value_or(0) != 0) {
      check.found = "restricted by AppArmor";
      check.advice =
          "as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap";
    }
  }
  if (namespaces.bwrap.is_here() && check.advice.empty()) {
    check.found = namespaces.bwrap.state == State::kHung
                      ? "bwrap does not end"
                      : "bwrap fails: " + base::printable(namespaces.bwrap.text);
    check.advice = "use --container-runtime=none, apptainer or enroot";
  }
  if (!check.advice.empty()) {
    check.state = CheckState::kWarn;
    check.found += "; images cannot be the root of workers";
    return check;
  }
  return {check.name, CheckState::kAbsent, "allowed, but bwrap is not installed", ""};
}

// The agent refuses copies beyond half of what is available (docs/checkpoints.md).
Check check_memory(const Facts& facts) {
  const MemoryFacts& memory = facts.memory;
  Check check{"memory", CheckState::kOk, "", ""};
  if (memory.total == 0) {
    check.state = CheckState::kWarn;
    check.found = "/proc/meminfo cannot be read";
    check.advice = "mount /proc";
    return check;
  }
  check.found = fmt::format(
      "{} of {} available; copies of checkpoints in memory may take up to {}, and need {} times "
      "the states of this machine's ranks",
      in_gib(memory.available), in_gib(memory.total), in_gib(memory.available / 2),
      checkpoint::kCopiesWithoutBoard);
  check.kind = roughly_in_gib(memory.total);
  if (memory.cgroup_limit != 0 && memory.cgroup_limit < memory.total) {
    check.found += fmt::format("; limit of this cgroup {}", in_gib(memory.cgroup_limit));
  }
  if (memory.available < kMemoryWarnBelow) {
    check.state = CheckState::kWarn;
    check.advice = "end other programs; a worker with torch needs some 500 MiB";
  }
  return check;
}

Check check_shared_memory(const Facts& facts) {
  const base::Space& shm = facts.memory.shm;
  Check check{"/dev/shm", CheckState::kOk, "", ""};
  if (!shm.error.empty()) {
    check.state = CheckState::kWarn;
    check.found = "cannot be read: " + base::printable(shm.error);
    check.advice = "mount a tmpfs there, for NCCL and data loaders";
    return check;
  }
  check.found = fmt::format("{} of {} free", in_gib(shm.free), in_gib(shm.total));
  check.kind = roughly_in_gib(shm.total);
  if (shm.free < kShmWarnBelow) {
    check.state = shm.free < kShmBadBelow ? CheckState::kBad : CheckState::kWarn;
    check.found = fmt::format("only {} of {} MiB free; NCCL and data loaders need more",
                              shm.free / kMiB, shm.total / kMiB);
    check.advice = shm.total < kShmWarnBelow
                       ? "as root: mount -o remount,size=50% /dev/shm; docker run --shm-size=8g"
                       : "remove files that ended programs left in /dev/shm";
  }
  return check;
}

Check check_open_files(const Facts& facts) {
  const std::uint64_t soft = facts.limits.open_files;
  const std::uint64_t hard = facts.limits.open_files_hard;
  Check check{"open files", CheckState::kOk, "", ""};
  if (soft == base::kUnlimited) {
    check.found = "unlimited";
    return check;
  }
  const std::uint64_t ranks =
      soft > kFilesOfSupervisor ? (soft - kFilesOfSupervisor) / kFilesPerRank : 0;
  check.found =
      fmt::format("{} (hard limit {}): for jobs of up to {} ranks", soft, limit_words(hard), ranks);
  if (soft < kFilesWarnBelow) {
    check.state = CheckState::kWarn;
    check.advice = hard >= kFilesWarnBelow
                       ? fmt::format("ulimit -n {}", std::min<std::uint64_t>(hard, 65'536))
                       : "raise nofile in /etc/security/limits.conf, or LimitNOFILE of the service";
  }
  return check;
}

}  // namespace robustrun::cli
