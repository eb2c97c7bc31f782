#pragma once
// A cgroup v2 per worker, where one can be made: all its members can be killed at once, and its
// memory events are the worker's own.
//
// Used where found, never required: pure v2 or the v2 half of a hybrid, below our own cgroup, when
// we are root or it is delegated to us. The agent makes one folder for the cgroups of its workers,
// and holds a lock on it as long as there are any: one descriptor for all of them. What a dead
// agent left is recognised by its free lock; the next agent kills and removes it when it makes its
// own. cgroups(7), Documentation/admin-guide/cgroup-v2.rst.

#include <memory>
#include <optional>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"

namespace robustrun::agent {

class Cgroup {
 public:
  // Makes robustrun-RUN.PID/RUN-RANK-ATTEMPT below our own cgroup; the outer folder keeps the RUN
  // for which it was first made. nullopt: it cannot be made. `proc`: where procfs is.
  static std::optional<Cgroup> make(const std::string& run_id, base::Rank rank,
                                    base::Attempt attempt, const std::string& proc = "/proc");
  Cgroup(Cgroup&&) = default;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup() { remove(); }

  [[nodiscard]] const std::string& path() const { return path_; }
  // Also removes folders that the worker made in it. A cgroup that still has members stays, and is
  // removed later, as a dead agent's.
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

// Where a hierarchy is mounted, and a process's folder in it.
struct CgroupPlace {
  std::string mount;
  std::string folder;
};

// Our own place. `controller`: of a v1 hierarchy ("memory"), or empty for v2.
base::Result<CgroupPlace> own_cgroup(const std::string& controller,
                                     const std::string& proc = "/proc");
// The place of another process; `pid`: its folder below `proc`.
base::Result<CgroupPlace> cgroup_of(const std::string& pid, const std::string& controller,
                                    const std::string& proc = "/proc");

}  // namespace robustrun::agent
