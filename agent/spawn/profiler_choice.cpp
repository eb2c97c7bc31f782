#include "agent/spawn/profiler_choice.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "agent/node/worker_file.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

using Kind = ProfilerChoice::Kind;

constexpr std::string_view kVariable = "NCCL_PROFILER_PLUGIN";
constexpr std::string_view kOwn = "librobustrun_tracer.so";
constexpr std::string_view kDefault = "libnccl-profiler.so";

bool begins_in_any_case(std::string_view text, std::string_view begin) {
  return begin.size() <= text.size() && std::ranges::equal(
                                            text.substr(0, begin.size()), begin, {},
                                            [](unsigned char c) { return std::tolower(c); },
                                            [](unsigned char c) { return std::tolower(c); });
}

bool is_none(std::string_view name) { return name.size() == 4 && begins_in_any_case("none", name); }

ProfilerChoice chosen(std::string name, std::string source, const std::string& working_directory) {
  if (is_none(name)) return {Kind::kOff, {}, std::move(source), {}};
  // NCCL compares only as many letters as the name has.
  if (begins_in_any_case("STATIC_PLUGIN", name)) {
    return {Kind::kKept, {}, std::move(source), "it is part of the program"};
  }
  if (name.contains('\n')) return {Kind::kKept, {}, std::move(source), "its name has a line break"};
  if (name.contains('/') && !name.starts_with('/')) name.insert(0, working_directory + "/");
  return {Kind::kNamed, std::move(name), std::move(source), {}};
}

// The first file that sets the variable counts.
std::vector<std::string> configurations(const Environment& env, const ProfilerPlaces& places) {
  const std::string named = env.get("NCCL_CONF_FILE").value_or("");
  if (!named.empty()) return {named, places.configuration};
  const std::string home = env.get("HOME").value_or("");
  if (home.empty()) return {places.configuration};
  return {home + "/.nccl.conf", places.configuration};
}

bool is_in_a_folder(const wire::WorkerTemplate& workers, const Environment& env,
                    const ProfilerPlaces& places) {
  const auto has = [](std::string folder) {
    return ::access(folder.append("/").append(kDefault).c_str(), F_OK) == 0;
  };
  const std::string beside = interpreters_libraries(workers);
  if (!beside.empty() && has(beside)) return true;
  const std::string listed = env.get("LD_LIBRARY_PATH").value_or("");
  if (!listed.empty()) {
    for (const std::string_view folder : base::split(listed, ':')) {
      if (has(folder.empty() ? "." : std::string(folder))) return true;
    }
  }
  return std::ranges::any_of(places.folders, has);
}

bool is_in_the_cache(const ProfilerPlaces& places) {
  const auto cache = read_worker_file(places.loader_cache, kLoaderCacheBytesMax);
  const std::string word = std::string(1, '\0').append(kDefault).append(1, '\0');
  return cache && cache->contains(word);
}

}  // namespace

std::string interpreters_libraries(const wire::WorkerTemplate& workers) {
  if (workers.interpreter.empty()) return {};
  std::error_code error;
  const auto real = std::filesystem::canonical(workers.interpreter, error);
  return error ? std::string() : (real.parent_path().parent_path() / "lib").string();
}

bool leaves_the_slot(std::string_view value) { return value.empty() || value.ends_with(kOwn); }

std::string_view configured(std::string_view text, std::string_view variable) {
  for (std::string_view line : base::split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) continue;
    if (line.substr(0, equals) == variable) return line.substr(equals + 1);
  }
  return {};
}

ProfilerChoice choose_profiler(const wire::WorkerTemplate& workers, bool has_files,
                               const ProfilerPlaces& places) {
  const Environment env(workers.environment);
  const auto set = env.get(kVariable);
  const std::string value = set.value_or("");
  // In a worker of another robustrun it is that one's plugin; what this one calls counts.
  const std::string behind = env.get("ROBUSTRUN_NCCL_BEHIND").value_or("");
  const std::string& named = value.ends_with(kOwn) ? behind : value;
  if (!leaves_the_slot(named)) {
    return chosen(named, fmt::format("{}={}", kVariable, base::printable(named)),
                  workers.working_directory);
  }
  if (!has_files) return {};
  // Set though empty, the variable hides the files from NCCL.
  const bool reads_files = !set || !value.empty();
  const auto paths = reads_files ? configurations(env, places) : std::vector<std::string>();
  for (const std::string& path : paths) {
    const auto text = read_worker_file(path, kNcclConfigurationBytesMax);
    std::string name(text ? configured(*text, kVariable) : std::string_view());
    if (name.empty()) continue;
    if (leaves_the_slot(name)) return {};
    std::string source =
        fmt::format("{}={} in {}", kVariable, base::printable(name), base::printable(path));
    return chosen(std::move(name), std::move(source), workers.working_directory);
  }
  if (!is_in_a_folder(workers, env, places) && !is_in_the_cache(places)) return {};
  return {Kind::kNamed,
          std::string(kDefault),
          fmt::format("{}, which NCCL loads by itself", kDefault),
          {}};
}

}  // namespace robustrun::agent
