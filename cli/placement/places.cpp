#include "cli/placement/places.h"

#include <fmt/format.h>

#include <cctype>
#include <ctime>
#include <string_view>

#include "base/io/private_dir.h"
#include "cli/options/limits.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::string_view kNoFiles = "/dev/null";

std::string private_root(const Surroundings& around) {
  return base::usable_private_name(
      fmt::format("{}/robustrun-{}", temporary_folder(around), around.uid));
}

// Like Python's mkdtemp.
std::string random_name(base::Rng& rng) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string name;
  for (int i = 0; i < 8; ++i) name += kLetters[rng.below(kLetters.size())];
  return name;
}

// Makes a folder name from an id with any characters.
std::string folder_name(const std::string& id) {
  std::string name = id.substr(0, kRunNameBytesMax);
  for (char& c : name) {
    if (c == '/' || std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '_';
  }
  if (name.starts_with('.')) name[0] = '_';
  return name;
}

std::string stamped_name(const Surroundings& around, base::Rng& rng) {
  return fmt::format("{}-{:04x}", time_stamp(around.wall_time), rng.below(0x10000));
}

base::Status check_run_dir(const Settings& settings, const std::string& path,
                           const Surroundings& around) {
  const PathKind kind = around.machine->kind(path);
  if (kind == PathKind::kMissing || kind == PathKind::kEmptyDirectory) return {};
  const bool is_directory = kind == PathKind::kDirectory;
  return fail(
      Errc::kConflict,
      fmt::format("cannot use {}: {}; name a new directory", settings.written(OptionId::kRunDir),
                  is_directory ? "it is not empty, and may hold another run's "
                                 "journal"
                               : "it is not a directory"));
}

// A free name below `folder`; the user's id may have been used before.
Result<std::string> free_name(const std::string& folder, const std::string& id,
                              const Surroundings& around, base::Rng& rng) {
  const std::string wanted = folder_name(id);
  for (int i = 0; i < kRunDirectoryTries; ++i) {
    std::string name = wanted;
    if (wanted.empty())
      name = stamped_name(around, rng);
    else if (i > 0)
      name = fmt::format("{}-{}", wanted, stamped_name(around, rng));
    if (around.machine->kind(fmt::format("{}/{}", folder, name)) == PathKind::kMissing) return name;
  }
  return fail(Errc::kConflict, fmt::format("cannot find a free name for the run below {}; name a "
                                           "directory with --run-dir",
                                           folder));
}

base::Status check_log_dir(const Settings& settings, const std::string& path,
                           const Surroundings& around) {
  const PathKind kind = around.machine->kind(path);
  if (kind != PathKind::kFile && kind != PathKind::kUnreadableFile) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("cannot use {}: NotADirectoryError: log_dir: {} is a file; name a "
                          "directory",
                          settings.written(OptionId::kLogDir), settings.text(OptionId::kLogDir)));
}

base::Status plan_logs(const Settings& settings, const Surroundings& around, base::Rng& rng,
                       Places& places) {
  const std::string chosen = settings.text(OptionId::kLogDir);
  if (chosen == kNoFiles) return {};
  const std::string id = folder_name(places.elastic_id);
  if (!chosen.empty()) {
    places.log_base = around.absolute(chosen);
    RR_TRY(check_log_dir(settings, places.log_base, around));
    const std::string node = settings.compat() ? "" : folder_name(around.host) + "_";
    places.log_directory = fmt::format("{}/{}_{}{}", places.log_base, id, node, random_name(rng));
  } else if (settings.compat()) {
    places.log_directory = fmt::format("{}/torchelastic_{}/{}_{}", temporary_folder(around),
                                       random_name(rng), id, random_name(rng));
  } else {
    places.log_directory = places.run_directory + "/logs";
  }
  return {};
}

}  // namespace

std::string time_stamp(base::Nanos wall_time) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(wall_time).count();
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string random_uuid(base::Rng& rng) {
  const std::uint64_t high = (rng.next() & ~0xf000ULL) | 0x4000ULL;
  const std::uint64_t low = (rng.next() >> 2) | (1ULL << 63);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffffULL);
}

std::string runs_folder(const Surroundings& around) {
  return around.working_directory + "/robustrun-runs";
}

std::string private_runs_folder(const Surroundings& around) {
  return private_root(around) + "/runs";
}

std::string temporary_folder(const Surroundings& around) {
  const auto chosen = around.variable("TMPDIR");
  return chosen && !chosen->empty() ? around.absolute(*chosen) : "/tmp";
}

std::string state_folder(const Surroundings& around) {
  // Relative ones do not count (XDG Base Directory Specification 0.8).
  const std::string state = around.variable("XDG_STATE_HOME").value_or("");
  if (state.starts_with('/')) return state + "/robustrun";
  const std::string home = around.variable("HOME").value_or("");
  return home.starts_with('/') ? home + "/.local/state/robustrun" : "";
}

Result<Places> plan_places(const Settings& settings, const Surroundings& around,
                           const std::string& id, bool standalone, base::Rng& rng) {
  Places places;
  if (settings.has(OptionId::kRunDir)) {
    places.run_directory = around.absolute(settings.text(OptionId::kRunDir));
    RR_TRY(check_run_dir(settings, places.run_directory, around));
    places.run_name = id.empty() ? stamped_name(around, rng) : id;
  } else {
    if (settings.compat()) places.private_root = private_root(around);
    const std::string folder =
        settings.compat() ? private_runs_folder(around) : runs_folder(around);
    places.run_name = RR_TRY(free_name(folder, settings.compat() ? "" : id, around, rng));
    places.run_directory = folder + "/" + places.run_name;
  }
  if (settings.compat()) {
    places.elastic_id = standalone ? random_uuid(rng) : settings.text(OptionId::kRdzvId);
  } else {
    places.elastic_id = id.empty() ? places.run_name : id;
  }
  RR_TRY(plan_logs(settings, around, rng, places));
  return places;
}

}  // namespace robustrun::cli
