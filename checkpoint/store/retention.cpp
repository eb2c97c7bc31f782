#include "checkpoint/store/retention.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <set>

#include "base/core/text.h"
#include "checkpoint/disk/guarded_disk.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/fence.h"
#include "checkpoint/store/reader.h"
#include "checkpoint/store/retention_choice.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

// Access to all directories, with one thread each; every call ends within the patience.
struct Guard {
  MountThreads threads;
  GuardedDisk disk;

  Guard(Disk& unguarded, std::span<const std::string> directories,
        std::chrono::milliseconds patience)
      : threads({directories.begin(), directories.end()}, 1, patience), disk(unguarded, threads) {}

  template <class Work>
  auto call(const std::string& path, Work work) {
    return threads.call(threads.mount_of(path), std::move(work));
  }
  // The first of `directories` that does not answer.
  [[nodiscard]] std::optional<std::size_t> silent(std::size_t directories) {
    for (std::size_t i = 0; i < directories; ++i) {
      if (threads.stuck(i)) return i;
    }
    return std::nullopt;
  }
};

Status rename_manifest(Disk& disk, const std::string& folder) {
  const std::string path = folder + "/" + std::string(kManifestName);
  auto renamed = disk.rename(path, folder + "/" + std::string(kDeletedName));
  if (!renamed && renamed.error().os_errno == ENOENT) return {};
  if (!renamed) return renamed;
  return disk.sync_folder(folder);
}

// Lists the data first and the file that marks the deletion last.
Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const bool last = entry->path().filename() == kDeletedName;
    paths.insert(last ? paths.end() : paths.begin(), entry->path().string());
  }
  return paths;
}

Status empty_folder(Guard& guard, const std::string& folder) {
  const auto paths = RR_TRY(guard.call(folder, [folder] { return files_in(folder); }));
  for (const std::string& path : paths) RR_TRY(guard.disk.remove(path));
  RR_TRY(guard.disk.remove(folder));
  const std::string step = folder_of(folder);
  RR_TRY(guard.disk.sync_folder(step));
  (void)guard.disk.remove(step);  // only if no other attempt is in it
  return {};
}

Status remove_attempt(Guard& guard, const FoundAttempt& found) {
  for (const std::string& folder : found.folders) RR_TRY(rename_manifest(guard.disk, folder));
  for (const std::string& folder : found.folders) RR_TRY(empty_folder(guard, folder));
  return {};
}

// Whether another process has removed it meanwhile.
bool is_gone(Guard& guard, const FoundAttempt& found) {
  return std::ranges::none_of(found.folders, [&](const std::string& folder) {
    const auto exists = guard.call(folder, [folder]() -> Result<bool> {
      std::error_code error;
      return std::filesystem::exists(folder + "/" + std::string(kManifestName), error);
    });
    return !exists || *exists;
  });
}

Status verify_with(const FoundAttempt& found, std::chrono::milliseconds patience) {
  const auto faults =
      CheckpointReader::open(found.manifest, found.folders, {IoWay::kAuto, patience}).verify();
  if (faults.empty()) return {};
  return fail(Errc::kCorrupt,
              faults.front() + (faults.size() == 1 ? std::string()
                                                   : ", and " + std::to_string(faults.size() - 1) +
                                                         " more faults"));
}

Status write_verified(Disk& disk, const FoundAttempt& found) {
  return replace_shared_file(disk, found.folders.front() + "/" + std::string(kVerifiedName),
                             control_line("verified " + found.digest));
}

// No error if there is no such mark.
Status remove_mark(Guard& guard, const std::string& folder, std::string_view name) {
  const Status removed = guard.disk.remove(folder + "/" + std::string(name));
  if (!removed) return removed.error().os_errno == ENOENT ? Status() : removed;
  return guard.disk.sync_folder(folder);
}

// Runs without the lock, because reading everything takes long and commits wait for the lock.
// `sound` receives the verified attempts, even if a full disk cannot store the mark: removal must
// be able to free it.
Status verify_newest(Guard& guard, std::span<const std::string> directories, std::size_t keep,
                     std::chrono::milliseconds patience, std::set<AttemptId>& sound,
                     std::vector<std::string>& notes) {
  for (FoundAttempt& found : RR_TRY(list_attempts(directories, &guard.threads, Look::kHeads))) {
    if (sound.size() == keep) break;
    if (!may_start_from(found.facts())) continue;
    RR_TRY(look_closer(found, guard.threads));
    if (found.state != AttemptState::kCommitted || found.is_local()) continue;
    if (!found.verified) {
      Status sound_now = verify_with(found, patience);
      if (!sound_now && is_gone(guard, found)) continue;
      RR_TRY(std::move(sound_now));
      const Status marked = write_verified(guard.disk, found);
      if (!marked && is_gone(guard, found)) continue;
      if (!marked) notes.push_back(marked.error().what);
    }
    sound.insert(found.attempt);
  }
  return {};
}

