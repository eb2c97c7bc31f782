#pragma once
// The facts for `robustrun doctor`, as plain data: gather.h fills them, the rules (checks.h) judge
// them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/spawn/profiler_choice.h"
#include "base/core/node_facts.h"

namespace robustrun::cli {

// The result of running a program.
struct Answer {
  enum class State : std::uint8_t { kMissing, kAnswered, kFailed, kHung };
  State state = State::kMissing;  // kMissing: not on PATH, or not asked
  int exit_code = 0;              // kFailed
  std::string text;               // its output; kFailed, kHung: why, in one line
  [[nodiscard]] bool is_here() const { return state != State::kMissing; }
};

struct CgroupFacts {
  std::string folder;        // of this process, version 2; empty: no cgroup v2
  bool is_writable = false;  // new cgroups can be made in it, and processes moved there
  bool has_kill = false;     // cgroup.kill, Linux 5.14
};

struct StackFacts {
  std::optional<std::int64_t> ptrace_scope;  // of Yama
  bool has_eu_stack = false;
  bool has_py_spy = false;
};

struct FuseFacts {
  bool has_device = false;  // /dev/fuse
  bool opens = false;  // /dev/fuse can be opened
  bool has_fusermount = false;
  bool has_squashfuse = false;
};

struct NamespaceFacts {
  std::optional<std::int64_t> max_user;            // user.max_user_namespaces
  std::optional<std::int64_t> unprivileged_clone;  // Debian's kernel.unprivileged_userns_clone
  std::optional<std::int64_t> apparmor_restricts;  // kernel.apparmor_restrict_unprivileged_userns
  Answer bwrap;  // of running /bin/true in bwrap
};

struct MemoryFacts {
  std::uint64_t total = 0;  // bytes; 0: unknown
  std::uint64_t available = 0;
  std::uint64_t cgroup_limit = 0;  // the least of our cgroup and its ancestors; 0: none
  base::Space shm;
};

struct SshFacts {
  Answer client;  // ssh -V
  std::string socket;  // SSH_AUTH_SOCK; empty: not set
  Answer agent;  // ssh-add -l
  std::vector<std::string> keys;  // names of private key files in ~/.ssh
};

struct SlurmFacts {
  Answer srun;  // srun --version
  Answer scontrol;  // scontrol show config
  bool has_sbatch = false;
  std::string job;  // SLURM_JOB_ID; empty: not within an allocation
};

struct MungeFacts {
  bool has_socket = false;
  Answer encoded;  // munge -n
};

struct PythonFacts {
  std::string interpreter;  // which a run would use; empty: see `error`
  std::string error;
  Answer answer;  // to kPythonQuestion (gather.cpp)
  std::string version;  // "3.11.2"; empty: not known
  std::string torch;  // "2.13.0+cpu"; empty: not installed
  std::string nccl;  // "2.27.5", from a Python package; empty: there is none
};

// A file that robustrun is installed with.
struct PartFact {
  std::string name;  // "robustrun-shim"
  std::string use;  // what does not work without it
  bool is_needed = false;  // no run works without it
  bool is_here = false;
};

struct Facts {
  std::string host;
  bool is_root = false;
  std::string kernel;  // release: "6.1.0-18-amd64"
  bool has_pidfd = true;  // pidfd_open and waitid(P_PIDFD)
  CgroupFacts cgroup;
  StackFacts stacks;
  FuseFacts fuse;
  NamespaceFacts namespaces;
  MemoryFacts memory;
  base::UserLimits limits;
  SshFacts ssh;
  SlurmFacts slurm;
  MungeFacts munge;
  std::string nvidia;  // /proc/driver/nvidia/version; empty: no driver
  base::Gpus gpus;  // as NVML reports them
  agent::ProfilerChoice nccl_profiler;
  PythonFacts python;
  std::string prefix;  // where robustrun is installed
  std::vector<PartFact> parts;
};

}  // namespace robustrun::cli
