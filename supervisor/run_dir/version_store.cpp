#include "supervisor/run_dir/version_store.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/limits.h"
#include "supervisor/run_dir/private_file.h"

namespace robustrun::supervisor {
namespace {

using base::Errc;
using base::fail;

constexpr std::string_view kStage = "new.";

std::string folder_of(const std::string& run_directory, std::uint32_t number) {
  return fmt::format("{}/{}", versions_folder(run_directory), number);
}

std::string_view variable_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

void forget_variable(VersionContent& content, std::string_view name) {
  std::erase_if(content.environment,
                [&](const std::string& entry) { return variable_of(entry) == name; });
  std::erase(content.unset, name);
}

bool is_stage_name(std::string_view name) {
  return name.starts_with(kStage) && name.find('/') == std::string_view::npos &&
         name.size() < kShownWordBytes;
}

base::Status check_staged(const StagedUpdate& update) {
  const VersionContent& changes = update.changes;
  std::size_t bytes = 0;
  for (const std::string& entry : changes.environment) {
    bytes += entry.size();
    if (entry.find('=') == std::string::npos) {
      return fail(Errc::kInvalidArgument, "an environment is made of NAME=VALUE");
    }
    RR_TRY(check_variable(variable_of(entry)));
  }
  for (const std::string& name : changes.unset) {
    bytes += name.size();
    RR_TRY(check_variable(name));
  }
  for (const std::string& argument : changes.arguments) bytes += argument.size();
  if (bytes > kVersionBytesMax) {
    return fail(Errc::kLimit, fmt::format("environment and arguments of a version have at most {} "
                                          "KiB",
                                          kVersionBytesMax >> 10));
  }
  const bool has_code = !changes.code_digest.empty();
  const std::string script = std::filesystem::path(changes.script).lexically_normal();
  if (has_code != !script.empty() || script.starts_with('/') || script.starts_with("..")) {
    return fail(Errc::kInvalidArgument, "the script is not within the code");
  }
  return {};
}

}  // namespace

std::string versions_folder(const std::string& run_directory) {
  return run_directory + "/versions";
}

base::Result<std::string> make_stage(const std::string& run_directory) {
  const std::string versions = versions_folder(run_directory);
  RR_TRY(base::make_directories(versions, 0700));
  std::string path = fmt::format("{}/{}XXXXXX", versions, kStage);
  if (::mkdtemp(path.data()) == nullptr) {
    return base::fail_errno("cannot make a folder in " + versions, errno);
  }
  return path.substr(versions.size() + 1);
}

base::Status save_stage(const std::string& run_directory, const std::string& stage,
                        const StagedUpdate& update) {
  return save_private(fmt::format("{}/{}/update", versions_folder(run_directory), stage), update);
}

void drop_stage(const std::string& run_directory, const std::string& stage) {
  std::error_code ignored;
  std::filesystem::remove_all(versions_folder(run_directory) + "/" + stage, ignored);
}

VersionContent merged(VersionContent before, const VersionContent& changes, std::uint32_t number) {
  for (const std::string& name : changes.unset) {
    forget_variable(before, name);
    before.unset.push_back(name);
  }
  for (const std::string& entry : changes.environment) {
    forget_variable(before, variable_of(entry));
    before.environment.push_back(entry);
  }
  if (changes.has_arguments) {
    before.has_arguments = true;
    before.arguments = changes.arguments;
  }
  if (!changes.code_digest.empty()) {
    before.script = changes.script;
    before.code_digest = changes.code_digest;
    before.code_of = number;
  }
  return before;
}

base::Result<StagedUpdate> adopt_stage(const std::string& run_directory, const std::string& stage,
                                       std::uint32_t before, std::uint32_t number) {
  if (!is_stage_name(stage)) return fail(Errc::kInvalidArgument, "this is no update");
  const std::string staged = fmt::format("{}/{}", versions_folder(run_directory), stage);
  auto update = RR_TRY(load_private<StagedUpdate>(staged + "/update"));
  RR_TRY(check_staged(update));
  const VersionContent old = RR_TRY(load_version(run_directory, before));
  const VersionContent content = merged(old, update.changes, number);
  if (content == old) {
    return fail(Errc::kInvalidArgument, fmt::format("nothing changes against version {}", before));
  }
  update.words.resize(std::min(update.words.size(), kVersionChangesMax));
  for (std::string& line : update.words) {
    line = base::printable(line.substr(0, kVersionChangeBytesMax));
  }
  RR_TRY(save_private(staged + "/held", content));
  const std::string folder = folder_of(run_directory, number);
  std::error_code error;
  std::filesystem::remove_all(folder, error);  // left by a supervisor that died before it answered
  std::filesystem::rename(staged, folder, error);
  if (error) return base::fail_errno("cannot make " + folder, error.value());
  return update;
}

base::Result<VersionContent> load_version(const std::string& run_directory, std::uint32_t number) {
  if (number == 0) return VersionContent{};
  return load_private<VersionContent>(folder_of(run_directory, number) + "/held");
}

wire::WorkerVersion to_message(const std::string& run_directory, std::uint32_t number,
                               const VersionContent& content) {
  wire::WorkerVersion message;
  message.number = number;
  message.environment = content.environment;
  message.unset = content.unset;
  message.has_arguments = content.has_arguments;
  message.arguments = content.arguments;
  if (content.code_digest.empty()) return message;
  message.code_directory = folder_of(run_directory, content.code_of) + "/code";
  message.code_digest = content.code_digest;
  message.program = message.code_directory + "/" + content.script;
  return message;
}

base::Status check_variable(std::string_view name) {
  constexpr std::array<std::string_view, 10> kPlaces = {
      "RANK",      "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
      "ROLE_RANK", "ROLE_NAME",  "NODE_RANK",  "ROLE_WORLD_SIZE"};
  constexpr std::array<std::string_view, 3> kBeginnings = {"MASTER_", "ROBUSTRUN_",
                                                           "TORCHELASTIC_"};
  if (name.empty() || name.find('=') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos) {
    return fail(Errc::kInvalidArgument,
                fmt::format("'{}' is no name of a variable", base::printable(name)));
  }
  const bool is_ours = std::ranges::find(kPlaces, name) != kPlaces.end() ||
                       std::ranges::any_of(kBeginnings, [&](std::string_view begin) {
                         return name.starts_with(begin);
                       });
  if (!is_ours) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is set by robustrun for every worker: an update cannot change it",
                          base::printable(name)));
}

}  // namespace robustrun::supervisor
