// The real surroundings: where getenv, isatty, the file system, the resolver and scontrol are used.

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "agent/process/port.h"
#include "agent/spawn/usable_cpus.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/tool.h"
#include "cli/options/limits.h"
#include "cli/options/surroundings.h"
#include "cli/options/values.h"
#include "topo/limits.h"
#include "wire/net/local_addresses.h"
#include "wire/net/look_up.h"

namespace robustrun::cli {
namespace {

namespace fs = std::filesystem;

// Asks the interpreter's torch as torchrun does; older versions have no torch.accelerator.
constexpr const char* kDeviceQuestion = R"(
import sys, torch
name = sys.argv[1]
def count(module):
    return module.device_count() if module.is_available() else -1
if name == 'gpu':
    found = count(torch.cuda)
elif name == 'xpu':
    found = count(torch.xpu) if hasattr(torch, 'xpu') else -1
elif name == 'auto' and hasattr(torch, 'accelerator'):
    found = count(torch.accelerator)
elif name == 'auto':
    found = count(torch.cuda)
elif name == torch._C._get_privateuse1_backend_name():
    found = count(getattr(torch, name)) if hasattr(torch, name) else -1
else:
    found = -2
print('robustrun-devices', found)
)";
constexpr std::string_view kDeviceAnswer = "robustrun-devices ";
constexpr int kNoSuchBackend = -2;

// Without a device file there is no device, and importing torch to learn that would cost seconds.
bool has_device_files() {
  constexpr std::array<std::string_view, 7> kPrefixes = {"nvidia", "nvhost", "kfd",    "dri",
                                                         "dxg",    "accel",  "davinci"};
  std::error_code error;
  for (fs::directory_iterator entry("/dev", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    for (const std::string_view prefix : kPrefixes) {
      if (name.starts_with(prefix)) return true;
    }
  }
  return false;
}

base::Result<Devices> parse_answer(const std::string& interpreter, const base::ToolResult& answer) {
  const auto at = answer.out.rfind(kDeviceAnswer);
  const auto line =
      at == std::string::npos
          ? std::string_view()
          : base::trim(std::string_view(answer.out).substr(at + kDeviceAnswer.size()));
  const auto number = parse_integer(line);
  if (!answer.status.success() || !number) {
    const auto lines = base::split(base::trim(answer.err), '\n');
    return base::fail(
        base::Errc::kUnavailable,
        fmt::format(
            "cannot count devices with {}: {}; give --nproc-per-node a number", interpreter,
            lines.back().empty() ? base::describe(answer.status) : std::string(lines.back())));
  }
  if (*number == kNoSuchBackend) return Devices{Devices::State::kUnknownName, 0};
  if (*number < 0) return Devices{Devices::State::kUnavailable, 0};
  return Devices{Devices::State::kCounted, static_cast<std::uint32_t>(*number)};
}

class ThisMachine final : public Machine {
 public:
  [[nodiscard]] base::Result<std::string> read_file(const std::string& path) const override {
    return base::read_input(path, kConfigBytesMax);
  }

  [[nodiscard]] base::Result<supervisor::NodeHistory> node_history(
      const std::string& directory) const override {
    return supervisor::read_history(directory);
  }

  [[nodiscard]] PathKind kind(const std::string& path) const override {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
      return errno == EACCES ? PathKind::kUnreadableFile : PathKind::kMissing;
    }
    if (S_ISREG(status.st_mode)) {
      return ::access(path.c_str(), R_OK) == 0 ? PathKind::kFile : PathKind::kUnreadableFile;
    }
    if (S_ISSOCK(status.st_mode)) return PathKind::kSocket;
    if (!S_ISDIR(status.st_mode)) return PathKind::kOther;
    std::error_code error;
    const bool empty = fs::is_empty(path, error);
    return empty && !error ? PathKind::kEmptyDirectory : PathKind::kDirectory;
  }

  [[nodiscard]] bool is_others(const std::string& path) const override {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && status.st_uid != 0 && status.st_uid != ::geteuid();
  }

  [[nodiscard]] base::Result<std::string> find_executable(const std::string& name,
                                                          const std::string& path) const override {
    return base::find_executable(name, path);
  }

  [[nodiscard]] base::Result<Devices> devices(const std::string& interpreter,
                                              const std::string& name) const override {
    if (!has_device_files()) {
      const bool known = name == "gpu" || name == "xpu" || name == "auto";
      return Devices{known ? Devices::State::kUnavailable : Devices::State::kUnknownName, 0};
    }
    const auto answer =
        RR_TRY(base::run_tool({interpreter, "-c", kDeviceQuestion, name}, kDeviceQueryMax));
    return parse_answer(interpreter, answer);
  }

  [[nodiscard]] base::Result<base::ToolResult> ask_python(
      const std::vector<std::string>& argv, std::chrono::milliseconds deadline) const override {
    return base::run_tool(argv, deadline);
  }

  [[nodiscard]] base::Result<std::string> read_secret(const std::string& path) const override {
    // O_NONBLOCK: opening a pipe of that name must not block.
    const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status{};
    if (!file || ::fstat(file.get(), &status) != 0) {
      return base::fail_errno("it cannot be read", errno);
    }
    if (!S_ISREG(status.st_mode))
      return base::fail(base::Errc::kInvalidArgument, "not a regular file");
    if (status.st_uid != ::geteuid() && status.st_uid != 0) {
      return base::fail(
          base::Errc::kPermission,
          fmt::format("it belongs to user {}, and you are user {}", status.st_uid, ::geteuid()));
    }
    // Kubernetes gives a secret to a user who is not root as root's file, which the user's group
    // may read: root has decided who is in that group.
    const bool by_group = status.st_uid == 0 && ::geteuid() != 0;
    const mode_t strangers = S_IRWXO | (by_group ? S_IWGRP | S_IXGRP : S_IRWXG);
    if ((status.st_mode & strangers) != 0) {
      return base::fail(base::Errc::kPermission,
                        fmt::format("others may use it (mode {:04o}); chmod 600 {}",
                                    status.st_mode & 07777U, shell_quoted(path)));
    }
    std::string bytes(kSecretBytesMax + 1, '\0');
    const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
    if (size < 0) return base::fail_errno("it cannot be read", errno);
    bytes.resize(static_cast<std::size_t>(size));
    return bytes;
  }
};

class ThisNetwork final : public Network {
 public:
  [[nodiscard]] base::Status check_port(std::uint16_t port) const override {
    return agent::check_port_free(port);
  }

