#include "checkpoint/store/local_drain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <tuple>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/disk/directory_lock.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/fence.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

const base::SystemClock kDrainClock;
constexpr std::string_view kHalf = ".drain-g", kHalfEnd = ".tmp";

std::string half_name(const std::string& path, std::uint64_t generation, std::uint64_t token) {
  return fmt::format("{}{}{}-{:016x}{}", path, kHalf, generation, token, kHalfEnd);
}

// Whether this is the name of a partial file of a generation before `generation`.
bool is_half_before(std::string_view name, std::uint64_t generation) {
  const auto begin = name.rfind(kHalf);
  if (begin == std::string_view::npos || !name.ends_with(kHalfEnd)) return false;
  name.remove_prefix(begin + kHalf.size());
  const auto maker = base::parse_int<std::uint64_t>(name.substr(0, name.find('-')));
  return maker && *maker < generation;
}

bool is_gone(const Status& removed) { return removed || removed.error().os_errno == ENOENT; }

std::vector<std::string> both_lists(std::vector<std::string> one,
                                    const std::vector<std::string>& two) {
  one.insert(one.end(), two.begin(), two.end());
  return one;
}

// The newest attempt that can replace all older ones: verified, and on shared storage.
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
      rate_(options_.clock != nullptr ? *options_.clock : kDrainClock),
      token_(base::system_seed()) {
  RR_ASSERT(!options_.directories.empty());
}

Result<bool> LocalDrain::exists(const std::string& path) {
  return threads_.call(threads_.mount_of(path), [path]() -> Result<bool> {
    std::error_code error;
    return std::filesystem::exists(path, error);
  });
}

// A file of another size is not from a drain; it is replaced.
bool LocalDrain::is_whole(const std::string& path, std::uint64_t bytes) {
  const auto size = threads_.call(threads_.mount_of(path), [path]() -> Result<std::uintmax_t> {
    std::error_code error;
    const auto found = std::filesystem::file_size(path, error);
    if (error) return base::fail_errno("cannot look at " + path, error.value());
    return found;
  });
  return size && *size == bytes;
}

Status LocalDrain::check_fence() {
  const Fence fence =
      RR_TRY(threads_.call(0, [home = options_.directories.front()] { return read_fence(home); }));
  if (admits(fence, generation_)) return {};
  return fail(Errc::kConflict, fmt::format("generation {} may not drain: {} was admitted since",
                                           generation_, fence.generation));
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
    RR_TRY(check_fence());
    if (!RR_TRY(exists(folder + std::string(kIntentName)))) return drained;
    RR_TRY(copy_file(reader, part, i, drained));
  }
  drained.complete = RR_TRY(record_drained(attempt, writer));
  return drained;
}

// Checks names only; copying detects damage.
bool LocalDrain::sees_all(const Manifest& part) {
  std::vector<std::string> folders;
  for (const std::string& directory : options_.directories) {
    folders.push_back(directory + "/" + attempt_folder(part.head.attempt));
  }
  auto reader = CheckpointReader::open(part, folders, {options_.io, options_.patience, true});
  return std::ranges::all_of(reader.present_shards(), std::identity{});
}

Result<Drained> LocalDrain::rest(const AttemptId& attempt, Turn turn) {
  RR_ASSERT(turn.number < turn.of);
  const std::string folder = options_.directories.front() + "/" + attempt_folder(attempt) + "/";
  const auto read = [&](Document document, const std::string& name) {
    return threads_.call(
        0, [document, path = folder + name] { return read_document(document, path); });
  };
  Drained all;
  auto intent = read(Document::kIntent, std::string(kIntentName));
  if (!intent && intent.error().os_errno == ENOENT) return all;
  if (!intent) return std::unexpected(std::move(intent).error());
  std::size_t seen = 0;
  for (const std::string& writer : intent->head.writers) {
    const auto part = read(Document::kPart, part_name(writer));
    if (!part && part.error().os_errno == ENOENT) return all;
    if (!part) return std::unexpected(part.error());
    if (!sees_all(*part) || seen++ % turn.of != turn.number) continue;
    Drained one = RR_TRY(drain(attempt, writer));
    all.complete = all.complete || one.complete;
    all.bytes += one.bytes;
    all.notes.insert(all.notes.end(), one.notes.begin(), one.notes.end());
  }
  return all;
}

