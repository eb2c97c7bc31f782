#include "checkpoint/store/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/format/dtype.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/manifest_check.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/reader.h"

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

// Checks that the shards still have the CRCs known before.
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

// A mount that hangs, is dead or missing keeps its path as given, except the home: the saves deal
// with it.
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

// Appends the mounts, files, shards and states of `parts`, in this order, to `intent`.
Manifest merged(Manifest intent, std::vector<Manifest> parts) {
  for (Manifest& part : parts) {
    std::vector<std::uint32_t> mounts;
    for (const std::string& mount : part.head.mounts) {
      const auto known = std::ranges::find(intent.head.mounts, mount);
      mounts.push_back(static_cast<std::uint32_t>(known - intent.head.mounts.begin()));
      if (known == intent.head.mounts.end()) intent.head.mounts.push_back(mount);
    }
    const auto first_file = static_cast<std::uint32_t>(intent.files.size());
    for (DataFile& file : part.files) {
      file.mount = mounts[file.mount];
      intent.files.push_back(std::move(file));
    }
    for (Shard& shard : part.shards) {
      for (Piece& piece : shard.pieces) piece.file += first_file;
      intent.shards.push_back(std::move(shard));
    }
    for (ParityGroup& group : part.groups) {
      for (auto* members : {&group.data, &group.parity}) {
        for (ParityMember& member : *members) member.file += first_file;
      }
      intent.groups.push_back(std::move(group));
    }
    for (RankState& state : part.states) intent.states.push_back(std::move(state));
  }
  return intent;
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
    return fail(Errc::kLimit,
                fmt::format("cannot save: the states that one writer saves have {} bytes together, "
                            "more than {}",
                            bytes, kStateBytesMax));
  }
  return {};
}

