#include "checkpoint/retention.h"

#include <cerrno>
#include <filesystem>

#include "checkpoint/directory_lock.h"
#include "checkpoint/paths.h"
#include "checkpoint/reader.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

Status rename_manifest(Disk& disk, const std::string& folder) {
  const std::string path = folder + "/" + std::string(kManifestName);
  auto renamed = disk.rename(path, folder + "/" + std::string(kDeletedName));
  if (!renamed && renamed.error().os_errno == ENOENT) return {};
  if (!renamed) return renamed;
  return disk.sync_folder(folder);
}

// Data first, what says that it was deleted last.
Status empty_folder(Disk& disk, const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const bool last = entry->path().filename() == kDeletedName;
    paths.insert(last ? paths.end() : paths.begin(), entry->path().string());
  }
  for (const std::string& path : paths) RR_TRY(disk.remove(path));
  RR_TRY(disk.remove(folder));
  const std::string step = folder_of(folder);
  RR_TRY(disk.sync_folder(step));
  (void)disk.remove(step);  // only if no other attempt is in it
  return {};
}

Status remove_attempt(Disk& disk, const FoundAttempt& found) {
  for (const std::string& folder : found.folders) RR_TRY(rename_manifest(disk, folder));
  for (const std::string& folder : found.folders) RR_TRY(empty_folder(disk, folder));
  return {};
}

}  // namespace

Status verify_and_mark(Disk& disk, const FoundAttempt& found) {
  const auto faults = CheckpointReader::open(found.manifest, found.folders).verify();
  if (!faults.empty()) {
    return fail(
        Errc::kCorrupt,
        faults.front() + (faults.size() == 1
                              ? std::string()
                              : ", and " + std::to_string(faults.size() - 1) + " faults more"));
  }
  return replace_file(disk, found.folders.front() + "/" + std::string(kVerifiedName),
                      control_line("verified " + found.digest));
}

Result<Pruned> prune(Disk& disk, std::span<const std::string> directories, std::size_t keep,
                     std::uint64_t fence) {
  RR_ASSERT(keep > 0 && !directories.empty());
  const DirectoryLock lock = RR_TRY(DirectoryLock::take(directories.front()));
  std::vector<FoundAttempt> all = RR_TRY(list_attempts(directories));
  Pruned pruned;
  if (!all.empty() && all.front().state == AttemptState::kCommitted && !all.front().verified) {
    const Status verified = verify_and_mark(disk, all.front());
    all.front().verified = verified.has_value();
    if (!verified) pruned.notes.push_back(verified.error().what);
  }
  std::size_t kept = 0;
  for (const FoundAttempt& found : all) {
    const bool committed = found.state == AttemptState::kCommitted;
    const bool abandoned =
        found.state == AttemptState::kDeleted ||
        (found.state == AttemptState::kIncomplete && found.attempt.generation < fence);
    if (committed && (kept < keep || found.pinned)) {
      if (found.verified) ++kept;
      continue;
    }
    if (!committed && !abandoned) continue;
    if (auto removed = remove_attempt(disk, found); !removed) {
      pruned.notes.push_back(removed.error().what);
    } else {
      pruned.removed.push_back(found.attempt);
    }
  }
  return pruned;
}

}  // namespace robustrun::checkpoint