Status remove_old(Guard& guard, std::span<const std::string> directories, std::size_t keep,
                  std::optional<std::uint64_t> fence, const std::set<AttemptId>& sound,
                  std::chrono::milliseconds lock_patience, Pruned& pruned) {
  const std::string& home = directories.front();
  const Fence admitted = RR_TRY(guard.call(home, [home] { return read_fence(home); }));
  const std::uint64_t oldest = fence.value_or(admitted.generation);
  const DirectoryLock lock = RR_TRY(DirectoryLock::take(home, guard.threads, lock_patience));
  RetentionChoice choice(keep, oldest);
  for (FoundAttempt& found : RR_TRY(list_attempts(directories, &guard.threads, Look::kHeads))) {
    if (const auto silent = guard.silent(directories.size())) {
      pruned.notes.push_back("no more is removed while " + directories[*silent] +
                             " does not answer; remount it, or leave it out");
      break;
    }
    if (!found.notes.empty()) {  // of a directory: no manifest was read whole yet
      pruned.notes.push_back("no more is removed: " + found.notes.front());
      break;
    }
    if (found.state == AttemptState::kCommitted) RR_TRY(look_closer(found, guard.threads));
    const bool is_whole = found.verified || sound.contains(found.attempt);
    if (!choice.may_go(found.facts(), is_whole)) continue;
    if (auto removed = remove_attempt(guard, found); !removed) {
      pruned.notes.push_back(removed.error().what);
    } else {
      pruned.removed.push_back(found.attempt);
    }
  }
  return {};
}

constexpr std::array kHomeSigns = {kFenceName, kLatestName};  // the better one first

// Index of the best sign present, else kHomeSigns.size().
std::size_t sign_in(const std::string& directory) {
  std::size_t sign = 0;
  std::error_code error;
  while (sign < kHomeSigns.size() &&
         !std::filesystem::exists(directory + "/" + std::string(kHomeSigns[sign]), error)) {
    ++sign;
  }
  return sign;
}

}  // namespace

Status verify_and_mark(Disk& disk, const FoundAttempt& found) {
  RR_TRY(verify_with(found, kPatience));
  return mark_verified(disk, found);
}

Status mark_verified(Disk& disk, const FoundAttempt& found) {
  Guard guard(disk, found.folders, kPatience);
  return write_verified(guard.disk, found);
}

Status unmark_verified(Disk& disk, const FoundAttempt& found) {
  Guard guard(disk, found.folders, kPatience);
  for (const std::string& folder : found.folders) RR_TRY(remove_mark(guard, folder, kVerifiedName));
  return {};
}

// Writes the mark to every folder, because a mount may be lost; one success is enough.
Status mark_poisoned(Disk& disk, const FoundAttempt& found, std::string_view reason) {
  if (reason.size() > kReasonBytesMax || !is_control_word(reason)) {
    return fail(Errc::kInvalidArgument, "cannot mark a checkpoint as poisoned by '" +
                                            base::printable(reason) +
                                            "': the reason must be one word");
  }
  if (found.folders.empty()) {
    return fail(Errc::kNotFound, "cannot mark a checkpoint that has no folder");
  }
  Guard guard(disk, found.folders, kPatience);
  Status first;
  bool any = false;
  for (const std::string& folder : found.folders) {
    Status marked = replace_shared_file(guard.disk, folder + "/" + std::string(kPoisonedName),
                                        control_line("poisoned " + std::string(reason)));
    any = any || marked.has_value();
    if (!marked) first = std::move(marked);
  }
  return any ? Status() : first;
}

// Writes the mark to every folder, so that each mount has it.
Status set_pinned(Disk& disk, const FoundAttempt& found, bool pinned) {
  Guard guard(disk, found.folders, kPatience);
  for (const std::string& folder : found.folders) {
    if (!pinned) {
      RR_TRY(remove_mark(guard, folder, kPinnedName));
    } else {
      RR_TRY(replace_shared_file(guard.disk, folder + "/" + std::string(kPinnedName),
                                 control_line("pinned")));
    }
  }
  return {};
}

Result<Pruned> prune(Disk& disk, std::span<const std::string> directories, std::size_t keep,
                     std::optional<std::uint64_t> fence, std::chrono::milliseconds patience,
                     std::chrono::milliseconds lock_patience) {
  RR_ASSERT(keep > 0 && !directories.empty());
  Guard guard(disk, directories, patience);
  Pruned pruned;
  std::set<AttemptId> sound;
  if (auto verified = verify_newest(guard, directories, keep, patience, sound, pruned.notes);
      !verified) {
    if (verified.error().code != Errc::kCorrupt) return std::unexpected(verified.error());
    pruned.notes.push_back(verified.error().what);
  }
  RR_TRY(remove_old(guard, directories, keep, fence, sound, lock_patience, pruned));
  return pruned;
}

std::vector<std::string> home_first(std::span<const std::string> directories,
                                    std::chrono::milliseconds patience) {
  std::vector<std::string> ordered(directories.begin(), directories.end());
  if (ordered.empty()) return ordered;
  MountThreads threads(ordered, 1, patience);
  std::vector<std::function<Result<std::size_t>()>> looks;
  for (const std::string& directory : ordered) {
    looks.emplace_back([directory] { return Result<std::size_t>(sign_in(directory)); });
  }
  std::vector<std::size_t> signs;
  for (const auto& sign : threads.call_each(std::move(looks))) {
    signs.push_back(sign.value_or(kHomeSigns.size()));
  }
  const auto home = std::ranges::min_element(signs);
  if (*home == kHomeSigns.size()) return ordered;
  const auto place = ordered.begin() + (home - signs.begin());
  std::rotate(ordered.begin(), place, place + 1);
  return ordered;
}

}  // namespace robustrun::checkpoint
