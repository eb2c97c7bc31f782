#include "agent/spawn/usable_cpus.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <memory>

#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

std::string read(const std::string& path) {
  auto text = base::read_file(path, kSysfsBytesMax);
  return text ? std::string(base::trim(*text)) : std::string();
}

// Whole processors that quota / period allows; a negative quota ("-1" in v1) is no limit.
std::optional<unsigned> whole_cpus(std::string_view quota, std::string_view period) {
  const auto quota_us = base::parse_int<std::int64_t>(quota);
  const auto period_us = base::parse_int<std::int64_t>(period);
  if (!quota_us || !period_us || *quota_us < 0 || *period_us <= 0) return std::nullopt;
  const auto cpus = std::clamp<std::int64_t>(*quota_us / *period_us, 1, kCpusMax);
  return static_cast<unsigned>(cpus);
}

std::optional<unsigned> limit_v2(const std::string& folder) {
  const std::string text = read(folder + "/cpu.max");  // "max 100000" or "200000 100000"
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return whole_cpus(std::string_view(text).substr(0, space),
                    std::string_view(text).substr(space + 1));
}

std::optional<unsigned> limit_v1(const std::string& folder) {
  return whole_cpus(read(folder + "/cpu.cfs_quota_us"), read(folder + "/cpu.cfs_period_us"));
}

// The smallest limit of the cgroup `path` below `mount` and of all above it. In a container the
// path may not exist below the mount; the mount's own root is then the container's cgroup.
unsigned least_limit(const std::string& mount, std::string path,
                     std::optional<unsigned> (*limit)(const std::string&), unsigned cpus) {
  while (true) {
    if (const auto found = limit(mount + path)) cpus = std::min(cpus, *found);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return cpus;
    path.erase(slash);
  }
}

}  // namespace

std::vector<unsigned> allowed_cpus() {
  const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(kCpusMax));
  const std::size_t size = CPU_ALLOC_SIZE(kCpusMax);
  CPU_ZERO_S(size, set.get());
  std::vector<unsigned> cpus;
  if (::sched_getaffinity(0, size, set.get()) != 0) return cpus;
  for (unsigned cpu = 0; cpu < kCpusMax; ++cpu) {
    if (CPU_ISSET_S(cpu, size, set.get())) cpus.push_back(cpu);
  }
  return cpus;
}

unsigned usable_cpus(const std::string& root) {
  auto cpus = static_cast<unsigned>(std::max<std::size_t>(1, allowed_cpus().size()));
  // "0::/user.slice/…" for v2, "4:cpu,cpuacct:/…" for v1.
  const std::string groups = read(root + "/proc/self/cgroup");
  for (const std::string_view line : base::split(groups, '\n')) {
    const auto fields = base::split(line, ':');
    if (fields.size() != 3) continue;
    const std::string path(fields[2] == "/" ? "" : fields[2]);
    if (fields[1].empty()) {
      cpus = least_limit(root + "/sys/fs/cgroup", path, limit_v2, cpus);
      cpus = least_limit(root + "/sys/fs/cgroup/unified", path, limit_v2, cpus);
    } else if (std::ranges::count(base::split(fields[1], ','), "cpu") > 0) {
      cpus = least_limit(root + "/sys/fs/cgroup/cpu", path, limit_v1, cpus);
    }
  }
  return cpus;
}

}  // namespace robustrun::agent
