#include "checkpoint/local_drain.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/io/fd.h"
#include "checkpoint/crc32c.h"
#include "checkpoint/directory_lock.h"
#include "checkpoint/limits.h"
#include "checkpoint/paths.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::Result;
using base::Status;

const base::SystemClock kDrainClock;

std::vector<std::string> both_lists(std::vector<std::string> one,
                                    const std::vector<std::string>& two) {
  one.insert(one.end(), two.begin(), two.end());
  return one;
}

// The one that is surely enough: of those that were read back, on shared storage, the newest.
Result<const FoundAttempt*> newest_sure(std::vector<FoundAttempt>& all, MountThreads& threads) {
  for (FoundAttempt& found : all) {
    if (!may_start_from(found.facts())) continue;
    RR_TRY(look_closer(found, threads));
    if (may_start_from(found.facts()) && found.verified && !found.is_local()) return &found;
  }
  return nullptr;
}

}  // namespace

LocalDrain::LocalDrain(LocalDrainOptions options)
    : options_(std::move(options)),
      threads_(both_lists(options_.directories, options_.local), 1, options_.patience),
      disk_(options_.disk != nullptr ? *options_.disk : posix_disk(options_.io), threads_),
      rate_(options_.clock != nullptr ? *options_.clock : kDrainClock) {
  RR_ASSERT(!options_.directories.empty());
}

Result<bool> LocalDrain::exists(const std::string& path) {
  return threads_.call(threads_.mount_of(path), [path]() -> Result<bool> {
    std::error_code error;
    return std::filesystem::exists(path, error);
  });
}

Result<Drained> LocalDrain::drain(const AttemptId& attempt, const std::string& writer) {
  const std::string folder = options_.directories.front() + "/" + attempt_folder(attempt) + "/";
  Drained drained;
  auto found = threads_.call(
      0, [path = folder + part_name(writer)] { return read_document(Document::kPart, path); });
  if (!found && found.error().os_errno == ENOENT) return drained;
  const Manifest part = RR_TRY(std::move(found));
  auto reader = CheckpointReader::open(part, {}, {options_.io, options_.patience, true});
  for (std::size_t i = 0; i < part.files.size(); ++i) {
    if (part.files[i].node.empty()) continue;
    if (!RR_TRY(exists(folder + std::string(kIntentName)))) return drained;
    RR_TRY(copy_file(reader, part, i, drained));
  }
  drained.complete = RR_TRY(say_drained(attempt, writer));
  return drained;
}

// Writers begin with different directories; one that fails is followed by the next.
Status LocalDrain::copy_file(CheckpointReader& reader, const Manifest& part, std::size_t index,
                             Drained& drained) {
  const DataFile& file = part.files[index];
  const std::vector<std::string>& directories = options_.directories;
  const std::string step = "/" + step_folder(part.head.attempt.step);
  const std::string attempt = "/" + attempt_folder(part.head.attempt);
  Status last;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const std::string& directory = directories[(crc32c(file.name) + i) % directories.size()];
    const std::string path = directory + attempt + "/" + file.name;
    const auto is_there = exists(path);
    if (is_there && *is_there) return {};
    last = is_there ? disk_.make_folder(directory + step) : std::unexpected(is_there.error());
    if (last) last = disk_.make_folder(directory + attempt);
    if (last) last = disk_.sync_folder(directory + step);
    Status source;
    if (last) last = copy_to(path, reader, index, source);
    RR_TRY(std::move(source));
    if (last) {
      drained.bytes += file.bytes;
      return {};
    }
    drained.notes.push_back(last.error().what);
  }
  return last;
}

Status LocalDrain::copy_to(const std::string& path, CheckpointReader& reader, std::size_t index,
                           Status& source) {
  const std::uint64_t bytes = reader.manifest().files[index].bytes;
  const std::string temporary = path + ".tmp";
  if (auto removed = disk_.remove(temporary); !removed && removed.error().os_errno != ENOENT) {
    return removed;
  }
  const auto output = RR_TRY(disk_.create(temporary, bytes));
  for (std::uint64_t at = 0; at < bytes; at += kExtentBytes) {
    const std::uint64_t size = std::min(kExtentBytes, bytes - at);
    rate_.take(size);
    const auto part = reader.read_file(index, at, size, false);
    if (!part) source = std::unexpected(part.error());
    if (!part) return disk_.remove(temporary);
    if (auto written = output->write(at, *part); !written) {
      (void)disk_.remove(temporary);  // a full disk is to be left as it was
      return written;
    }
  }
  RR_TRY(output->sync());
  RR_TRY(disk_.rename(temporary, path));
  return disk_.sync_folder(folder_of(path));
}

