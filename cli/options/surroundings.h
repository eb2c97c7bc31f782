#pragma once
// What the command line needs to know about its environment: facts that are read once
// (host/surroundings_host.cpp), and questions that depend on the options. The other code of cli/ is
// a pure function of these, except for the files that README.md names. Tests pass their own.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/tool.h"
#include "supervisor/group/node_history.h"

namespace robustrun::cli {

enum class PathKind : std::uint8_t {
  kMissing,
  kFile,
  kUnreadableFile,
  kDirectory,
  kEmptyDirectory,
  kSocket,  // no program can read it by its name
  kOther,
};

// What the interpreter's torch reports about accelerators of one kind.
struct Devices {
  enum class State : std::uint8_t { kCounted, kUnavailable, kUnknownName };
  State state = State::kUnavailable;
  std::uint32_t count = 0;
};

// Questions to the machine.
class Machine {
 public:
  virtual ~Machine() = default;
  [[nodiscard]] virtual base::Result<std::string> read_file(const std::string& path) const = 0;
  [[nodiscard]] virtual PathKind kind(const std::string& path) const = 0;
  // Whether `path` belongs to a user other than this one and root.
  [[nodiscard]] virtual bool is_others(const std::string& path) const = 0;
  // `path`: folders as in the variable PATH.
  [[nodiscard]] virtual base::Result<std::string> find_executable(
      const std::string& name, const std::string& path) const = 0;
  // `name`: gpu, xpu, auto, or a backend's own name. If the machine has no device files, no
  // interpreter is started. Otherwise `interpreter` imports torch, which may take kDeviceQueryMax.
  [[nodiscard]] virtual base::Result<Devices> devices(const std::string& interpreter,
                                                      const std::string& name) const = 0;
  // Runs an interpreter, argv[0], to ask its packages something.
  [[nodiscard]] virtual base::Result<base::ToolResult> ask_python(
      const std::vector<std::string>& argv, std::chrono::milliseconds deadline) const = 0;
  // The notes of earlier runs; empty if the folder is missing.
  [[nodiscard]] virtual base::Result<supervisor::NodeHistory> node_history(
      const std::string& directory) const = 0;
  // Reads a regular file that belongs to this user or root and is inaccessible to all other users;
  // the group may read a file of root. Returns at most kSecretBytesMax + 1 bytes; the caller
  // refuses a longer secret. The error is a cause without a subject.
  [[nodiscard]] virtual base::Result<std::string> read_secret(const std::string& path) const = 0;
};

// Questions about this machine's place in the network.
class Network {
 public:
  virtual ~Network() = default;
  // kConflict: the port is in use; the text names the holder if it is known.
  [[nodiscard]] virtual base::Status check_port(std::uint16_t port) const = 0;
  // Numeric addresses of every interface that is up.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> own_addresses() const = 0;
  // Numeric addresses; takes as long as the resolver. The error is a cause without a subject.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> look_up(
      const std::string& host) const = 0;
};

// Questions about the network between the machines.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // Reads a description of the network of at most topo::kTextBytesMax. The error is a whole
  // sentence.
  [[nodiscard]] virtual base::Result<std::string> read_file(const std::string& path) const = 0;
  // The output of `scontrol show topology`. May take kScontrolMax. The error is a cause without a
  // subject.
  [[nodiscard]] virtual base::Result<std::string> ask_slurm(const std::string& scontrol) const = 0;
};

struct Surroundings {
  std::string program_name = "robustrun";  // last part of argv[0]
  std::string executable;  // absolute
  std::string working_directory;
  std::string host;
  std::vector<std::string> environment;  // NAME=VALUE
  std::uint32_t uid = 0;
  std::uint32_t cpus = 1;  // usable by this process
  bool stdout_is_terminal = false;
  bool stderr_is_terminal = false;
  bool hangup_ignored = false;  // started by nohup
  base::Nanos wall_time{};
  std::uint64_t seed = 0;  // random: for names of directories, and for faults on purpose
  const Machine* machine = nullptr;
  const Network* network = nullptr;
  const Fabric* fabric = nullptr;

  // Like getenv().
  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;
  // Whether colours may go to standard output or error: it is a terminal that knows them, and
  // NO_COLOR is not set.
  [[nodiscard]] bool takes_colour(bool is_terminal) const {
    return is_terminal && variable("NO_COLOR").value_or("").empty() && variable("TERM") != "dumb";
  }
  // `path` as the user gave it, made absolute.
  [[nodiscard]] std::string absolute(const std::string& path) const {
    return path.starts_with('/') ? path : working_directory + "/" + path;
  }
};

// The names, besides robustrun, by which this program may be called through a link
// (docs/compat.md).
inline constexpr std::string_view kTorchrunName = "torchrun";
inline constexpr std::string_view kLaunchName = "torch.distributed.launch";
[[nodiscard]] constexpr bool is_name_of_torch(std::string_view program_name) {
  return program_name == kTorchrunName || program_name == kLaunchName;
}

// Reads the surroundings of this process, which was called as `program_name` (argv[0]). `machine`
// must outlive the result.
[[nodiscard]] Surroundings look_around(const std::string& program_name, const Machine& machine);
[[nodiscard]] const Machine& this_machine();
[[nodiscard]] const Fabric& this_fabric();

}  // namespace robustrun::cli
