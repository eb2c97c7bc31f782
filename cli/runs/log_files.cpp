#include "cli/runs/log_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace robustrun::cli {
namespace {

using supervisor::GroupFormed;

// What the journal says of folders and groups.
struct Facts {
  bool has_begun = false;  // the first record is there
  std::string log_directory;
  bool is_open = false;
  bool has_own_folders = false;  // compat with an open group: each command has a folder of its own
  std::vector<const GroupFormed*> groups;  // in order; an attempt with the same nodes forms none
  std::uint32_t last_attempt = 0;
};

std::uint32_t attempt_of(const supervisor::Event& event) {
  return std::visit(
      [](const auto& body) -> std::uint32_t {
        if constexpr (requires { body.attempt.value; }) return body.attempt.value;
        return 0;
      },
      event.body);
}

Facts facts_of(const std::vector<supervisor::JournalEntry>& journal) {
  Facts facts;
  for (const supervisor::JournalEntry& entry : journal) {
    if (const auto* group = std::get_if<GroupFormed>(&entry.what)) {
      facts.groups.push_back(group);
      facts.last_attempt = std::max(facts.last_attempt, group->attempt.value);
    } else if (const auto* event = std::get_if<supervisor::Event>(&entry.what)) {
      facts.last_attempt = std::max(facts.last_attempt, attempt_of(*event));
      const auto* run = std::get_if<supervisor::RunStarted>(&event->body);
      if (run == nullptr) continue;
      facts.has_begun = true;
      facts.log_directory = run->spec.log_directory;
      facts.is_open = run->spec.group.open;
      facts.has_own_folders = run->spec.compat && facts.is_open;
    }
  }
  return facts;
}

// A node's folder has its name, or, where it joined by a command of its own, only its number. The
// folder of another machine may not be seen here. A run on this machine alone has none per node.
std::string folder_of(const supervisor::GroupMember& member, const Facts& facts,
                      const std::function<bool(const std::string& path)>& exists) {
  const std::string numbered = fmt::format("{}/node{}", facts.log_directory, member.node.value);
  const std::string named = numbered + "_" + member.name;
  if (exists(named)) return named;
  if (exists(numbered)) return numbered;
  const bool is_remote = std::ranges::any_of(
      facts.groups, [](const GroupFormed* group) { return group->members.size() > 1; });
  if (!is_remote || facts.has_own_folders) return facts.log_directory;
  const bool has_own_command = facts.is_open && member.node.value != 0;  // node 0 leads
  return has_own_command ? numbered : named;
}

}  // namespace

std::string no_log_words(const RankLog& log, bool has_folder) {
  if (has_folder) return "its output goes to the console, not to a log file";
  return fmt::format("no log here so far; on {} it is in {}", log.host, log.folder);
}

base::Result<AttemptLogs> logs_of(const std::vector<supervisor::JournalEntry>& journal,
                                  std::optional<std::uint32_t> attempt,
                                  const std::function<bool(const std::string& path)>& exists) {
  using base::Errc;
  const Facts facts = facts_of(journal);
  if (facts.groups.empty()) return base::fail(Errc::kNotFound, "no worker was started");
  if (!facts.has_begun) {
    return base::fail(Errc::kNotFound,
                      "the record of the journal that names them is lost; see the run's folder");
  }
  if (facts.log_directory.empty()) {
    return base::fail(Errc::kNotFound, "the run keeps no logs (--log-dir=/dev/null)");
  }
  const std::uint32_t last = facts.last_attempt;
  if (attempt.value_or(last) > last) {
    return base::fail(Errc::kNotFound,
                      fmt::format("there is no attempt {}; the last one is {}", *attempt, last));
  }
  AttemptLogs logs{attempt.value_or(last), {}};
  const GroupFormed* group = nullptr;
  for (const GroupFormed* each : facts.groups) {
    if (each->attempt.value <= logs.attempt) group = each;
  }
  if (group == nullptr) group = facts.groups.front();
  for (const supervisor::GroupMember& member : group->members) {
    const std::string base = folder_of(member, facts, exists);
    for (std::uint32_t local = 0; local < member.slots; ++local) {
      logs.ranks.push_back({member.first_rank + local, member.name,
                            fmt::format("{}/attempt_{}/{}", base, logs.attempt, local)});
    }
  }
  std::ranges::sort(logs.ranks, {}, &RankLog::rank);
  return logs;
}

}  // namespace robustrun::cli