// Under the lock, as for a commit: of two writers that are done at once the second sees the other's
// word.
Result<bool> LocalDrain::say_drained(const AttemptId& attempt, const std::string& writer) {
  const std::string& home = options_.directories.front();
  const std::string folder = home + "/" + attempt_folder(attempt) + "/";
  const auto said = replace_file(disk_, folder + drained_name(writer), control_line("drained"));
  if (!said && said.error().os_errno == ENOENT) return false;  // retention has removed it
  if (!said) return std::unexpected(said.error());
  const DirectoryLock lock = RR_TRY(DirectoryLock::take(home, threads_, kLockPatience));
  const Manifest intent = RR_TRY(threads_.call(0, [path = folder + std::string(kIntentName)] {
    return read_document(Document::kIntent, path);
  }));
  for (const std::string& each : intent.head.writers) {
    if (!RR_TRY(exists(folder + drained_name(each)))) return false;
  }
  const auto manifest = threads_.call(0, [path = folder + std::string(kManifestName)] {
    return base::read_file(path, kManifestBytesMax);
  });
  if (!manifest && manifest.error().os_errno == ENOENT) return false;
  if (!manifest) return std::unexpected(manifest.error());
  const std::string line = control_line("drained " + digest_of(*manifest));
  RR_TRY(replace_file(disk_, folder + std::string(kDrainedName), line));
  for (const std::string& directory : options_.directories) {
    const std::string other = directory + "/" + attempt_folder(attempt) + "/";
    if (other != folder) (void)replace_file(disk_, other + std::string(kDrainedName), line);
  }
  return true;
}

Result<std::vector<AttemptId>> LocalDrain::clean() {
  std::vector<AttemptId> removed;
  auto all = RR_TRY(list_attempts(options_.directories, &threads_, Look::kHeads));
  const FoundAttempt* sure = RR_TRY(newest_sure(all, threads_));
  for (std::size_t i = 0; i < options_.directories.size(); ++i) {
    if (threads_.stuck(i)) return removed;  // what it has is not known
  }
  const auto here = list_attempts(options_.local, nullptr, Look::kHeads);
  if (!here || sure == nullptr) return removed;
  for (const FoundAttempt& mine : *here) {
    const auto found = std::ranges::find(all, mine.attempt, &FoundAttempt::attempt);
    if (found == all.end() || found->state == AttemptState::kDeleted) {
      const auto age = [](const AttemptId& id) { return std::tuple(id.generation, id.step); };
      if (age(mine.attempt) >= age(sure->attempt)) continue;
    } else {
      if (found->state != AttemptState::kCommitted || found->pinned) continue;
      if (!is_newer(sure->facts(), found->facts())) continue;
      RR_TRY(look_closer(*found, threads_));
      if (found->state != AttemptState::kCommitted || found->is_local()) continue;
    }
    RR_TRY(remove_local(mine));
    removed.push_back(mine.attempt);
  }
  return removed;
}

// Several ranks of a machine may be at it.
Status LocalDrain::remove_local(const FoundAttempt& found) {
  const auto gone = [](const Status& removed) {
    return removed || removed.error().os_errno == ENOENT;
  };
  for (const std::string& folder : found.folders) {
    const auto names =
        RR_TRY(threads_.call(threads_.mount_of(folder), [folder] { return names_in(folder); }));
    for (const std::string& name : names) {
      if (auto removed = disk_.remove(folder + "/" + name); !gone(removed)) return removed;
    }
    if (auto removed = disk_.remove(folder); !gone(removed)) return removed;
    (void)disk_.remove(folder_of(folder));  // only if no other attempt is in it
  }
  return {};
}

}  // namespace robustrun::checkpoint
