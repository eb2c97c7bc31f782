#include "checkpoint/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/catalog.h"
#include "checkpoint/directory_lock.h"
#include "checkpoint/dtype.h"
#include "checkpoint/limits.h"
#include "checkpoint/paths.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

const base::SystemClock kSystemClock;

Status check_shard_source(const Shard& shard, std::string_view source) {
  const std::string name = "cannot save '" + base::printable(shard.name) + "': ";
  if (shard.name.empty() || shard.name.size() > kNameBytesMax ||
      base::printable(shard.name) != shard.name) {
    return fail(Errc::kInvalidArgument, name + "a name is printable UTF-8 of at most 4096 bytes");
  }
  if (shard.dtype.empty() || shard.dtype.size() > 64) {
    return fail(Errc::kInvalidArgument, name + "it has no type");
  }
  if (shard.bytes != source.size()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}its buffer has {} bytes, not {}", name, source.size(), shard.bytes));
  }
  if (shard.shape.size() > kDimensionsMax) {
    return fail(Errc::kInvalidArgument, name + "it has too many dimensions");
  }
  return {};
}

Status check_contents(const PartContents& contents) {
  if (contents.shards.size() != contents.sources.size()) {
    return fail(Errc::kInvalidArgument, "cannot save: shards and buffers do not match");
  }
  for (std::size_t i = 0; i < contents.shards.size(); ++i) {
    RR_TRY(check_shard_source(contents.shards[i], contents.sources[i]));
  }
  std::size_t bytes = 0;
  for (const RankState& state : contents.states) bytes += state.bytes.size();
  if (bytes > kStateBytesMax) {
    return fail(Errc::kLimit, "cannot save: the states of ranks have more than 64 MiB together");
  }
  return {};
}

}  // namespace

Result<Store> Store::open(StoreOptions options) {
  if (options.mounts.empty() || options.mounts.size() > kMountsMax ||
      options.workers_per_mount == 0) {
    return fail(Errc::kInvalidArgument, "cannot save: between 1 and 256 directories are needed");
  }
  std::set<std::string> seen;
  for (Mount& mount : options.mounts) {
    std::error_code error;
    const auto path = std::filesystem::canonical(mount.path, error);
    if (error || !std::filesystem::is_directory(path, error)) {
      return fail(Errc::kNotFound, "cannot use " + base::printable(mount.path) +
                                       " for checkpoints: no such directory");
    }
    mount.path = path.string();
    if (!seen.insert(mount.path).second) {
      return fail(Errc::kInvalidArgument, "cannot use " + mount.path + " twice for checkpoints");
    }
  }
  if (options.disk == nullptr) options.disk = &posix_disk();
  if (options.clock == nullptr) options.clock = &kSystemClock;
  DataWriter writer =
      RR_TRY(DataWriter::make(*options.disk, options.mounts.size(), options.workers_per_mount));
  return Store(std::move(options), std::move(writer));
}

Store::Store(StoreOptions options, DataWriter writer)
    : options_(std::move(options)), writer_(std::move(writer)) {}

std::string Store::at_home(const AttemptId& attempt) const {
  return home() + "/" + attempt_folder(attempt);
}

std::vector<std::string> Store::directories() const {
  std::vector<std::string> paths;
  for (const Mount& mount : options_.mounts) paths.push_back(mount.path);
  return paths;
}

// A fence that cannot be read stops every commit: nobody knows who was admitted.
Status Store::check_fence(std::uint64_t generation) const {
  const std::string path = home() + "/" + std::string(kFenceName);
  const auto words = read_control_line(path);
  if (!words && words.error().os_errno == ENOENT) return {};
  if (!words) {
    base::Error error = words.error();
    error.what += "; remove it if no other job saves here";
    return std::unexpected(std::move(error));
  }
  const auto admitted = words->size() == 2 ? base::parse_int<std::uint64_t>(words->at(1))
                                           : Result<std::uint64_t>(UINT64_MAX);
  if (!admitted || *admitted <= generation) return {};
  return fail(Errc::kConflict, fmt::format("generation {} may not commit: {} was admitted since",
                                           generation, *admitted));
}

Status Store::admit(std::uint64_t generation) {
  const DirectoryLock lock = RR_TRY(DirectoryLock::take(home()));
  RR_TRY(check_fence(generation));
  return replace_file(*options_.disk, home() + "/" + std::string(kFenceName),
                      control_line(fmt::format("fence {}", generation)));
}

Status Store::make_attempt(const std::string& mount, const AttemptId& attempt) {
  Disk& disk = *options_.disk;
  const std::string step = mount + "/" + step_folder(attempt.step);
  RR_TRY(disk.make_folder(step));
  RR_TRY(disk.sync_folder(mount));
  RR_TRY(disk.make_folder(mount + "/" + attempt_folder(attempt)));
  return disk.sync_folder(step);
}

Result<AttemptId> Store::begin(std::uint64_t step, std::uint64_t generation,
                               const WorldLayout& layout, std::vector<std::string> writers) {
  RR_TRY(check_fence(generation));
  Manifest intent;
  intent.head.attempt = {step, generation, fmt::format("{:016x}", base::system_seed())};
  intent.head.layout = layout;
  intent.head.writers = std::move(writers);
  intent.head.wall_time_ns = static_cast<std::uint64_t>(options_.clock->wall_time().count());
  RR_TRY(check_consistent(intent));
  RR_TRY(make_attempt(home(), intent.head.attempt));
  RR_TRY(replace_file(*options_.disk, at_home(intent.head.attempt) + "/" + std::string(kIntentName),
                      encode(Document::kIntent, intent)));
  return intent.head.attempt;
}

Result<std::vector<std::string>> Store::write_part(const AttemptId& attempt,
                                                   const std::string& writer,
                                                   const PartContents& contents) {
  RR_TRY(check_contents(contents));
  const Manifest intent =
      RR_TRY(read_document(Document::kIntent, at_home(attempt) + "/" + std::string(kIntentName)));
  Manifest part;
  part.head = intent.head;
  part.head.writers = {writer};
  part.states = contents.states;
  std::vector<std::string> notes;
  std::vector<MountFolder> folders;
  for (const Mount& mount : options_.mounts) {
    part.head.mounts.push_back(mount.path);
    folders.push_back({mount.path + "/" + attempt_folder(attempt), mount.weight});
    if (auto made = make_attempt(mount.path, attempt); !made) {
      notes.push_back(made.error().what);
      folders.back().folder.clear();
    }
  }
  DataSaved saved =
      RR_TRY(writer_.save({contents.shards, contents.sources, folders, "d-" + writer}));
  notes.insert(notes.end(), saved.notes.begin(), saved.notes.end());
  part.files = std::move(saved.files);
  part.shards = std::move(saved.shards);
  RR_TRY(check_consistent(part));
  RR_TRY(replace_file(*options_.disk, at_home(attempt) + "/" + part_name(writer),
                      encode(Document::kPart, part)));
  return notes;
}

}  // namespace robustrun::checkpoint
