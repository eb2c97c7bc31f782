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
constexpr std::string_view kError = "error ";
constexpr int kNewestKnown = 7;  // that our plugin has
constexpr int kNewestTried = 9;  // one digit

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, [](unsigned char c) { return std::tolower(c); },
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
  const bool is_known = ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
  return is_known && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : name;
}

ProfilerShare unusable(ProfilerShare::Slot slot, std::string reason) {
  return {slot, {}, {}, std::move(reason)};
}

}  // namespace

std::string plugin_named(const wire::WorkerTemplate& workers) {
  const std::string name = Environment(workers.environment).get(kVariable).value_or("");
  if (name.empty() || equal_in_any_case(name, "none") || name.ends_with(kOwn)) return {};
  if (equal_in_any_case(name, "STATIC_PLUGIN") || name.contains('\n')) return {};
  if (name.starts_with('/') || !name.contains('/')) return name;
  return workers.working_directory + "/" + name;
}

std::string try_plugin(const std::string& name) {
  std::string error = "error it has no name\n";
  if (name.empty()) return error;  // dlopen("") is the program itself
  for (const std::string& candidate : candidates(name)) {
    void* const library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const words = ::dlerror();
      error = fmt::format("error {}\n", words == nullptr ? "no words" : words);
      continue;
    }
    std::string text = fmt::format("path {}\nversions", path_of(library, candidate));
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
  if (!answer) {
    const bool is_late = answer.error().code == base::Errc::kTimeout;
    return unusable(Slot::kAlone,
                    (is_late ? "loading it does not end: " : "a process that loaded it failed: ") +
                        base::printable(answer.error().what));
  }
  ProfilerShare share{Slot::kShared, {}, {}, {}};
  std::string error = "it is no profiler plugin of NCCL";
  std::vector<int> versions;
  // The plugin may have printed lines of its own before.
  for (const std::string_view line : base::split(*answer, '\n')) {
    if (line.starts_with(kError)) error = line.substr(kError.size(), kFactBytesMax);
    if (line.starts_with(kPath)) share.behind = line.substr(kPath.size());
    if (!line.starts_with(kVersions)) continue;
    for (const std::string_view word : base::split(line.substr(kVersions.size()), ' ')) {
      const auto version = base::parse_int<int>(word);
      if (version && *version >= 1 && *version <= kNewestTried) versions.push_back(*version);
    }
  }
  if (versions.empty()) return unusable(Slot::kAlone, base::printable(error));
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
  tried_ = name;
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
