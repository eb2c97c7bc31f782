#include "cli/plan/program.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"
#include "cli/plan/startup.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using wire::LaunchMode;

constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

Result<LaunchMode> launch_mode(const Settings& settings) {
  if (settings.flag(OptionId::kRunPath)) return LaunchMode::kRunPath;
  const bool module = settings.flag(OptionId::kModule);
  const bool no_python = settings.flag(OptionId::kNoPython);
  if (module && no_python) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot start {}: Don't use both the '--no-python' flag and the "
                            "'--module' flag at the same time.",
                            *settings.script));
  }
  if (module) return LaunchMode::kModule;
  return no_python ? LaunchMode::kExecutable : LaunchMode::kScript;
}

base::Status check_script(const std::string& script, const Surroundings& around) {
  // With ${local_rank} in its name the script is a different file for each worker.
  if (script.find('$') != std::string::npos) return {};
  const std::string path = around.absolute(script);
  switch (around.machine->kind(path)) {
    case PathKind::kFile: return {};
    case PathKind::kMissing: {
      const std::string near = base::nearest(script, command_names());
      std::string hint = "check the path; for a module use -m";
      if (script.starts_with('-')) hint = "options stand before the script";
      if (!near.empty() && !is_name_of_torch(around.program_name)) {
        hint = fmt::format("did you mean robustrun {}?", near);
      }
      return fail(Errc::kNotFound,
                  fmt::format("cannot start {}: No such file or directory in {}; {}", script,
                              around.working_directory, hint));
    }
    case PathKind::kDirectory:
    case PathKind::kEmptyDirectory:
      if (around.machine->kind(path + "/__main__.py") == PathKind::kFile) return {};
      return fail(Errc::kInvalidArgument,
                  fmt::format("cannot start {}: it is a directory without __main__.py; name the "
                              "script in it",
                              script));
    case PathKind::kUnreadableFile:
      return fail(
          Errc::kPermission,
          fmt::format("cannot start {}: permission denied; make it readable (chmod u+r)", script));
    case PathKind::kSocket:
      return fail(Errc::kInvalidArgument,
                  fmt::format("cannot start {}: it is a socket, which Python cannot read", script));
    case PathKind::kOther: return {};  // a pipe, as in <(…)
  }
  return {};
}

Result<std::string> search_path(const std::string& name, const Surroundings& around) {
  return around.machine->find_executable(name, around.variable("PATH").value_or(kDefaultPath));
}

// Is the environment that robustrun is installed in a tool's own (pipx, uv tool install, uvx)? It
// has nothing but robustrun, so it is never the one that the user trains with.
bool is_tools_own(const std::string& environment, const Surroundings& around) {
  for (const char* const note : {"/pipx_metadata.json", "/uv-receipt.toml"}) {
    if (around.machine->kind(environment + note) == PathKind::kFile) return true;
  }
  const bool is_environment = around.machine->kind(environment + "/pyvenv.cfg") == PathKind::kFile;
  const std::string parent = environment.substr(0, environment.rfind('/'));
  return is_environment && parent.substr(parent.rfind('/') + 1).starts_with("archive-v");  // uvx
}

// PATH without a tool's own environment: uvx puts it first.
std::string callers_path(const Surroundings& around) {
  const std::string path = around.variable("PATH").value_or(kDefaultPath);
  const std::string bin = around.executable.substr(0, around.executable.rfind('/'));
  if (bin.empty() || !is_tools_own(bin.substr(0, bin.rfind('/')), around)) return path;
  std::string kept;
  for (const std::string_view folder : base::split(path, ':')) {
    if (folder != bin) kept.append(kept.empty() ? "" : ":").append(folder);
  }
  return kept.empty() ? kDefaultPath : kept;
}

base::Status check_executable(const std::string& program, const Surroundings& around) {
  if (program.find('$') != std::string::npos) return {};
  if (program.find('/') == std::string::npos) {
    if (search_path(program, around)) return {};
    return fail(Errc::kNotFound, fmt::format("cannot start {}: no such program on PATH; write "
                                             "./{} for one in this directory",
                                             program, program));
  }
  const std::string path = around.absolute(program);
  const auto slash = path.rfind('/');
  if (around.machine->find_executable(path.substr(slash + 1), path.substr(0, slash))) return {};
  const bool exists = around.machine->kind(path) != PathKind::kMissing;
  return fail(exists ? Errc::kPermission : Errc::kNotFound,
              fmt::format("cannot start {}: {}", program,
                          exists ? "not executable; make it so (chmod +x), or leave out "
                                   "--no-python for a Python script"
                                 : "No such file or directory; check the path"));
}

