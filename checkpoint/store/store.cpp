#include "checkpoint/store/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/format/dtype.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/catalog.h"

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

// What was known of them before is still so.
Status check_unchanged_since(const PartContents& contents, const std::vector<Shard>& saved) {
  for (std::size_t i = 0; contents.crcs_known && i < saved.size(); ++i) {
    if (saved[i].crc != contents.shards[i].crc) {
      return fail(Errc::kCorrupt, "cannot save '" + base::printable(saved[i].name) +
                                      "': it changed since it was copied");
    }
  }
  return {};
}

Status check_intent(const Manifest& intent) {
  if (intent.head.writers.empty() || intent.head.layout.world_size == 0) {
    return fail(Errc::kInvalidArgument, "cannot save: at least one rank and one writer are needed");
  }
  return check_consistent(intent);
}

Result<std::string> real_path(const std::string& path) {
  const std::string name = "cannot use " + base::printable(path) + " for checkpoints";
  std::error_code error;
  const auto found = std::filesystem::canonical(path, error);
  if (!error && std::filesystem::is_directory(found, error)) return found.string();
  if (error && error.value() != ENOENT && error.value() != ENOTDIR) {
    return base::fail_errno(name, error.value());
  }
  return fail(Errc::kNotFound, name + ": no such directory");
}

// A mount that hangs, is dead or missing keeps its name, but for the home: the saves find out.
Result<std::vector<std::string>> real_paths(MountThreads& threads, std::span<const Mount> mounts) {
  std::vector<std::move_only_function<Result<std::string>()>> looks;
  for (const Mount& mount : mounts) {
    looks.emplace_back([path = mount.path] { return real_path(path); });
  }
  std::vector<std::string> paths;
  for (auto& real : threads.call_each(std::move(looks))) {
    const std::size_t i = paths.size();
    if (!real && i == 0) return std::unexpected(std::move(real).error());
    paths.push_back(real ? *std::move(real)
                         : std::filesystem::absolute(mounts[i].path).lexically_normal().string());
  }
  return paths;
}

}  // namespace

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

Result<Store> Store::open(StoreOptions options) {
  std::vector<std::string>& local = options.local.directories;
  std::vector<Mount> all = options.mounts;
  for (const std::string& directory : local) all.push_back({directory, 1});
  if (options.mounts.empty() || all.size() > kMountsMax || options.workers_per_mount == 0) {
    return fail(Errc::kInvalidArgument, "cannot save: between 1 and 256 directories are needed");
  }
  std::vector<std::string> paths;
  for (const Mount& mount : all) paths.push_back(base::printable(mount.path));
  auto threads = std::make_unique<MountThreads>(paths, options.workers_per_mount,
                                                options.first_patience.value_or(options.patience));
  paths = RR_TRY(real_paths(*threads, all));
  threads->set_patience(options.patience);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_local = i >= options.mounts.size();
    (is_local ? local[i - options.mounts.size()] : options.mounts[i].path) = paths[i];
    threads->rename(i, paths[i]);
    if (!seen.insert(paths[i]).second) {
      return fail(Errc::kInvalidArgument, "cannot use " + paths[i] + " twice for checkpoints");
    }
  }
  if (options.disk == nullptr) options.disk = &posix_disk(options.io);
  if (options.clock == nullptr) options.clock = &kSystemClock;
  DataWriter writer = RR_TRY(DataWriter::make(*options.disk, *threads, all.size()));
  return Store(std::move(options), std::move(threads), std::move(writer));
}

Store::Store(StoreOptions options, std::unique_ptr<MountThreads> threads, DataWriter writer)
    : options_(std::move(options)),
      threads_(std::move(threads)),
      unguarded_(options_.disk),
      guarded_(std::make_unique<GuardedDisk>(*options_.disk, *threads_)),
      writer_(std::move(writer)),
      rate_(std::make_unique<WriteRate>(*options_.clock, options_.written)) {
  options_.disk = guarded_.get();
}

Status Store::use_parity(std::uint32_t parity) {
  const std::size_t mounts = options_.mounts.size();
  if (parity >= mounts && parity > 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot save with parity {} in {} director{}: {} or more are needed",
                            parity, mounts, mounts == 1 ? "y" : "ies", parity + 1));
  }
  if (parity > 0 && !options_.local.directories.empty()) {
    return fail(Errc::kInvalidArgument, "cannot save with parity on local disks");
  }
  if (parity == rows_) return {};
  parity_.reset();
  rows_ = 0;
  if (parity > 0) parity_.emplace(*unguarded_, *threads_, writer_.arena(), parity);
  rows_ = parity;
  return {};
}

