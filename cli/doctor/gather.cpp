#include "cli/doctor/gather.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "agent/gpu/gpu_list.h"
#include "agent/preflight/local_facts.h"
#include "agent/process/cgroup.h"
#include "base/core/text.h"
#include "base/io/child.h"
#include "base/io/fd.h"
#include "base/io/munge.h"
#include "base/io/tool.h"
#include "cli/doctor/versions.h"
#include "cli/options/limits.h"
#include "cli/plan/program.h"

namespace robustrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsualFolders = "/usr/local/bin:/usr/bin:/bin";
constexpr std::size_t kFactFileMax = std::size_t{64} << 10;
constexpr std::string_view kPythonLine = "robustrun-python ";
constexpr std::string_view kTorchLine = "robustrun-torch ";
constexpr std::string_view kNcclLine = "robustrun-nccl ";

// Reads torch's version from its metadata: importing it takes seconds.
constexpr const char* kPythonQuestion = R"(
import sys
print('robustrun-python', '%d.%d.%d' % sys.version_info[:3])
try:
    from importlib.metadata import version
    print('robustrun-torch', version('torch'))
    for name in 'nvidia-nccl-cu13', 'nvidia-nccl-cu12', 'nvidia-nccl-cu11':
        try:
            print('robustrun-nccl', version(name))
            break
        except Exception:
            pass
except Exception:
    pass
)";

class FactGathering {
 public:
  explicit FactGathering(const Surroundings& around)
      : around_(around), path_(around.variable("PATH").value_or(kUsualFolders)) {}

  Facts facts() const {
    Facts facts;
    facts.host = around_.host;
    facts.is_root = around_.uid == 0;
    utsname name{};
    if (::uname(&name) == 0) facts.kernel = name.release;
    facts.has_pidfd = base::has_pidfd();
    facts.cgroup = cgroup(facts.kernel);
    facts.stacks = {number_in("/proc/sys/kernel/yama/ptrace_scope"), has("eu-stack"),
                    has("py-spy")};
    facts.fuse = {exists("/dev/fuse"), ::access("/dev/fuse", R_OK | W_OK) == 0,
                  has("fusermount3") || has("fusermount"),
                  has("squashfuse_ll") || has("squashfuse")};
    facts.namespaces = {number_in("/proc/sys/user/max_user_namespaces"),
                        number_in("/proc/sys/kernel/unprivileged_userns_clone"),
                        number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
                        ask("bwrap", {"--ro-bind", "/", "/", "/bin/true"}, kDoctorToolMax)};
    facts.memory = memory();
    facts.limits = agent::user_limits();
    facts.ssh = ssh();
    facts.slurm = {ask("srun", {"--version"}, kDoctorToolMax),
                   ask("scontrol", {"show", "config"}, kScontrolMax), has("sbatch"),
                   around_.variable("SLURM_JOB_ID").value_or("")};
    facts.munge.has_socket = base::munge_is_here();
    if (facts.munge.has_socket) facts.munge.encoded = ask("munge", {"-n"}, kDoctorToolMax);
    facts.nvidia = base::read_file("/proc/driver/nvidia/version", kFactFileMax).value_or("");
    facts.gpus = gpus();
    facts.nccl_profiler = nccl_profiler();
    facts.python = python();
    take_parts(facts);
    return facts;
  }

 private:
  static bool exists(const std::string& path) {
    std::error_code error;
    return fs::exists(path, error);
  }

  [[nodiscard]] agent::ProfilerChoice nccl_profiler() const {
    wire::WorkerTemplate workers;
    workers.environment = around_.environment;
    // A request sends the asker's variables, empty if they are not set.
    std::erase(workers.environment, "NCCL_PROFILER_PLUGIN=");
    workers.working_directory = around_.working_directory;
    return agent::choose_profiler(workers, true);
  }

  static std::optional<std::int64_t> number_in(const std::string& path) {
    const auto text = base::read_file(path, kFactFileMax);
    if (!text) return std::nullopt;
    const auto number = base::parse_int<std::int64_t>(base::trim(*text));
    return number ? std::optional(*number) : std::nullopt;
  }

  [[nodiscard]] bool has(const std::string& program) const {
    return around_.machine->find_executable(program, path_).has_value();
  }

  [[nodiscard]] Answer ask(const std::string& program, std::vector<std::string> arguments,
                           std::chrono::milliseconds deadline) const {
    const auto found = around_.machine->find_executable(program, path_);
    if (!found) return {};
    arguments.insert(arguments.begin(), *found);
    return ask_file(arguments, deadline);
  }

  static Answer ask_file(const std::vector<std::string>& argv, std::chrono::milliseconds deadline) {
    const auto ended = base::run_tool(argv, deadline);
    if (!ended) {
      const bool is_late = ended.error().code == base::Errc::kTimeout;
      return {is_late ? Answer::State::kHung : Answer::State::kFailed, 0, ended.error().what};
    }
    const std::string_view out = base::trim(ended->out), err = base::trim(ended->err);
    if (ended->status.success()) {
      return {Answer::State::kAnswered, 0, std::string(out.empty() ? err : out)};
    }
    const std::string_view last = base::split(err, '\n').back();
    const int code = ended->status.kind == base::ExitStatus::Kind::kExited ? ended->status.code : 0;
    return {Answer::State::kFailed, code,
            last.empty() ? base::describe(ended->status) : std::string(last)};
  }

