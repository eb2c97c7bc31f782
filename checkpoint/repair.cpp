#include "checkpoint/repair.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "checkpoint/limits.h"
#include "checkpoint/mount_space.h"
#include "checkpoint/paths.h"
#include "checkpoint/reader.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::Result;
using base::Status;

class Repairer {
 public:
  Repairer(Disk& disk, const FoundAttempt& found, std::span<const std::string> directories)
      : disk_(disk), found_(found), directories_(directories), folders_(found.folders) {}

  Result<Repaired> run() {
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
  [[nodiscard]] CheckpointReader reader() const {
    return CheckpointReader::open(found_.manifest, folders_);
  }

  // What is wrong with a file; empty: nothing.
  [[nodiscard]] std::string fault_in(std::size_t index) const {
    CheckpointReader reads = reader();
    const std::uint64_t bytes = found_.manifest.files[index].bytes;
    for (std::uint64_t at = 0; at < bytes; at += kExtentBytes) {
      const auto part = reads.read_file(index, at, std::min(kExtentBytes, bytes - at), false);
      if (!part) return part.error().what;
    }
    return {};
  }

  // Where it is, or where it is to be.
  Result<std::string> place_of(const DataFile& file) {
    std::error_code error;
    for (const std::string& folder : folders_) {
      const std::string path = folder + "/" + file.name;
      if (std::filesystem::exists(path, error)) return path;
    }
    const std::string& mount = found_.manifest.head.mounts[file.mount];
    auto directory = std::ranges::find(directories_, mount);
    if (directory == directories_.end()) {
      std::vector<MountFolder> mounts;
      for (const std::string& each : directories_) mounts.push_back({each, 1});
      const auto spaces = spaces_of(mounts);
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
    const std::string fault = fault_in(index);
    if (fault.empty()) return {};
    const DataFile& file = found_.manifest.files[index];
    const std::string path = RR_TRY(place_of(file));
    const std::string temporary = path + ".tmp";
    if (auto removed = disk_.remove(temporary); !removed && removed.error().os_errno != ENOENT) {
      return removed;
    }
    const auto output = RR_TRY(disk_.create(temporary, file.bytes));
    CheckpointReader reads = reader();
    for (std::uint64_t at = 0; at < file.bytes; at += kExtentBytes) {
      const auto part = reads.read_file(index, at, std::min(kExtentBytes, file.bytes - at), true);
      if (!part) {
        repaired_.lost.push_back(part.error().what);
        return disk_.remove(temporary);
      }
      RR_TRY(output->write(at, *part));
    }
    RR_TRY(output->sync());
    RR_TRY(disk_.rename(temporary, path));
    RR_TRY(disk_.sync_folder(folder_of(path)));
    repaired_.done.push_back(path + " was written anew: " + fault);
    return {};
  }

  Status repair_manifests() {
    const std::string bytes = encode(Document::kManifest, found_.manifest);
    RR_ASSERT(digest_of(bytes) == found_.digest);
    for (const std::string& folder : folders_) {
      const std::string path = folder + "/" + std::string(kManifestName);
      const auto copy = read_document(Document::kManifest, path);
      if (copy && *copy == found_.manifest) continue;
      RR_TRY(replace_file(disk_, path, bytes));
      repaired_.done.push_back(path + " was written anew" +
                               (copy ? std::string() : ": " + copy.error().what));
    }
    return {};
  }

  Disk& disk_;
  const FoundAttempt& found_;
  std::span<const std::string> directories_;
  std::vector<std::string> folders_;
  Repaired repaired_;
};

}  // namespace

Result<Repaired> repair(Disk& disk, const FoundAttempt& found,
                        std::span<const std::string> directories) {
  RR_ASSERT(found.state == AttemptState::kCommitted && !directories.empty());
  return Repairer(disk, found, directories).run();
}

}  // namespace robustrun::checkpoint
