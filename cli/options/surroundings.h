#pragma once
// What the command line must know of the world around it: plain facts, read once at the edge
// (surroundings_host.cpp), and questions that depend on the options. Everything else in this room
// is a pure function of these, so tests hand in their own.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/group/node_history.h"

namespace robustrun::cli {

enum class PathKind : std::uint8_t {
  kMissing,
  kFile,
  kUnreadableFile,
  kDirectory,
  kEmptyDirectory,
  kOther,
};

// What an interpreter's torch says about the accelerators of a kind.
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
  [[nodiscard]] virtual base::Result<std::string> find_executable(
      const std::string& name, const std::string& path) const = 0;
  // `name`: gpu, xpu, auto, or a backend's own. Without device files nobody is asked. May take
  // kDeviceQueryMax: the interpreter imports torch.
  [[nodiscard]] virtual base::Result<Devices> devices(const std::string& interpreter,
                                                      const std::string& name) const = 0;
  // What earlier runs noted there; an empty one where the folder is missing.
  [[nodiscard]] virtual base::Result<supervisor::NodeHistory> node_history(
      const std::string& directory) const = 0;
  // A regular file of at most kSecretBytesMax that is ours (or root's) and that nobody else may
  // read or write; the error is a cause without a subject.
  [[nodiscard]] virtual base::Result<std::string> read_secret(const std::string& path) const = 0;
};

// Questions about its place in the network.
class Network {
 public:
  virtual ~Network() = default;
  // kConflict, with its holder, when a server cannot be started on this port.
  [[nodiscard]] virtual base::Status check_port(std::uint16_t port) const = 0;
  // Numeric, of every interface that is up.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> own_addresses() const = 0;
  // Numeric; may take as long as the resolver takes. The error is a cause without a subject.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> look_up(
      const std::string& host) const = 0;
};

// Questions about what joins the machines.
class Fabric {
 public:
  virtual ~Fabric() = default;
  // A description of it: at most topo::kTextBytesMax. The error is a whole sentence.
  [[nodiscard]] virtual base::Result<std::string> read_file(const std::string& path) const = 0;
  // What `scontrol show topology` prints. May take kScontrolMax. The error is a cause.
  [[nodiscard]] virtual base::Result<std::string> ask_slurm(const std::string& scontrol) const = 0;
};

struct Surroundings {
  std::string program_name = "robustrun";  // last part of argv[0]
  std::string executable;                  // absolute
  std::string working_directory;
  std::string host;
  std::vector<std::string> environment;    // NAME=VALUE
  std::uint32_t uid = 0;
  std::uint32_t cpus = 1;                  // that this process may use
  bool stdout_is_terminal = false;
  bool stderr_is_terminal = false;
  bool hangup_ignored = false;             // started by nohup
  base::Nanos wall_time{};
  std::uint64_t seed = 0;                  // for names of directories
  const Machine* machine = nullptr;
  const Network* network = nullptr;
  const Fabric* fabric = nullptr;

  // As getenv(): the first entry of that name.
  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;
  // A path that the user gave, from the working directory on.
  [[nodiscard]] std::string absolute(const std::string& path) const {
    return path.starts_with('/') ? path : working_directory + "/" + path;
  }
};

// Names, beside our own, that this program may be called by through a link (docs/compat.md).
inline constexpr std::string_view kTorchrunName = "torchrun";
inline constexpr std::string_view kLaunchName = "torch.distributed.launch";
[[nodiscard]] constexpr bool is_name_of_torch(std::string_view program_name) {
  return program_name == kTorchrunName || program_name == kLaunchName;
}

// Of this process, which was called as `program_name` (argv[0]), in this machine's network.
// `machine` must outlive it.
[[nodiscard]] Surroundings look_around(const std::string& program_name, const Machine& machine);
[[nodiscard]] const Machine& this_machine();
[[nodiscard]] const Fabric& this_fabric();

}  // namespace robustrun::cli