  static CgroupFacts cgroup(std::string_view kernel) {
    const auto place = agent::own_cgroup("");
    if (!place) return {};
    // The root of all cgroups has no such file, the cgroups of workers below it have.
    const auto release = release_of(kernel);
    const bool has_kill =
        exists(place->folder + "/cgroup.kill") || (release && *release >= Release{5, 14});
    return {place->folder,
            ::access(place->folder.c_str(), W_OK) == 0 &&
                ::access((place->folder + "/cgroup.procs").c_str(), W_OK) == 0,
            has_kill};
  }

  // The least of our cgroup and those above it.
  static std::uint64_t cgroup_limit() {
    const auto place = agent::own_cgroup("");
    if (!place) return 0;
    std::int64_t least = 0;
    for (fs::path folder = place->folder; folder.string().size() > place->mount.size();
         folder = folder.parent_path()) {
      const auto limit = number_in((folder / "memory.max").string());  // or "max"
      if (limit && *limit > 0 && (least == 0 || *limit < least)) least = *limit;
    }
    return static_cast<std::uint64_t>(least);
  }

  static MemoryFacts memory() {
    constexpr const char* kSharedMemory = "/dev/shm";
    MemoryFacts memory;
    read_meminfo(base::read_file("/proc/meminfo", kFactFileMax).value_or(""), memory);
    memory.cgroup_limit = cgroup_limit();
    memory.shm = agent::space_at(kSharedMemory);
    if (memory.shm.error.empty() && memory.shm.path != kSharedMemory) {
      memory.shm.error = "no such folder";
    }
    return memory;
  }

  [[nodiscard]] SshFacts ssh() const {
    SshFacts ssh;
    ssh.client = ask("ssh", {"-V"}, kDoctorToolMax);
    ssh.socket = around_.variable("SSH_AUTH_SOCK").value_or("");
    if (!ssh.socket.empty()) ssh.agent = ask("ssh-add", {"-l"}, kDoctorToolMax);
    const std::string folder = around_.variable("HOME").value_or("") + "/.ssh";
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename();
      const bool is_key = name.starts_with("id_") && !name.ends_with(".pub");
      if (is_key && ssh.keys.size() < kDoctorKeysMax) ssh.keys.push_back(name);
    }
    std::ranges::sort(ssh.keys);
    return ssh;
  }

  // In a process of its own: a GPU that has fallen off its bus makes the library hang.
  [[nodiscard]] base::Gpus gpus() const {
    const auto ended = base::run_tool({around_.executable, "agent", "--list-gpus"}, kDoctorGpusMax);
    if (!ended) return agent::read_gpus(std::unexpected(ended.error()));
    return agent::read_gpus(ended->out);
  }

  [[nodiscard]] PythonFacts python() const {
    PythonFacts python;
    const auto found = find_interpreter(around_);
    if (!found) {
      python.error = found.error().what;
      return python;
    }
    python.interpreter = *found;
    python.answer = ask_file({*found, "-c", kPythonQuestion}, kDoctorPythonMax);
    read_python_answer(python);
    return python;
  }

  void take_parts(Facts& facts) const {
    struct Part {
      const char* place;  // relative to the folder of the program that runs
      const char* use;
      bool is_needed;
    };
    constexpr auto kParts = std::to_array<Part>({
        {"robustrun-shim", "starts workers", true},
        {"robustrun-blocks", "images and staged files by blocks", false},
        {"../share/robustrun/librobustrun.so", "checkpoints", false},
        {"../share/robustrun/librobustrun_tracer.so", "traces NCCL", false},
        {"../share/robustrun/python/robustrun/__init__.py", "import robustrun", false},
    });
    const fs::path folder = fs::path(around_.executable).parent_path();
    facts.prefix = folder.parent_path().string();
    for (const Part& part : kParts) {
      const fs::path place = folder / part.place;
      const std::string name =
          place.filename() == "__init__.py" ? "the Python package" : place.filename().string();
      facts.parts.push_back({name, part.use, part.is_needed, exists(place.string())});
    }
  }

  const Surroundings& around_;
  const std::string path_;
};

}  // namespace

void read_python_answer(PythonFacts& python) {
  if (python.answer.state != Answer::State::kAnswered) return;
  for (const std::string_view line : base::split(python.answer.text, '\n')) {
    if (line.starts_with(kPythonLine)) python.version = base::trim(line.substr(kPythonLine.size()));
    if (line.starts_with(kTorchLine)) python.torch = base::trim(line.substr(kTorchLine.size()));
    if (line.starts_with(kNcclLine)) python.nccl = base::trim(line.substr(kNcclLine.size()));
  }
}

void read_meminfo(std::string_view text, MemoryFacts& memory) {
  constexpr std::uint64_t kKiB = 1024;
  for (const std::string_view line : base::split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !line.ends_with(" kB")) continue;
    const std::string_view name = line.substr(0, colon);
    const auto number = base::parse_int<std::uint64_t>(
        base::trim(line.substr(colon + 1, line.size() - colon - 1 - 3)));
    if (!number) continue;
    if (name == "MemTotal") memory.total = *number * kKiB;
    if (name == "MemAvailable") memory.available = *number * kKiB;
  }
}

Facts gather_facts(const Surroundings& around) { return FactGathering(around).facts(); }

}  // namespace robustrun::cli