std::string Store::at_home(const AttemptId& attempt) const {
  return home() + "/" + attempt_folder(attempt);
}

std::vector<std::string> Store::directories() const {
  std::vector<std::string> paths;
  for (const Mount& mount : options_.mounts) paths.push_back(mount.path);
  return paths;
}

Status Store::home_answers() const {
  return threads_->call(0, [path = home()]() -> Status {
    std::error_code error;
    (void)std::filesystem::exists(path, error);
    return {};
  });
}

Result<DirectoryLock> Store::lock_home() {
  return DirectoryLock::take(home(), *threads_, options_.lock_patience);
}

Status Store::check_fence(std::uint64_t generation) const {
  RR_TRY(home_answers());
  const Fence fence = RR_TRY(read_fence(home()));
  if (admits(fence, generation)) return {};
  return fail(Errc::kConflict, fmt::format("generation {} may not commit: {} was admitted since",
                                           generation, fence.generation));
}

Status Store::admit(std::uint64_t generation) {
  RR_TRY(home_answers());
  const DirectoryLock lock = RR_TRY(lock_home());
  RR_TRY(check_fence(generation));
  const Fence before = RR_TRY(read_fence(home()));
  if (before.generation == generation && !before.session.run.empty()) return {};
  return replace_file(*options_.disk, home() + "/" + std::string(kFenceName),
                      fence_line({generation, {}}));
}

Status Store::make_attempt(const std::string& mount, const AttemptId& attempt) {
  Disk& disk = *options_.disk;
  const std::string step = mount + "/" + step_folder(attempt.step);
  RR_TRY(disk.make_folder(step));
  RR_TRY(disk.sync_folder(mount));
  RR_TRY(disk.make_folder(mount + "/" + attempt_folder(attempt)));
  return disk.sync_folder(step);
}

Manifest Store::intent_of(AttemptId attempt, const WorldLayout& layout,
                          std::vector<std::string> writers) const {
  Manifest intent;
  intent.head.attempt = std::move(attempt);
  intent.head.layout = layout;
  intent.head.writers = std::move(writers);
  intent.head.wall_time_ns = static_cast<std::uint64_t>(options_.clock->wall_time().count());
  return intent;
}

Status Store::write_intent(const Manifest& intent) {
  RR_TRY(make_attempt(home(), intent.head.attempt));
  return replace_file(*options_.disk, at_home(intent.head.attempt) + "/" + std::string(kIntentName),
                      encode(Document::kIntent, intent));
}

Result<AttemptId> Store::begin(std::uint64_t step, std::uint64_t generation,
                               const WorldLayout& layout, std::vector<std::string> writers) {
  RR_TRY(check_fence(generation));
  const Manifest intent = intent_of({step, generation, fmt::format("{:016x}", base::system_seed())},
                                    layout, std::move(writers));
  RR_TRY(check_intent(intent));
  RR_TRY(write_intent(intent));
  return intent.head.attempt;
}

// kNotFound: there is none yet.
Status Store::check_same_intent(const Manifest& wanted) const {
  const std::string folder = at_home(wanted.head.attempt) + "/";
  for (const std::string_view name : {kManifestName, kDeletedName}) {
    std::error_code error;
    if (std::filesystem::exists(folder + std::string(name), error)) {
      return fail(Errc::kConflict,
                  "cannot save into " + folder + ": it has a " + std::string(name) + " already");
    }
  }
  auto found = read_document(Document::kIntent, folder + std::string(kIntentName));
  if (!found && found.error().os_errno == ENOENT) found.error().code = Errc::kNotFound;
  const Manifest intent = RR_TRY(std::move(found));
  if (intent.head.attempt == wanted.head.attempt && intent.head.layout == wanted.head.layout &&
      intent.head.writers == wanted.head.writers) {
    return {};
  }
  return fail(Errc::kConflict,
              fmt::format("cannot save into {}: it was begun for {} ranks and {} writers, not {} "
                          "and {}, or for others",
                          folder, intent.head.layout.world_size, intent.head.writers.size(),
                          wanted.head.layout.world_size, wanted.head.writers.size()));
}

