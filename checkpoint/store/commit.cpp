// Store's second half: from complete parts to a checkpoint.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/reader.h"
#include "checkpoint/store/store.h"

namespace robustrun::checkpoint {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

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

Result<Manifest> Store::gather_parts(const AttemptId& attempt) const {
  const std::string folder = at_home(attempt) + "/";
  const Manifest intent =
      RR_TRY(read_document(Document::kIntent, folder + std::string(kIntentName)));
  if (intent.head.attempt != attempt) {
    return fail(Errc::kCorrupt, "cannot commit " + folder + ": its INTENT is of another attempt");
  }
  std::vector<Manifest> parts;
  for (const std::string& writer : intent.head.writers) {
    parts.push_back(RR_TRY(read_document(Document::kPart, folder + part_name(writer))));
    if (parts.back().head.attempt != attempt) {
      return fail(Errc::kCorrupt, "cannot commit " + folder + ": a part is of another attempt");
    }
  }
  Manifest manifest = merged(intent, std::move(parts));
  if (manifest.head.mounts.size() > kMountsMax) {
    return fail(Errc::kLimit, "cannot commit " + folder +
                                  ": its writers have more than 256 directories together");
  }
  RR_TRY(check_consistent(manifest));
  // On a node's own disks they are not to be seen from here; where they can be, they must be whole.
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

// Under the lock no other generation can be admitted between the look at the fence and the rename.
Result<Committed> Store::commit(const AttemptId& attempt, std::uint64_t generation) {
  RR_TRY(home_answers());
  Manifest manifest = RR_TRY(gather_parts(attempt));
  const DirectoryLock lock = RR_TRY(lock_home());
  RR_TRY(check_fence(generation));
  return publish(std::move(manifest));
}

// All of it under the lock: of two writers that finish at once, the second to get it sees the
// other's part, on a shared file system too.
Result<Completion> Store::commit_if_complete(const AttemptId& attempt, std::uint64_t generation) {
  RR_TRY(home_answers());
  const DirectoryLock lock = RR_TRY(lock_home());
  RR_TRY(check_fence(generation));
  const std::string folder = at_home(attempt) + "/";
  std::error_code error;
  if (std::filesystem::exists(folder + std::string(kManifestName), error))
    return Completion{true, {}};
  const Manifest intent =
      RR_TRY(read_document(Document::kIntent, folder + std::string(kIntentName)));
  for (const std::string& writer : intent.head.writers) {
    if (!std::filesystem::exists(folder + part_name(writer), error)) return Completion{};
  }
  Manifest manifest = RR_TRY(gather_parts(attempt));
  Committed committed = RR_TRY(publish(std::move(manifest)));
  return Completion{true, std::move(committed.notes)};
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
  const std::string bytes = encode(Document::kManifest, manifest);
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
  // The oldest first, so that the newest one gets the highest number.
  std::ranges::sort(all, {}, &FoundAttempt::attempt);
  const std::vector<AttemptFacts> facts = facts_of(all);
  for (const FoundAttempt& found : all) {
    if (!may_salvage(found.facts(), facts)) continue;
    auto manifest = gather_parts(found.attempt);
    if (!manifest) continue;  // what is missing was never promised to anybody
    if (!CheckpointReader::open(*manifest, found.folders, {options_.io, options_.patience})
             .verify()
             .empty())
      continue;
    saved.push_back(RR_TRY(publish(std::move(*manifest))));
  }
  return saved;
}

// FENCE is written last: whoever dies before leaves all of it to the next one.
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