// Different files start with different directories; if one fails, the next is used.
Status LocalDrain::copy_file(CheckpointReader& reader, const Manifest& part, std::size_t index,
                             Drained& drained) {
  const DataFile& file = part.files[index];
  const std::vector<std::string>& directories = options_.directories;
  const std::string step = "/" + step_folder(part.head.attempt.step);
  const std::string attempt = "/" + attempt_folder(part.head.attempt);
  for (const std::string& directory : directories) {
    if (is_whole(directory + attempt + "/" + file.name, file.bytes)) return {};
  }
  Status last;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const std::string& directory = directories[(crc32c(file.name) + i) % directories.size()];
    last = disk_.make_folder(directory + step);
    if (last) last = disk_.make_folder(directory + attempt);
    if (last) last = disk_.sync_folder(directory + step);
    Status refused;
    if (last) last = copy_to(directory + attempt + "/" + file.name, reader, index, refused);
    RR_TRY(std::move(refused));
    if (last) {
      drained.bytes += file.bytes;
      return {};
    }
    drained.notes.push_back(last.error().what);
  }
  return last;
}

Status LocalDrain::copy_to(const std::string& path, CheckpointReader& reader, std::size_t index,
                           Status& refused) {
  const std::string half = half_name(path, generation_, token_);
  Status done = write_half(half, reader, index, refused);
  if (done && refused) refused = check_fence();
  if (done && refused) done = disk_.rename(half, path);
  if (done && refused) return disk_.sync_folder(folder_of(path));
  (void)disk_.remove(half);  // leave a full disk as it was
  return done;
}

Status LocalDrain::write_half(const std::string& path, CheckpointReader& reader, std::size_t index,
                              Status& refused) {
  const std::uint64_t bytes = reader.manifest().files[index].bytes;
  const auto output = RR_TRY(disk_.create(path, bytes));
  for (std::uint64_t at = 0; at < bytes; at += kExtentBytes) {
    const std::uint64_t size = std::min(kExtentBytes, bytes - at);
    rate_.take(size);
    const auto part = reader.read_file(index, at, size, false);
    if (!part) refused = std::unexpected(part.error());
    if (!part) return {};
    RR_TRY(output->write(at, *part));
  }
  return output->sync();
}

// Under the lock, as for a commit: if two writers finish at once, the second one sees the first
// one's record, and no later generation is admitted meanwhile.
Result<bool> LocalDrain::record_drained(const AttemptId& attempt, const std::string& writer) {
  const std::string& home = options_.directories.front();
  const std::string folder = home + "/" + attempt_folder(attempt) + "/";
  const DirectoryLock lock = RR_TRY(DirectoryLock::take(home, threads_, kLockPatience));
  RR_TRY(check_fence());
  const auto recorded = replace_file(disk_, folder + drained_name(writer), control_line("drained"));
  if (!recorded && recorded.error().os_errno == ENOENT) return false;  // retention has removed it
  if (!recorded) return std::unexpected(recorded.error());
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

// The processes that made them are behind the fence or dead.
Status LocalDrain::remove_halves() {
  RR_TRY(check_fence());
  const auto all = RR_TRY(list_attempts(options_.directories, &threads_, Look::kHeads));
  for (const FoundAttempt& found : all) {
    if (found.attempt.generation >= generation_) continue;
    for (const std::string& folder : found.folders) RR_TRY(remove_halves_in(folder));
  }
  return {};
}

Status LocalDrain::remove_halves_in(const std::string& folder) {
  const auto names =
      RR_TRY(threads_.call(threads_.mount_of(folder), [folder] { return names_in(folder); }));
  for (const std::string& name : names) {
    if (!is_half_before(name, generation_)) continue;
    if (auto removed = disk_.remove(folder + "/" + name); !is_gone(removed)) return removed;
  }
  return {};
}

Result<std::vector<AttemptId>> LocalDrain::clean() {
  std::vector<AttemptId> removed;
  auto all = RR_TRY(list_attempts(options_.directories, &threads_, Look::kHeads));
  // It is unknown what is in a folder that cannot be listed, or in a directory that hangs.
  if (!all.empty() && !all.front().notes.empty()) return removed;
  const FoundAttempt* sure = RR_TRY(newest_sure(all, threads_));
  for (std::size_t i = 0; i < options_.directories.size(); ++i) {
    if (threads_.stuck(i)) return removed;
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

// Several ranks of a machine may run this at once.
Status LocalDrain::remove_local(const FoundAttempt& found) {
  for (const std::string& folder : found.folders) {
    const auto names =
        RR_TRY(threads_.call(threads_.mount_of(folder), [folder] { return names_in(folder); }));
    for (const std::string& name : names) {
      if (auto removed = disk_.remove(folder + "/" + name); !is_gone(removed)) return removed;
    }
    if (auto removed = disk_.remove(folder); !is_gone(removed)) return removed;
    (void)disk_.remove(folder_of(folder));  // only if no other attempt is in it
  }
  return {};
}

}  // namespace robustrun::checkpoint
