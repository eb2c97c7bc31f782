#include "agent/spawn/standby_match.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

constexpr std::array<std::string_view, 4> kFilesOfOne = {
    "TORCHELASTIC_ERROR_FILE", "ROBUSTRUN_RECORD", "ROBUSTRUN_SOCKET", "ROBUSTRUN_FLIGHT_SOCKET"};

using Variables = std::map<std::string_view, std::string_view>;

// The first entry of a name counts, as for getenv(). Entries without '=' are compared as they are.
Variables variables_of(const std::vector<std::string>& environment) {
  Variables variables;
  for (const std::string_view entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) {
      variables.try_emplace(entry);
    } else {
      variables.try_emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  return variables;
}

base::Status same_process(const LaunchSpec& standby, const LaunchSpec& wanted) {
  const char* what = nullptr;
  if (standby.argv != wanted.argv) what = "its command line";
  if (standby.working_directory != wanted.working_directory) what = "its working directory";
  if (standby.cpus != wanted.cpus || standby.memory != wanted.memory) what = "its binding";
  if (standby.in_fd != wanted.in_fd) what = "its standard input";
  if (standby.container != wanted.container) what = "its container";
  if (standby.out != wanted.out || standby.err != wanted.err) what = "its output";
  if (what == nullptr) return {};
  return base::fail(base::Errc::kUnavailable, fmt::format("{} is another one", what));
}

base::Status may_differ(std::string_view name, const std::vector<std::string>& read,
                        std::string_view also) {
  if (name != also && std::ranges::find(kAttemptVariables, name) == kAttemptVariables.end()) {
    return base::fail(base::Errc::kUnavailable,
                      fmt::format("the variable {} has changed", base::printable(name)));
  }
  if (std::ranges::find(read, name) == read.end()) return {};
  return base::fail(base::Errc::kUnavailable,
                    fmt::format("a module that it imported has read {}", name));
}

template <class T>
bool read_number(std::string_view text, T& number) {
  const auto parsed = base::parse_int<T>(text);
  if (parsed) number = *parsed;
  return parsed.has_value();
}

// "INODE MODIFIED PATH"
bool read_stamp(std::string_view text, Ready::Stamp& stamp) {
  const std::size_t first = text.find(' ');
  const std::size_t second = first == text.npos ? first : text.find(' ', first + 1);
  if (second == text.npos) return false;
  stamp.path = text.substr(second + 1);
  return read_number(text.substr(0, first), stamp.inode) &&
         read_number(text.substr(first + 1, second - first - 1), stamp.modified_ns);
}

bool read_field(std::string_view name, std::string_view value, Ready& ready) {
  if (name == "unforkable") ready.unforkable = base::printable(value);
  if (name == "memory_kb") return read_number(value, ready.memory_kb);
  if (name == "read") {
    ready.read.emplace_back(value);
  } else if (name == "refusal") {
    ready.refusal = base::printable(value);
  } else if (name == "differs") {
    ready.differs = base::printable(value);
  } else if (name == "stamp") {
    return read_stamp(value, ready.stamps.emplace_back());
  }
  return true;  // a newer one's
}

// `also`: a further variable that may differ.
base::Result<std::vector<std::string>> changes_between(const LaunchSpec& standby,
                                                       const LaunchSpec& wanted,
                                                       const std::vector<std::string>& read,
                                                       std::string_view also) {
  RR_TRY(same_process(standby, wanted));
  std::vector<std::string> changes;
  const Variables before = variables_of(standby.environment);
  const Variables after = variables_of(wanted.environment);
  for (const auto& [name, value] : after) {
    const auto had = before.find(name);
    if (had != before.end() && had->second == value) continue;
    RR_TRY(may_differ(name, read, also));
    changes.push_back(fmt::format("{}={}", name, value));
  }
  for (const auto& [name, value] : before) {
    if (after.contains(name)) continue;
    RR_TRY(may_differ(name, read, also));
    changes.emplace_back(name);
  }
  return changes;
}

bool has_stamp(const std::string& path, const Ready::Stamp& stamp) {
  struct stat now{};
  if (::stat(path.c_str(), &now) != 0) return false;
  const std::int64_t modified =
      std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + std::int64_t{now.st_mtim.tv_nsec};
  return now.st_ino == stamp.inode && modified == stamp.modified_ns;
}

}  // namespace

LaunchSpec standby_launch_spec(LaunchSpec worker) {
  for (std::string& entry : worker.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    if (std::ranges::find(kFilesOfOne, std::string_view(entry).substr(0, equals)) !=
        kFilesOfOne.end()) {
      entry.resize(equals + 1);
    }
  }
  return worker;
}

base::Result<std::vector<std::string>> become(const LaunchSpec& standby, const LaunchSpec& wanted,
                                              const std::vector<std::string>& read) {
  return changes_between(standby, wanted, read, {});
}

base::Result<std::vector<std::string>> fork_changes(const LaunchSpec& made,
                                                    const LaunchSpec& standby,
                                                    const std::vector<std::string>& read) {
  return changes_between(made, standby, read, "LOCAL_RANK");
}

bool may_wait(const LaunchSpec& worker) {
  return worker.out != wire::StreamRoute::kInherit && worker.err != wire::StreamRoute::kInherit;
}

base::Result<Ready> parse_ready(std::string_view message) {
  Ready ready;
  const auto fields = base::split(message, '\0');
  bool good = fields.front() == "ready 1";
  for (std::size_t i = 1; good && i < fields.size(); ++i) {
    const std::size_t equals = fields[i].find('=');
    good = equals != std::string_view::npos &&
           read_field(fields[i].substr(0, equals), fields[i].substr(equals + 1), ready);
  }
  if (good) return ready;
  return base::fail(base::Errc::kCorrupt, "a standby worker's message cannot be parsed");
}

// A container runtime shows some folders of this machine (/home, /tmp) instead of the image's, so
// the file may be in either.
std::string changed_path(const std::vector<Ready::Stamp>& stamps, const WorkerHome& home) {
  for (const Ready::Stamp& stamp : stamps) {
    const bool may_be_in_image = !home.prefix.empty() && !home.root.empty();
    const bool is_same = has_stamp(home.seen(stamp.path), stamp) ||
                         (may_be_in_image && has_stamp(home.root + stamp.path, stamp));
    if (!is_same) return stamp.path;
  }
  return {};
}

bool fits(std::uint64_t memory_kb, std::size_t count, std::uint64_t available_kb) {
  RR_ASSERT(count > 0);
  // What would be available without the existing standby.
  const std::uint64_t before = available_kb + memory_kb;
  return memory_kb > 0 && available_kb > 0 && memory_kb <= before / kStandbyMemoryShare / count;
}

std::uint64_t available_kb(std::string_view meminfo) {
  constexpr std::string_view kName = "MemAvailable:";
  for (const std::string_view line : base::split(meminfo, '\n')) {
    if (!line.starts_with(kName)) continue;
    const std::string_view value = base::trim(line.substr(kName.size()));
    return base::parse_int<std::uint64_t>(value.substr(0, value.find(' '))).value_or(0);
  }
  return 0;
}

}  // namespace robustrun::agent
