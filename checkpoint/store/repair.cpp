#include "checkpoint/store/repair.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/io/fd.h"
#include "checkpoint/disk/guarded_disk.h"
#include "checkpoint/disk/mount_space.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/reader.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::Result;
using base::Status;

// The folders in which the checkpoint's files may be, or may be put.
std::vector<std::string> folders_for(const FoundAttempt& found,
                                     std::span<const std::string> directories) {
  std::vector<std::string> folders = found.folders;
  for (const std::string& directory : directories) {
    std::string folder = directory + "/" + attempt_folder(found.attempt);
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  }
  return folders;
}

class Repairer {
 public:
  Repairer(Disk& disk, const FoundAttempt& found, std::span<const std::string> directories,
           std::chrono::milliseconds patience)
      : threads_({directories.begin(), directories.end()}, 1, patience),
        disk_(disk, threads_),
        found_(found),
        directories_(directories),
        folders_(found.folders),
        reader_(CheckpointReader::open(found.manifest, folders_for(found, directories),
                                       {IoWay::kAuto, patience})) {}

  Result<Repaired> run() {
    look_for_silence();
    const auto& files = found_.manifest.files;
    // Parity is computed from data, so data comes first.
    for (const bool parity : {false, true}) {
      for (std::size_t i = 0; i < files.size(); ++i) {
        if ((files[i].header_bytes == 0) == parity) RR_TRY(repair_file(i));
      }
    }
    RR_TRY(repair_manifests());
    return std::move(repaired_);
  }

 private:
  // ETIMEDOUT: its mount does not answer.
  Result<bool> exists(const std::string& path) {
    return threads_.call(threads_.mount_of(path), [path]() -> Result<bool> {
      std::error_code error;
      return std::filesystem::exists(path, error);
    });
  }

  // Finds the first directory that does not answer. Once a mount is stuck, its threads report that
  // at once.
  void look_for_silence() {
    for (const std::string& directory : directories_) {
      if (!exists(directory) && silent_.empty()) silent_ = directory;
    }
  }

  // Reads all of a file and returns the first fault.
  Status look_at(std::size_t index) {
    const std::uint64_t bytes = found_.manifest.files[index].bytes;
    for (std::uint64_t at = 0; at < bytes; at += kExtentBytes) {
      RR_TRY(reader_.read_file(index, at, std::min(kExtentBytes, bytes - at), false));
    }
    return {};
  }

  // Path of the file; empty if it is in no folder that answers.
  std::string present(const DataFile& file) {
    for (const std::string& folder : folders_) {
      std::string path = folder + "/" + file.name;
      const auto there = exists(path);
      if (there && *there) return path;
    }
    return {};
  }

  // As manifests have it; the caller's may be relative or a link.
  std::string real_path(const std::string& directory) {
    const auto real =
        threads_.call(threads_.mount_of(directory), [directory]() -> Result<std::string> {
          std::error_code error;
          const auto found = std::filesystem::canonical(directory, error);
          return error ? directory : found.string();
        });
    return real.value_or(directory);
  }

  // Where to put a missing file.
  Result<std::string> new_place(const DataFile& file) {
    const std::string& mount = found_.manifest.head.mounts[file.mount];
    auto directory = std::ranges::find_if(
        directories_, [&](const std::string& each) { return real_path(each) == mount; });
    if (directory == directories_.end()) {
      std::vector<MountFolder> mounts;
      for (const std::string& each : directories_) mounts.push_back({each, 1});
      const auto spaces = spaces_of(threads_, mounts);
      const auto most = std::ranges::max_element(spaces, {}, &MountSpace::free_bytes);
      directory = directories_.begin() + (most - spaces.begin());
    }
    const std::string folder = *directory + "/" + attempt_folder(found_.attempt);
    RR_TRY(disk_.make_folder(*directory + "/" + step_folder(found_.attempt.step)));
    RR_TRY(disk_.make_folder(folder));
    RR_TRY(disk_.sync_folder(*directory));
    RR_TRY(disk_.sync_folder(folder_of(folder)));
    if (std::ranges::find(folders_, folder) == folders_.end()) folders_.push_back(folder);
    return folder + "/" + file.name;
  }

  Status repair_file(std::size_t index) {
    const Status sound = look_at(index);
    if (sound) return {};
    if (sound.error().os_errno == ETIMEDOUT) look_for_silence();
    const DataFile& file = found_.manifest.files[index];
    std::string path = present(file);
    if (path.empty() && !silent_.empty()) {
      repaired_.lost.push_back(file.name + " may be in " + silent_ +
                               ", which does not answer; remount it, or leave it out");
      return {};
    }
    if (path.empty()) path = RR_TRY(new_place(file));
    const std::string temporary = path + ".tmp";
    if (auto removed = disk_.remove(temporary); !removed && removed.error().os_errno != ENOENT) {
      return removed;
    }
    const auto output = RR_TRY(disk_.create(temporary, file.bytes));
    for (std::uint64_t at = 0; at < file.bytes; at += kExtentBytes) {
      const auto part = reader_.read_file(index, at, std::min(kExtentBytes, file.bytes - at), true);
      if (!part) {
        repaired_.lost.push_back(part.error().what);
        return disk_.remove(temporary);
      }
      RR_TRY(output->write(at, *part));
    }
    RR_TRY(output->sync());
    RR_TRY(disk_.rename(temporary, path));
    RR_TRY(disk_.sync_folder(folder_of(path)));
    reader_.look_again();
    repaired_.done.push_back(path + " was rewritten: " + sound.error().what);
    return {};
  }

  // The bytes of a sound copy. Encoding the manifest may yield others, because sections of newer
  // versions are skipped.
  Result<std::string> manifest_bytes() {
    std::string encoded = encode(Document::kManifest, found_.manifest);
    if (digest_of(encoded) == found_.digest) return encoded;
    for (const std::string& folder : folders_) {
      const std::string path = folder + "/" + std::string(kManifestName);
      auto bytes = threads_.call(threads_.mount_of(path),
                                 [path] { return base::read_file(path, kManifestBytesMax); });
      if (bytes && digest_of(*bytes) == found_.digest) return *std::move(bytes);
    }
    return base::fail(Errc::kNotFound, "cannot read any sound copy of the manifest again");
  }

  Status repair_manifests() {
    const std::string bytes = RR_TRY(manifest_bytes());
    for (const std::string& folder : folders_) {
      const std::string path = folder + "/" + std::string(kManifestName);
      const auto copy = threads_.call(threads_.mount_of(path),
                                      [path] { return read_document(Document::kManifest, path); });
      if (copy && *copy == found_.manifest) continue;
      if (!copy && copy.error().os_errno == ETIMEDOUT) {
        repaired_.lost.push_back(copy.error().what + "; remount it, or leave it out");
        continue;
      }
      RR_TRY(replace_file(disk_, path, bytes));
      repaired_.done.push_back(path + " was rewritten" +
                               (copy ? std::string() : ": " + copy.error().what));
    }
    return {};
  }

  MountThreads threads_;  // one per directory
  GuardedDisk disk_;
  const FoundAttempt& found_;
  std::span<const std::string> directories_;
  std::vector<std::string> folders_;
  CheckpointReader reader_;
  std::string silent_;  // the first of the directories that does not answer
  Repaired repaired_;
};

}  // namespace

Result<Repaired> repair(Disk& disk, const FoundAttempt& found,
                        std::span<const std::string> directories,
                        std::chrono::milliseconds patience) {
  RR_ASSERT(found.state == AttemptState::kCommitted && !directories.empty());
  return Repairer(disk, found, directories, patience).run();
}

}  // namespace robustrun::checkpoint
