#include "agent/spawn/profiler_slot.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "agent/evidence/tracer_library.h"
#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/log.h"

namespace robustrun::agent {
namespace {

constexpr const char* kVariable = "NCCL_PROFILER_PLUGIN";
constexpr std::string_view kOwn = "librobustrun_tracer.so";
constexpr std::string_view kSuffix = ".so";
constexpr std::string_view kPath = "path ";
constexpr std::string_view kVersions = "versions";
constexpr std::string_view kError = "error ";  // it can be loaded nowhere
constexpr std::string_view kDoubt = "doubt ";  // a worker may still load it
constexpr int kNewestKnown = 7;  // that our plugin has
constexpr int kNewestTried = 9;  // one digit

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](unsigned char c) { return std::tolower(c); },
      [](unsigned char c) { return std::tolower(c); });
}

// The names under which NCCL looks for it (src/plugin/plugin_open.cc of NVIDIA/nccl).
std::vector<std::string> candidates(const std::string& name) {
  std::vector<std::string> names = {name};
  const bool is_library = name.starts_with("lib") && name.ends_with(kSuffix);
  if (!name.contains('/') && !is_library) names.push_back("libnccl-profiler-" + name + ".so");
  return names;
}

std::string path_of(void* library, const std::string& name) {
  link_map* map = nullptr;
  const bool is_known =
      ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr;
  return is_known && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : name;
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

std::string plugin_named(const wire::WorkerTemplate& workers) {
  const std::string name = Environment(workers.environment).get(kVariable).value_or("");
  if (name.empty() || equal_in_any_case(name, "none") || name.ends_with(kOwn)) return {};
  if (equal_in_any_case(name, "STATIC_PLUGIN") || name.contains('\n')) return {};
  if (name.starts_with('/') || !name.contains('/')) return name;
  return workers.working_directory + "/" + name;
}

bool is_about_the_file(std::string_view words, std::string_view candidate) {
  // Found by its short name it is named with its folder.
  const std::size_t at = words.find(std::string(candidate) + ": ");
  if (at == std::string_view::npos) return false;
  if (at > 0 && (words[at - 1] != '/' || candidate.contains('/'))) return false;
  const std::string_view fault = words.substr(at + candidate.size() + 2);
  constexpr std::string_view kFaults[] = {"cannot open shared object file: No such file",
                                          "wrong ELF class", "invalid ELF header", "file too short",
                                          "ELF file"};
  return std::ranges::any_of(kFaults, [&](std::string_view one) { return fault.starts_with(one); });
}

bool is_settled(const base::Result<std::string>& answer) {
  return answer || (has_ended(answer.error()) && !is_killed(answer.error().what));
}

std::string try_plugin(const std::string& name) {
  std::string error = "error it has no name\n";
  if (name.empty()) return error;  // dlopen("") is the program itself
  bool is_certain = true;
  for (const std::string& candidate : candidates(name)) {
    void* const library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const said = ::dlerror();
      const std::string_view words = said == nullptr ? "no words" : said;
      if (!is_certain) continue;
      is_certain = is_about_the_file(words, candidate);
      error = fmt::format("{}{}\n", is_certain ? kError : kDoubt, words);
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
  go_ = nullptr;
  asked_.reset();
  const std::string name = plugin_named(node_.workers);
  if (name.empty() || tracer_library(node_.workers).empty()) {
    tried_.clear();
    node_.profiler = {};
    return go();
  }
  if (name == tried_) return go();
  if (!node_.home.prefix.empty()) {
    on_answer(name, base::fail(base::Errc::kUnavailable, ""));
    return go();
  }
  go_ = std::move(go);
  Question question{node_.shim,
                    {node_.executable, "agent", "--try-plugin"},
                    node_.workers.environment,
                    {},
                    kTryPluginMax};
  question.environment.push_back("ROBUSTRUN_TRY_PLUGIN=" + name);
  asked_ = AskedProgram::ask(node_.executor, std::move(question),
                             [this, name](const base::Result<std::string>& answer) {
                               on_answer(name, answer);
                               if (const auto next = std::exchange(go_, nullptr)) next();
                             });
}

void ProfilerSlot::on_answer(const std::string& name, const base::Result<std::string>& answer) {
  using Slot = ProfilerShare::Slot;
  const bool is_final = !node_.home.prefix.empty() || is_settled(answer);
  tried_ = is_final ? name : std::string();
  // The helper sees this node's files, not those of an image.
  node_.profiler = node_.home.prefix.empty()
                       ? read_plugin(answer)
                       : unusable(Slot::kLeft, "in an image it is not shared");
  if (node_.profiler.slot == Slot::kShared) return;
  RR_LOG(kWarn, {}, "NCCL_PROFILER_PLUGIN={}: {}; {}", base::printable(name), node_.profiler.reason,
         node_.profiler.slot == Slot::kAlone ? "robustrun's plugin runs alone"
                                             : "robustrun does not trace NCCL");
}

}  // namespace robustrun::agent
