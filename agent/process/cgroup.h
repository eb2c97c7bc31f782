#pragma once
// A cgroup v2 per worker, where one can be made: it ends all its members at once, and its memory
// events are the worker's own.
//
// Found, never required: pure v2 or the v2 half of a hybrid, below our own cgroup, when we are
// root or it is delegated to us. An agent has a folder in which those of its workers lie, and holds
// a lock on it for as long as there are any: one descriptor for all of them. What a dead agent left
// is known by its free lock, killed and removed when the next one makes its own.
// cgroups(7), Documentation/admin-guide/cgroup-v2.rst.

#include <memory>
#include <optional>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"

namespace robustrun::agent {

class Cgroup {
 public:
  // robustrun-RUN.PID/RUN-RANK-ATTEMPT below our own cgroup, where the first RUN is that of the
  // first worker; nothing when it cannot be made. `proc`: where procfs is.
  static std::optional<Cgroup> make(const std::string& run_id, base::Rank rank,
                                    base::Attempt attempt, const std::string& proc = "/proc");
  Cgroup(Cgroup&&) = default;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup() { remove(); }

  [[nodiscard]] const std::string& path() const { return path_; }
  // Folders that the worker made in it are removed, too. One that still has members stays, and is
  // removed as a dead agent's later.
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

// Where a hierarchy is mounted, and the folder of a process in it.
struct CgroupPlace {
  std::string mount;
  std::string folder;
};

// `controller`: of a v1 hierarchy ("memory"), or empty for v2.
base::Result<CgroupPlace> own_cgroup(const std::string& controller,
                                     const std::string& proc = "/proc");
// Of another process; `pid`: its folder below `proc`.
base::Result<CgroupPlace> cgroup_of(const std::string& pid, const std::string& controller,
                                    const std::string& proc = "/proc");

}  // namespace robustrun::agent
