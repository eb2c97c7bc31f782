#include "agent/spawn/profiler_slot.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "agent/evidence/tracer_library.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/log.h"

namespace robustrun::agent {
namespace {

constexpr std::string_view kSuffix = ".so";
constexpr std::string_view kPath = "path ";
constexpr std::string_view kVersions = "versions";
constexpr std::string_view kError = "error ";  // it can be loaded nowhere
constexpr std::string_view kDoubt = "doubt ";  // a worker may still load it
constexpr int kNewestKnown = 7;  // that our plugin has
constexpr int kNewestTried = 9;  // one digit

// The names under which NCCL looks for it (src/plugin/plugin_open.cc of NVIDIA/nccl).
std::vector<std::string> candidates(const std::string& name, const std::string& folder) {
  std::vector<std::string> names = {name};
  if (name.contains('/')) return names;
  const bool is_library = name.starts_with("lib") && name.ends_with(kSuffix);
  if (!is_library) names.push_back("libnccl-profiler-" + name + ".so");
  if (folder.empty()) return names;
  const std::vector<std::string> plain = names;
  for (const std::string& one : plain) {
    const std::string path = fmt::format("{}/{}", folder, one);
    if (::access(path.c_str(), F_OK) == 0) names.push_back(path);
  }
  return names;
}

std::string path_of(void* library, const std::string& name) {
  link_map* map = nullptr;
  const bool is_known =
      ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr;
  return is_known && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : name;
}

#if defined(__aarch64__)
constexpr unsigned kOwnMachine = EM_AARCH64;
#else
constexpr unsigned kOwnMachine = EM_X86_64;
#endif
constexpr std::size_t kElfStartBytes = 20;

// The loader's words, or better ones.
std::string words_about(const std::string& candidate, std::string_view words) {
  const base::Fd fd(::open(candidate.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::array<char, kElfStartBytes> start{};
  const ssize_t size = fd ? ::read(fd.get(), start.data(), start.size()) : -1;
  if (size <= 0) return std::string(words);
  const auto machine = other_machine({start.data(), static_cast<std::size_t>(size)});
  return machine.empty() ? std::string(words)
                         : fmt::format("{}: it is built for {}", candidate, machine);
}

ProfilerShare unusable(ProfilerShare::Slot slot, std::string reason) {
  return {slot, {}, {}, std::move(reason)};
}

// Killed by others, for want of memory perhaps; not by a fault of its own.
bool is_killed(std::string_view end) {
  return end.starts_with("SIGKILL") || end.starts_with("SIGTERM");
}

// False: the helper never ran, or has not ended (AskedProgram::Done).
bool has_ended(const base::Error& error) {
  const std::string_view end = error.what;
  const bool says_how =
      end.starts_with("SIG") || end.starts_with("signal ") || end.starts_with("exit code ");
  return error.code == base::Errc::kUnavailable && error.os_errno == 0 && says_how;
}

ProfilerShare without_answer(const base::Error& error) {
  using Slot = ProfilerShare::Slot;
  const std::string what = base::printable(error.what);
  if (error.code == base::Errc::kTimeout) {
    return unusable(Slot::kLeft, "loading it does not end: " + what);
  }
  if (!has_ended(error)) {
    return unusable(Slot::kLeft, "a process to load it could not be started: " + what);
  }
  const bool has_crashed = error.what.starts_with("SIG") && !is_killed(error.what);
  return unusable(has_crashed ? Slot::kAlone : Slot::kLeft,
                  "a process that loaded it failed: " + what);
}

}  // namespace

bool is_about_the_file(std::string_view words, std::string_view candidate) {
  // Found by its short name it is named with its folder.
  const std::size_t at = words.find(std::string(candidate) + ": ");
  if (at == std::string_view::npos) return false;
  if (at > 0 && (words[at - 1] != '/' || candidate.contains('/'))) return false;
  const std::string_view fault = words.substr(at + candidate.size() + 2);
  constexpr std::string_view kFaults[] = {"cannot open shared object file: No such file",
                                          "cannot open shared object file: Not a directory",
                                          "cannot read file data: Is a directory",
                                          "wrong ELF class",
                                          "invalid ELF header",
                                          "file too short",
                                          "ELF file",
                                          "only ET_DYN",
                                          "object file has no ",
                                          "cannot dynamically load "};
  return std::ranges::any_of(kFaults, [&](std::string_view one) { return fault.starts_with(one); });
}

std::string other_machine(std::string_view bytes) {
  constexpr std::size_t kMachineAt = 18;
  if (!bytes.starts_with(ELFMAG) || bytes.size() < kElfStartBytes) return {};
  const bool is_little = bytes[EI_DATA] == ELFDATA2LSB;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const unsigned low = byte(is_little ? kMachineAt : kMachineAt + 1);
  const unsigned machine = low | unsigned{byte(is_little ? kMachineAt + 1 : kMachineAt)} << 8U;
  const auto name = [](unsigned number) {
    switch (number) {
      case EM_X86_64: return std::string("x86-64");
      case EM_AARCH64: return std::string("aarch64");
      case EM_386: return std::string("i386");
      case EM_ARM: return std::string("arm");
      case EM_PPC64: return std::string("ppc64");
      case EM_RISCV: return std::string("riscv");
      default: return fmt::format("machine {}", number);
    }
  };
  if (is_little && machine == kOwnMachine) return {};
  return name(machine);
}

bool is_settled(const base::Result<std::string>& answer) {
  return answer || (has_ended(answer.error()) && !is_killed(answer.error().what));
}

std::string try_plugin(const std::string& name, const std::string& folder) {
  std::string error = "error it has no name\n";
  if (name.empty()) return error;  // dlopen("") is the program itself
  bool is_certain = true;
  for (const std::string& candidate : candidates(name, folder)) {
    void* const library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const said = ::dlerror();
      const std::string_view words = said == nullptr ? "no words" : said;
      if (!is_certain) continue;
      is_certain = is_about_the_file(words, candidate);
      error = fmt::format("{}{}\n", is_certain ? kError : kDoubt,
                          is_certain ? words_about(candidate, words) : std::string(words));
      continue;
    }
    // Its constructor may have printed the beginning of a line.
    std::string text = fmt::format("\npath {}\nversions", path_of(library, candidate));
    for (int version = 1; version <= kNewestTried; ++version) {
      const std::string symbol = "ncclProfiler_v" + std::to_string(version);
      if (::dlsym(library, symbol.c_str()) != nullptr) text += fmt::format(" {}", version);
    }
    return text + "\n";
  }
  return error;
}

std::string versions_to_show(const std::vector<int>& theirs) {
  if (theirs.empty()) return {};
  const int oldest = *std::ranges::min_element(theirs);
  std::string shown;
  for (int version = 1; version <= kNewestKnown; ++version) {
    if (version >= oldest && std::ranges::find(theirs, version) == theirs.end()) continue;
    shown += (shown.empty() ? "" : " ") + std::to_string(version);
  }
  return shown;
}

ProfilerShare read_plugin(const base::Result<std::string>& answer) {
  using Slot = ProfilerShare::Slot;
  if (!answer) return without_answer(answer.error());
  ProfilerShare share{Slot::kShared, {}, {}, {}};
  ProfilerShare fault = unusable(Slot::kLeft, "a process that loaded it does not tell what it has");
  std::vector<int> versions;
  // The plugin may have printed lines of its own before.
  for (const std::string_view line : base::split(*answer, '\n')) {
    for (const std::string_view word : {kError, kDoubt}) {
      if (!line.starts_with(word) || line.size() == word.size()) continue;
      fault = unusable(word == kError ? Slot::kAlone : Slot::kLeft,
                       base::printable(line.substr(word.size(), kFactBytesMax)));
    }
    if (line.starts_with(kPath)) share.behind = line.substr(kPath.size());
    if (!line.starts_with(kVersions)) continue;
    fault = unusable(Slot::kAlone, "it is no profiler plugin of NCCL");
    for (const std::string_view word : base::split(line.substr(kVersions.size()), ' ')) {
      const auto version = base::parse_int<int>(word);
      if (version && *version >= 1 && *version <= kNewestTried) versions.push_back(*version);
    }
  }
  if (versions.empty()) return fault;
  if (*std::ranges::min_element(versions) > kNewestKnown) {
    return unusable(Slot::kLeft, "it has only versions of NCCL's interface that robustrun lacks");
  }
  if (!share.behind.starts_with('/')) return unusable(Slot::kLeft, "its place is not known");
  share.versions = versions_to_show(versions);
  return share;
}

void ProfilerSlot::find(std::function<void()> go) {
  using Kind = ProfilerChoice::Kind;
  go_ = nullptr;
  asked_.reset();
  const bool has_files = !node_.home.is_container();
  ProfilerChoice choice;
  if (!tracer_library(node_.workers).empty()) choice = choose_profiler(node_.workers, has_files);
  if (choice.kind == Kind::kNone) {
    tried_.clear();
    node_.profiler = {};
    return go();
  }
  if (choice.source == tried_) return go();
  if (!has_files && choice.kind == Kind::kNamed) {
    choice = {Kind::kKept, {}, choice.source, "in an image it is not shared"};
  }
  if (choice.kind != Kind::kNamed) {
    keep_out(choice);
    return go();
  }
  go_ = std::move(go);
  Question question{node_.shim,
                    {node_.executable, "agent", "--try-plugin"},
                    node_.workers.environment,
                    {},
                    kTryPluginMax};
  question.environment.push_back("ROBUSTRUN_TRY_PLUGIN=" + choice.name);
  question.environment.push_back("ROBUSTRUN_TRY_FOLDER=" + interpreters_libraries(node_.workers));
  asked_ = AskedProgram::ask(node_.executor, std::move(question),
                             [this, choice](const base::Result<std::string>& answer) {
                               on_answer(choice, answer);
                               if (const auto next = std::exchange(go_, nullptr)) next();
                             });
}

void ProfilerSlot::keep_out(const ProfilerChoice& choice) {
  tried_ = choice.source;
  node_.profiler = unusable(ProfilerShare::Slot::kLeft, choice.reason);
  if (choice.kind == ProfilerChoice::Kind::kOff) return;
  RR_LOG(kWarn, {}, "{}: {}; robustrun does not trace NCCL", choice.source, choice.reason);
}

void ProfilerSlot::on_answer(const ProfilerChoice& choice,
                             const base::Result<std::string>& answer) {
  using Slot = ProfilerShare::Slot;
  tried_ = is_settled(answer) ? choice.source : std::string();
  node_.profiler = read_plugin(answer);
  if (node_.profiler.slot == Slot::kShared) return;
  RR_LOG(kWarn, {}, "{}: {}; {}", choice.source, node_.profiler.reason,
         node_.profiler.slot == Slot::kAlone ? "robustrun's plugin runs alone"
                                             : "robustrun does not trace NCCL");
}

}  // namespace robustrun::agent