Result<Store> Store::open(StoreOptions options) {
  std::vector<std::string>& local = options.local.directories;
  std::vector<Mount> all = options.mounts;
  for (const std::string& directory : local) all.push_back({directory, 1});
  if (options.mounts.empty() || all.size() > kMountsMax) {
    return fail(Errc::kInvalidArgument, "cannot save: between 1 and 256 directories are needed");
  }
  if (options.workers_per_mount == 0) {
    return fail(Errc::kInvalidArgument, "cannot save: at least 1 thread per directory is needed");
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

Status Store::use_local(LocalDisks local) {
  if (rows_ > 0) {
    return fail(Errc::kInvalidArgument, "cannot save with parity on local disks");
  }
  if (local.node.empty()) local.node = "unnamed";
  if (local.node.size() > kNodeNameBytesMax) local.node.resize(kNodeNameBytesMax);
  StoreOptions options = options_;
  options.disk = unguarded_;
  options.local = std::move(local);
  Store opened = RR_TRY(open(std::move(options)));
  // All but rate_, which another thread may be changing.
  std::swap(options_, opened.options_);
  std::swap(threads_, opened.threads_);
  std::swap(unguarded_, opened.unguarded_);
  std::swap(guarded_, opened.guarded_);
  std::swap(writer_, opened.writer_);
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

// kNotFound: there is no INTENT yet.
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
                          "and {}, or for other ones",
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

Result<bool> Store::has_part(const AttemptId& attempt, const std::string& writer) const {
  RR_TRY(home_answers());
  std::error_code error;
  return std::filesystem::exists(at_home(attempt) + "/" + part_name(writer), error);
}

// Makes the attempt's folders on every mount, so that each can hold a copy of the manifest and
// files drained to it.
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

Result<DataSaved> Store::save_data(const PartContents& contents, const std::string& name,
                                   const std::vector<MountFolder>& folders,
                                   std::vector<std::string>& notes) {
  const std::size_t shared = options_.mounts.size();
  std::vector<MountFolder> used = folders;
  if (!options_.local.directories.empty()) {
    for (std::size_t i = 0; i < shared; ++i) used[i].folder.clear();
    auto saved = writer_.save({contents.shards, contents.sources, used, name, rate_.get()});
    for (std::size_t i = 0; saved && i < saved->files.size(); ++i) {
      saved->files[i].node = options_.local.node;
    }
    if (saved) return saved;
    notes.push_back("not on local disks, but on shared storage: " + saved.error().what);
    used = folders;
    for (std::size_t i = shared; i < used.size(); ++i) used[i].folder.clear();
  }
  return writer_.save({contents.shards, contents.sources, used, name, rate_.get()});
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

Result<std::string> Store::readable_bytes(Document document, const Manifest& manifest) const {
  std::string bytes = encode(document, manifest);
  const auto mib = [](std::size_t size) { return (size + (1U << 20U) - 1) >> 20U; };
  if (bytes.size() <= options_.manifest_bytes_max) return bytes;
  return fail(Errc::kLimit, fmt::format("cannot commit {}: what describes it has {} MiB, more than "
                                        "{}; make the states of ranks smaller",
                                        at_home(manifest.head.attempt), mib(bytes.size()),
                                        mib(options_.manifest_bytes_max)));
}

Status Store::publish_part(const PreparedPart& prepared) {
  const Head& head = prepared.part.head;
  const std::string bytes = RR_TRY(readable_bytes(Document::kPart, prepared.part));
  return replace_file(*options_.disk, at_home(head.attempt) + "/" + part_name(head.writers.front()),
                      bytes);
}

Result<std::vector<std::string>> Store::write_part(const AttemptId& attempt,
                                                   const std::string& writer,
                                                   const PartContents& contents) {
  PreparedPart prepared = RR_TRY(write_data(attempt, writer, contents));
  RR_TRY(publish_part(prepared));
  return std::move(prepared.notes);
}

Result<Manifest> Store::gather_parts(const AttemptId& attempt) const {
  const std::string folder = at_home(attempt) + "/";
  const Manifest intent =
      RR_TRY(read_document(Document::kIntent, folder + std::string(kIntentName)));
  if (intent.head.attempt != attempt) {
    return fail(Errc::kCorrupt,
                "cannot commit " + folder + ": its INTENT belongs to another attempt");
  }
  std::vector<Manifest> parts;
  for (const std::string& writer : intent.head.writers) {
    parts.push_back(RR_TRY(read_document(Document::kPart, folder + part_name(writer))));
    if (parts.back().head.attempt != attempt) {
      return fail(Errc::kCorrupt,
                  "cannot commit " + folder + ": a part belongs to another attempt");
    }
  }
  Manifest manifest = merged(intent, std::move(parts));
  if (manifest.head.mounts.size() > kMountsMax) {
    return fail(Errc::kLimit, "cannot commit " + folder +
                                  ": its writers have more than 256 directories together");
  }
  RR_TRY(check_consistent(manifest));
  // Files on another node's local disks are not visible here; visible ones must be complete.
  for (const DataFile& file : manifest.files) {
    const std::string path =
        manifest.head.mounts[file.mount] + "/" + attempt_folder(attempt) + "/" + file.name;
    const auto bytes = threads_->call(threads_->mount_of(path), [path]() -> Result<std::uint64_t> {
      std::error_code error;
      const auto found = std::filesystem::file_size(path, error);
      if (error) return fail(Errc::kNotFound, "there is no " + path);
      return found;
    });
    if (bytes && *bytes != file.bytes) {
      return fail(Errc::kCorrupt, fmt::format("cannot commit {}: {} has {} bytes instead of {}",
                                              folder, path, *bytes, file.bytes));
    }
  }
  return manifest;
}

// Under the lock, no other generation can be admitted between the fence check and the rename.
Result<Committed> Store::commit(const AttemptId& attempt, std::uint64_t generation) {
  RR_TRY(home_answers());
  Manifest manifest = RR_TRY(gather_parts(attempt));
  const DirectoryLock lock = RR_TRY(lock_home());
  RR_TRY(check_fence(generation));
  return publish(std::move(manifest));
}

// All of it happens under the lock: if two writers finish at once, the second to get the lock sees
// the other's part, even on a shared file system.
Result<Completion> Store::commit_if_complete(const AttemptId& attempt, std::uint64_t generation) {
  RR_TRY(home_answers());
  const DirectoryLock lock = RR_TRY(lock_home());
  RR_TRY(check_fence(generation));
  const std::string folder = at_home(attempt) + "/";
  std::error_code error;
  if (std::filesystem::exists(folder + std::string(kManifestName), error))
    return Completion{true, {}, false};
  const Manifest intent =
      RR_TRY(read_document(Document::kIntent, folder + std::string(kIntentName)));
  for (const std::string& writer : intent.head.writers) {
    if (!std::filesystem::exists(folder + part_name(writer), error)) return Completion{};
  }
  Manifest manifest = RR_TRY(gather_parts(attempt));
  Committed committed = RR_TRY(publish(std::move(manifest)));
  return Completion{true, std::move(committed.notes), true};
}

Result<Committed> Store::publish(Manifest manifest) {
  Disk& disk = *options_.disk;
  const std::string folder = at_home(manifest.head.attempt);
  const auto all = RR_TRY(list_attempts(directories(), threads_.get(), Look::kHeads));
  const auto same = std::ranges::find(all, manifest.head.attempt, &FoundAttempt::attempt);
  if (same != all.end() && same->state != AttemptState::kIncomplete) {
    return fail(Errc::kConflict, "cannot commit " + folder + ": it is " +
                                     std::string(word_for(same->state)) + " already");
  }
  manifest.head.sequence = next_sequence(facts_of(all));
  manifest.head.wall_time_ns = static_cast<std::uint64_t>(options_.clock->wall_time().count());
  const std::string bytes = RR_TRY(readable_bytes(Document::kManifest, manifest));
  RR_TRY(replace_file(disk, folder + "/" + std::string(kManifestName), bytes));
  Committed committed{std::move(manifest), digest_of(bytes), {}};
  const AttemptId& attempt = committed.manifest.head.attempt;
  const auto note = [&](const Status& status) {
    if (!status) committed.notes.push_back(status.error().what);
  };
  for (std::size_t i = 1; i < options_.mounts.size(); ++i) {
    const std::string copy = options_.mounts[i].path + "/" + attempt_folder(attempt);
    note(replace_file(disk, copy + "/" + std::string(kManifestName), bytes));
  }
  note(replace_file(disk, home() + "/" + std::string(kLatestName),
                    control_line(fmt::format("{} {} {} {}", attempt.step, attempt.generation,
                                             attempt.token, committed.digest))));
  return committed;
}

Result<std::vector<Committed>> Store::salvage(std::uint64_t generation) {
  RR_TRY(home_answers());
  const DirectoryLock lock = RR_TRY(lock_home());
  RR_TRY(check_fence(generation));
  return salvage_all(RR_TRY(list_attempts(directories(), threads_.get(), Look::kHeads)));
}

Result<std::vector<Committed>> Store::salvage_all(std::vector<FoundAttempt> all) {
  std::vector<Committed> saved;
  // Oldest first, so that the newest gets the highest sequence.
  std::ranges::sort(all, {}, &FoundAttempt::attempt);
  const std::vector<AttemptFacts> facts = facts_of(all);
  for (const FoundAttempt& found : all) {
    if (!may_salvage(found.facts(), facts)) continue;
    auto manifest = gather_parts(found.attempt);
    if (!manifest) continue;  // incomplete, so it was never reported as saved
    if (!CheckpointReader::open(*manifest, found.folders, {options_.io, options_.patience})
             .verify()
             .empty())
      continue;
    auto committed = publish(std::move(*manifest));
    // Its own writers could not commit it either, and no claim may fail for it.
    if (!committed && committed.error().code == Errc::kLimit) continue;
    saved.push_back(RR_TRY(std::move(committed)));
  }
  return saved;
}

// FENCE is written last: if the process dies earlier, the next claim repeats everything.
Result<std::uint64_t> Store::claim(const Session& session) {
  RR_TRY(check_session(session));
  RR_TRY(home_answers());
  const DirectoryLock lock = RR_TRY(lock_home());
  const Fence before = RR_TRY(read_fence(home()));
  const Claim claim = claim_of(before, session);
  if (claim == Claim::kHeld) return before.generation;
  if (claim == Claim::kTooLate) {
    const bool is_another = before.session.incarnation != session.incarnation;
    return fail(Errc::kConflict,
                fmt::format("attempt {} of {} may not save any more: attempt {} {}was here",
                            session.attempt, session.run, before.session.attempt,
                            is_another ? "of a later supervisor of the run " : ""));
  }
  auto all = RR_TRY(list_attempts(directories(), threads_.get(), Look::kHeads));
  const std::uint64_t generation = next_generation(before.generation, facts_of(all));
  if (generation == 0) {
    return fail(Errc::kLimit, "cannot save in " + home() + ": there is no higher generation");
  }
  RR_TRY(salvage_all(std::move(all)));
  RR_TRY(replace_file(*options_.disk, home() + "/" + std::string(kFenceName),
                      fence_line({generation, session})));
  return generation;
}

}  // namespace robustrun::checkpoint