  [[nodiscard]] base::Result<std::vector<std::string>> own_addresses() const override {
    return wire::local_addresses();
  }

  [[nodiscard]] base::Result<std::vector<std::string>> look_up(
      const std::string& host) const override {
    return wire::look_up(host);
  }
};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

const Network& this_network() {
  static const ThisNetwork network;
  return network;
}

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

class ThisFabric final : public Fabric {
 public:
  [[nodiscard]] base::Result<std::string> read_file(const std::string& path) const override {
    return base::read_input(path, topo::kTextBytesMax);
  }

  [[nodiscard]] base::Result<std::string> ask_slurm(const std::string& scontrol) const override {
    auto answer = RR_TRY(base::run_tool({scontrol, "show", "topology"}, kScontrolMax));
    if (!answer.status.success()) {
      const std::string_view error = base::trim(answer.err);
      return base::fail(base::Errc::kUnavailable,
                        fmt::format("scontrol show topology: {}",
                                    error.empty() ? base::describe(answer.status)
                                                  : base::printable(base::split(error, '\n')[0])));
    }
    if (answer.out.size() >= base::kToolOutputBytesMax) {
      return base::fail(base::Errc::kLimit,
                        fmt::format("scontrol show topology prints more than {} bytes; write them "
                                    "to a file and pass that",
                                    base::kToolOutputBytesMax));
    }
    return std::move(answer.out);
  }
};

}  // namespace

std::optional<std::string> Surroundings::variable(std::string_view name) const {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

const Machine& this_machine() {
  static const ThisMachine machine;
  return machine;
}

const Fabric& this_fabric() {
  static const ThisFabric fabric;
  return fabric;
}

Surroundings look_around(const std::string& program_name, const Machine& machine) {
  Surroundings around;
  around.program_name = program_name.substr(program_name.rfind('/') + 1);
  std::error_code error;
  around.executable = fs::read_symlink("/proc/self/exe", error);
  around.working_directory = fs::current_path(error);
  around.host = host_name();
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    around.environment.emplace_back(*entry);
  }
  around.uid = ::geteuid();
  around.cpus = static_cast<std::uint32_t>(std::max<std::size_t>(agent::allowed_cpus().size(), 1));
  around.stdout_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  around.stderr_is_terminal = ::isatty(STDERR_FILENO) == 1;
  around.hangup_ignored = is_ignored(SIGHUP);
  around.wall_time = base::SystemClock().wall_time();
  around.seed = base::system_seed();
  around.machine = &machine;
  around.network = &this_network();
  around.fabric = &this_fabric();
  return around;
}

}  // namespace robustrun::cli