std::string unsupported_count(const std::string& written, const std::string& value) {
  const std::vector<std::string> words{"auto", "cpu", "gpu", "xpu"};
  return fmt::format(
      "cannot use {}: Unsupported nproc_per_node value: {}{}; valid are a number of "
      "workers, auto, cpu, gpu, xpu, or the name of your PyTorch backend",
      written, value, did_you_mean(value, words));
}

Result<std::uint32_t> count_devices(const std::string& written, const std::string& name,
                                    const Surroundings& around, const std::string& interpreter) {
  if (interpreter.empty()) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("cannot use {}: there is no Python interpreter to ask for devices; give "
                    "a number",
                    written));
  }
  const Devices found = RR_TRY(around.machine->devices(interpreter, name));
  if (found.state == Devices::State::kUnknownName) {
    return fail(Errc::kInvalidArgument, unsupported_count(written, name));
  }
  if (found.state == Devices::State::kCounted) return found.count;
  if (name == "auto") return around.cpus;
  const std::string shown = name == "gpu" ? "Cuda" : name == "xpu" ? "Xpu" : name;
  return fail(
      Errc::kUnavailable,
      fmt::format("cannot use {}: {} is not available.{} Use auto, cpu or a number", written, shown,
                  name == "gpu" ? " No usable GPU, or PyTorch without CUDA." : ""));
}

}  // namespace

Result<std::string> find_interpreter(const Surroundings& around) {
  if (const auto chosen = around.variable("PYTHON_EXEC"); chosen && !chosen->empty()) {
    if (chosen->find('/') != std::string::npos) {
      std::string path = around.absolute(*chosen);
      const auto slash = path.rfind('/');
      if (around.machine->find_executable(path.substr(slash + 1), path.substr(0, slash))) {
        return path;
      }
    } else if (auto found = search_path(*chosen, around)) {
      return found;
    }
    return fail(Errc::kNotFound, fmt::format("cannot find the interpreter PYTHON_EXEC={}: no such "
                                             "executable; correct or unset the variable",
                                             *chosen));
  }
  if (const auto venv = around.variable("VIRTUAL_ENV"); venv && !venv->empty()) {
    const std::string folder = around.absolute(*venv) + "/bin";
    if (auto found = around.machine->find_executable("python", folder)) return found;
  }
  const std::string folders = callers_path(around);
  for (const char* name : {"python3", "python"}) {
    if (auto found = around.machine->find_executable(name, folders)) return found;
  }
  return fail(Errc::kNotFound,
              "cannot find a Python interpreter: neither python3 nor python is on PATH; activate "
              "your environment, or name one in PYTHON_EXEC");
}

Result<std::uint32_t> count_workers(const std::string& value, const std::string& written,
                                    const Surroundings& around, const std::string& interpreter) {
  std::uint32_t workers = 0;
  if (const auto number = parse_integer(value)) {
    if (*number < 1 || *number > kWorkersPerNodeMax) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("cannot use {}: there must be between 1 and {} workers per node",
                              written, kWorkersPerNodeMax));
    }
    workers = static_cast<std::uint32_t>(*number);
  } else if (value == "cpu" || (value == "auto" && interpreter.empty())) {
    workers = around.cpus;
  } else {
    workers = RR_TRY(count_devices(written, value, around, interpreter));
  }
  if (workers == 0 || workers > kWorkersPerNodeMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use {}: that makes {} workers", written, workers));
  }
  return workers;
}

Result<Program> find_program(const Settings& settings, const Surroundings& around, CountOn where) {
  RR_ASSERT(settings.script.has_value());
  Program program;
  program.script = *settings.script;
  program.mode = RR_TRY(launch_mode(settings));
  // Files of the image are found on each node, once it is mounted there.
  const bool has_image = settings.has(OptionId::kImage);
  if (program.mode == LaunchMode::kExecutable) {
    if (!program.script.empty() && !has_image) RR_TRY(check_executable(program.script, around));
  } else if (!has_image) {
    program.interpreter = RR_TRY(find_interpreter(around));
    program.notes.push_back(fmt::format("interpreter: {}", program.interpreter));
  }
  const bool is_file = program.mode == LaunchMode::kScript || program.mode == LaunchMode::kRunPath;
  if (is_file && !program.script.empty() && !may_be_container(settings)) {
    RR_TRY(check_script(program.script, around));
  }
  // PyTorch counts devices even if the workers are not Python programs, as in torchrun.
  std::string asked = program.interpreter;
  if (asked.empty()) asked = find_interpreter(around).value_or("");
  std::string count(base::trim(settings.text(OptionId::kNprocPerNode)));
  if (where == CountOn::kEveryHost && !parse_integer(count)) {
    program.workers = 0;
    program.count = std::move(count);
    program.count_interpreter = std::move(asked);
    return program;
  }
  program.workers =
      RR_TRY(count_workers(count, settings.written(OptionId::kNprocPerNode), around, asked));
  return program;
}

}  // namespace robustrun::cli