Status Store::join(const AttemptId& attempt, const WorldLayout& layout,
                   std::vector<std::string> writers) {
  const Manifest intent = intent_of(attempt, layout, std::move(writers));
  RR_TRY(check_intent(intent));
  RR_TRY(check_fence(attempt.generation));
  if (const auto same = check_same_intent(intent); same || same.error().code != Errc::kNotFound) {
    return same;
  }
  const DirectoryLock lock = RR_TRY(lock_home());
  RR_TRY(check_fence(attempt.generation));
  if (const auto same = check_same_intent(intent); same || same.error().code != Errc::kNotFound) {
    return same;
  }
  return write_intent(intent);
}

bool Store::has_part(const AttemptId& attempt, const std::string& writer) const {
  std::error_code error;
  return std::filesystem::exists(at_home(attempt) + "/" + part_name(writer), error);
}

// On every mount, so that all of them have a place for copies of the manifest and for what is
// drained to them.
std::vector<MountFolder> Store::make_folders(Manifest& part, std::vector<std::string>& notes) {
  std::vector<Mount> all = options_.mounts;
  for (const std::string& directory : options_.local.directories) all.push_back({directory, 1});
  std::vector<MountFolder> folders;
  for (const Mount& mount : all) {
    part.head.mounts.push_back(mount.path);
    folders.push_back({mount.path + "/" + attempt_folder(part.head.attempt), mount.weight});
    if (auto made = make_attempt(mount.path, part.head.attempt); !made) {
      notes.push_back(made.error().what);
      folders.back().folder.clear();
    }
  }
  return folders;
}

Result<PreparedPart> Store::write_data(const AttemptId& attempt, const std::string& writer,
                                       const PartContents& contents) {
  RR_TRY(check_contents(contents));
  RR_TRY(home_answers());
  const Manifest intent =
      RR_TRY(read_document(Document::kIntent, at_home(attempt) + "/" + std::string(kIntentName)));
  if (std::ranges::find(intent.head.writers, writer) == intent.head.writers.end()) {
    return fail(Errc::kInvalidArgument, "cannot save as writer '" + base::printable(writer) +
                                            "': the attempt was not begun for it");
  }
  for (const Shard& shard : contents.shards) {
    if (auto box = check_box(shard, intent.head.layout.world_size); !box) {
      return fail(Errc::kInvalidArgument, "cannot save: " + box.error().what);
    }
  }
  Manifest part;
  part.head = intent.head;
  part.head.writers = {writer};
  part.states = contents.states;
  std::vector<std::string> notes;
  std::vector<MountFolder> folders = make_folders(part, notes);
  const std::string tag = contents.file_tag.empty() ? "" : "-" + contents.file_tag;
  DataSaved saved = RR_TRY(save_data(contents, "d-" + writer + tag, folders, notes));
  RR_TRY(check_unchanged_since(contents, saved.shards));
  notes.insert(notes.end(), saved.notes.begin(), saved.notes.end());
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (threads_->stuck(i)) folders[i].folder.clear();
  }
  if (parity_) {
    ParitySaved parity = parity_->save({saved.files, saved.headers, saved.shards, contents.sources,
                                        folders, "p-" + writer + tag, rate_.get()});
    notes.insert(notes.end(), parity.notes.begin(), parity.notes.end());
    std::ranges::move(parity.files, std::back_inserter(saved.files));
    part.groups = std::move(parity.groups);
  }
  part.files = std::move(saved.files);
  part.shards = std::move(saved.shards);
  RR_TRY(check_consistent(part));
  return PreparedPart{std::move(part), std::move(notes)};
}

Status Store::publish_part(const PreparedPart& prepared) {
  const Head& head = prepared.part.head;
  return replace_file(*options_.disk, at_home(head.attempt) + "/" + part_name(head.writers.front()),
                      encode(Document::kPart, prepared.part));
}

Result<std::vector<std::string>> Store::write_part(const AttemptId& attempt,
                                                   const std::string& writer,
                                                   const PartContents& contents) {
  PreparedPart prepared = RR_TRY(write_data(attempt, writer, contents));
  RR_TRY(publish_part(prepared));
  return std::move(prepared.notes);
}

}  // namespace robustrun::checkpoint
