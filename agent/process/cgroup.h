#pragma once
// A cgroup v2 for each worker, where one can be made: all its members can be killed at once, and
// its memory events (kills by the OOM killer) concern this worker alone.
//
// Optional. It needs a v2 hierarchy, alone or beside v1, and root rights or a delegated cgroup. The
// agent makes one folder below its own cgroup for the cgroups of all its workers, and holds a lock
// on this folder while one of these cgroups exists. A free lock shows that the folder's agent is
// dead: the next agent then kills the members and removes the folder. cgroups(7),
// Documentation/admin-guide/cgroup-v2.rst.

#include <memory>
#include <optional>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"

namespace robustrun::agent {

class Cgroup {
 public:
  // Makes robustrun-RUN.PID/RUN-RANK-ATTEMPT below the agent's cgroup. PID: the agent's. All
  // cgroups of the agent share the outer folder; its RUN is the run for which it was first made.
  // nullopt: it cannot be made. `proc`: where procfs is mounted.
  static std::optional<Cgroup> make(const std::string& run_id, base::Rank rank,
                                    base::Attempt attempt, const std::string& proc = "/proc");
  Cgroup(Cgroup&&) = default;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup() { remove(); }

  [[nodiscard]] const std::string& path() const { return path_; }
  // Also removes cgroups that the worker made below it. A cgroup that still has members stays until
  // a later agent removes it.
  void remove();

 private:
  class Home;
  Cgroup(std::string path, std::shared_ptr<Home> home)
      : path_(std::move(path)), home_(std::move(home)) {}

  std::string path_;
  std::shared_ptr<Home> home_;  // null: removed
};

// SIGKILL for all members at once; does nothing on kernels before 5.14.
void kill_cgroup(const std::string& path);

// A process's cgroup in one hierarchy.
struct CgroupPlace {
  std::string mount;  // where the hierarchy is mounted
  std::string folder;  // absolute path of the cgroup, below `mount`
};

// The place of this process. `controller`: of a v1 hierarchy ("memory"); empty: v2. Fails if that
// hierarchy is not mounted.
base::Result<CgroupPlace> own_cgroup(const std::string& controller,
                                     const std::string& proc = "/proc");
// The place of another process. `pid`: the name of its folder below `proc`.
base::Result<CgroupPlace> cgroup_of(const std::string& pid, const std::string& controller,
                                    const std::string& proc = "/proc");

}  // namespace robustrun::agent
