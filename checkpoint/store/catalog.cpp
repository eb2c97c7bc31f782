#include "checkpoint/store/catalog.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

// Empty if there is no such folder.
Result<std::vector<std::string>> folders_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  const std::filesystem::directory_iterator end;
  while (!error && entries != end && names.size() < kAttemptsMax) {
    std::error_code ignored;
    if (entries->is_directory(ignored)) names.push_back(entries->path().filename().string());
    entries.increment(error);
  }
  const int cause = error.value();  // ESTALE: another machine has removed it (NFS)
  if (cause != 0 && cause != ENOENT && cause != ENOTDIR && cause != ESTALE) {
    return base::fail_errno("cannot look for checkpoints in " + path, cause);
  }
  return names;
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// VERIFIED and DRAINED count only for the manifest whose digest they name.
bool says(std::string_view name, const std::string& folder, const std::string& digest) {
  const auto words = read_control_line(folder + "/" + std::string(name));
  return words && words->size() == 2 && words->back() == digest;
}

// A damaged mark still counts as poisoned.
std::string poison_in(const std::string& folder) {
  const auto words = read_control_line(folder + "/" + std::string(kPoisonedName));
  if (words) return words->size() == 2 && words->front() == "poisoned" ? words->back() : "unknown";
  return words.error().os_errno == ENOENT ? "" : "unreadable";
}

Result<Head> head_in(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return base::fail_errno("cannot open " + path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return base::fail_errno("cannot look at " + path, errno);
  const auto read = [&](std::uint64_t at, std::uint64_t bytes) -> Result<std::string> {
    std::string into(bytes, '\0');
    const ssize_t got = ::pread(file.get(), into.data(), bytes, static_cast<off_t>(at));
    if (got < 0) return base::fail_errno("cannot read " + path, errno);
    if (static_cast<std::uint64_t>(got) != bytes) return fail(Errc::kCorrupt, "it is cut off");
    return into;
  };
  return read_head(Document::kManifest, static_cast<std::uint64_t>(status.st_size), read);
}

bool is_deleted(const std::string& folder) {
  return exists(folder + "/" + std::string(kDeletedName));
}

// Reads the folders' manifests up to the first sound one.
void read_heads(FoundAttempt& found) {
  ManifestCopies copies;
  for (const std::string& folder : found.folders) {
    auto head = head_in(folder + "/" + std::string(kManifestName));
    const bool is_there = head || head.error().os_errno != ENOENT;
    const bool is_sound = head && head->attempt == found.attempt;
    copies.add(is_sound   ? ManifestCopy::kSound
               : is_there ? ManifestCopy::kDamaged
                          : ManifestCopy::kNone,
               is_deleted(folder));
    if (!is_sound) continue;
    found.manifest.head = *std::move(head);
    break;
  }
  found.state = copies.state();
}

// Like base::read_file, but reuses the memory, for thousands of manifests.
Status read_whole(const std::string& path, std::string& into) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return base::fail_errno("cannot read " + path, errno);
  }
  auto bytes = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  if (bytes > kManifestBytesMax) {
    return fail(Errc::kLimit, "cannot read " + path + ": it is longer than " +
                                  std::to_string(kManifestBytesMax) + " bytes");
  }
  into.resize(bytes);
  for (std::uint64_t at = 0; at < bytes;) {
    const ssize_t got = ::pread(file.get(), into.data() + at, bytes - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read " + path, errno);
    if (got == 0) into.resize(bytes = at);  // truncated meanwhile
    at += static_cast<std::uint64_t>(got);
  }
  return {};
}

struct Counted {
  Manifest manifest;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> nodes;
};

std::vector<std::string> nodes_of(const Manifest& manifest) {
  std::set<std::string> names;
  for (const DataFile& file : manifest.files) {
    if (!file.node.empty()) names.insert(file.node);
  }
  return {names.begin(), names.end()};
}

Result<Counted> count_in(std::string_view bytes, Look look) {
  Counted all;
  if (look == Look::kAll) {
    all.manifest = RR_TRY(decode(Document::kManifest, bytes));
    all.tensors = all.manifest.shards.size();
    for (const Shard& shard : all.manifest.shards) all.bytes += shard.bytes;
    all.nodes = nodes_of(all.manifest);
    return all;
  }
  Summary summary = RR_TRY(summarize(Document::kManifest, bytes));
  all.manifest.head = std::move(summary.head);
  all.tensors = summary.shards;
  all.bytes = summary.bytes;
  all.nodes = std::move(summary.nodes);
  return all;
}

void add_note(FoundAttempt& found, std::string text) {
  if (std::ranges::find(found.notes, text) == found.notes.end()) {
    found.notes.push_back(std::move(text));
  }
}

// The first sound copy of the manifest counts. The others are still checked, so that damage is
// reported while a sound copy exists.
void read_manifests(FoundAttempt& found, Look look, std::string& bytes) {
  ManifestCopies copies;
  bool any_sound = false;
  for (const std::string& folder : found.folders) {
    copies.add(ManifestCopy::kNone, is_deleted(folder));
    const std::string path = folder + "/" + std::string(kManifestName);
    const Status read = read_whole(path, bytes);
    if (!read && read.error().os_errno == ENOENT) continue;
    if (read && !found.digest.empty() && found.digest == digest_of(bytes)) continue;
    auto copy = read ? count_in(bytes, look) : std::unexpected(read.error());
    if (copy && copy->manifest.head.attempt != found.attempt) {
      copy = fail(Errc::kCorrupt, "it belongs to another attempt");
    }
    copies.add(copy ? ManifestCopy::kSound : ManifestCopy::kDamaged, false);
    if (!copy) {
      add_note(found, path + ": " + copy.error().what);
    } else if (!std::exchange(any_sound, true)) {
      found.manifest = std::move(copy->manifest);
      found.tensors = copy->tensors;
      found.data_bytes = copy->bytes;
      found.nodes = std::move(copy->nodes);
      found.digest = digest_of(bytes);
    } else {
      add_note(found, path + ": it differs from the other copies");
    }
  }
  found.state = copies.state();
  for (const std::string& folder : found.folders) {
    if (any_sound && !found.verified) found.verified = says(kVerifiedName, folder, found.digest);
    if (any_sound && !found.drained) found.drained = says(kDrainedName, folder, found.digest);
  }
}

void read_marks(FoundAttempt& found) {
  for (const std::string& folder : found.folders) {
    AttemptMarks marks;
    marks.pinned = exists(folder + "/" + std::string(kPinnedName));
    marks.poisoned = poison_in(folder);
    found.add_marks(marks);
  }
}

// Adds the attempts in one directory. An error, the first one, does not end the search.
Status add_attempts(const std::string& directory, std::map<AttemptId, FoundAttempt>& attempts) {
  Status first;
  const auto listed = [&](const std::string& path) {
    auto names = folders_in(path);
    if (!names && first) first = std::unexpected(names.error());
    return std::move(names).value_or(std::vector<std::string>());
  };
  for (const std::string& step : listed(directory)) {
    if (!step.starts_with("step-")) continue;
    for (const std::string& name : listed(directory + "/" + step)) {
      const auto attempt = parse_attempt(step, name);
      if (!attempt) continue;
      FoundAttempt& found = attempts[*attempt];
      found.attempt = *attempt;
      found.folders.push_back(directory + "/" + step + "/" + name);
    }
  }
  return first;
}

Result<std::vector<FoundAttempt>> list_those(const std::vector<std::string>& directories,
                                             Look look) {
  std::map<AttemptId, FoundAttempt> attempts;
  bool any = false;
  bool any_whole = false;
  std::vector<base::Error> unread;
  for (const std::string& directory : directories) {
    std::error_code error;
    const bool is_there = std::filesystem::is_directory(directory, error);
    const Status added = add_attempts(directory, attempts);
    if (!added) unread.push_back(added.error());
    any = any || is_there;
    any_whole = any_whole || (is_there && added);
  }
  // Copies of a checkpoint are in all directories: one that could be read whole decides.
  if (attempts.empty() && !unread.empty() && !any_whole) {
    return std::unexpected(std::move(unread.front()));
  }
  if (!any) {
    return fail(Errc::kNotFound, "cannot look for checkpoints in " +
                                     base::printable(directories.empty() ? "" : directories[0]) +
                                     ": no such directory");
  }
  std::vector<FoundAttempt> all;
  std::string bytes;
  for (auto& [id, found] : attempts) {
    look == Look::kHeads ? read_heads(found) : read_manifests(found, look, bytes);
    read_marks(found);
    for (const base::Error& error : unread) add_note(found, error.what);
    all.push_back(std::move(found));
  }
  std::ranges::sort(all, is_newer, &FoundAttempt::facts);
  return all;
}

}  // namespace

AttemptFacts FoundAttempt::facts() const {
  return {state,    attempt.step, attempt.generation, attempt.token, manifest.head.sequence,
          verified, pinned,       !poisoned.empty(),  is_local()};
}

std::vector<AttemptFacts> facts_of(std::span<const FoundAttempt> all) {
  std::vector<AttemptFacts> facts;
  for (const FoundAttempt& found : all) facts.push_back(found.facts());
  return facts;
}

Result<Manifest> read_document(Document document, const std::string& path) {
  const std::string bytes = RR_TRY(base::read_file(path, kManifestBytesMax));
  auto manifest = decode(document, bytes);
  if (!manifest) manifest.error().what = "cannot use " + path + ": " + manifest.error().what;
  return manifest;
}

std::string_view word_for(AttemptState state) {
  switch (state) {
    case AttemptState::kCommitted: return "committed";
    case AttemptState::kIncomplete: return "incomplete";
    case AttemptState::kDamaged: return "damaged";
    case AttemptState::kDeleted: return "deleted";
  }
  return "unknown";
}

Result<std::vector<FoundAttempt>> list_attempts(std::span<const std::string> directories,
                                                MountThreads* threads, Look look) {
  std::unique_ptr<MountThreads> own;
  if (threads == nullptr && !directories.empty()) {
    own = std::make_unique<MountThreads>(
        std::vector<std::string>(directories.begin(), directories.end()), 1, kPatience);
    threads = own.get();
  }
  std::vector<std::string> answering;
  std::vector<std::string> notes;
  std::size_t first = 0;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    const Status answer = threads->call(i, [path = directories[i]]() -> Status {
      (void)exists(path);
      return {};
    });
    if (!answer) notes.push_back(answer.error().what);
    if (!answer) continue;
    if (answering.empty()) first = i;
    answering.push_back(directories[i]);
  }
  if (answering.empty() && !notes.empty()) {
    return base::fail_errno("cannot look for checkpoints: " + notes.front(), ETIMEDOUT);
  }
  if (answering.empty()) return list_those(answering, look);
  // A directory that stops answering at this point is an error, not a hang.
  auto all = threads->call(first, [answering, look] { return list_those(answering, look); });
  if (!all) return all;
  for (FoundAttempt& found : *all) {
    found.notes.insert(found.notes.end(), notes.begin(), notes.end());
  }
  return all;
}

Status look_closer(FoundAttempt& found, MountThreads& threads) {
  FoundAttempt closer = found;
  closer.state = AttemptState::kIncomplete;
  closer.manifest = {};
  closer.digest.clear();
  closer.nodes.clear();
  found = RR_TRY(threads.call(threads.mount_of(found.folders.front()),
                              [closer = std::move(closer)]() mutable -> Result<FoundAttempt> {
                                std::string bytes;
                                read_manifests(closer, Look::kAll, bytes);
                                return std::move(closer);
                              }));
  return {};
}

Result<FoundAttempt> newest_committed(std::span<const std::string> directories,
                                      std::chrono::milliseconds patience) {
  if (directories.empty()) return fail(Errc::kNotFound, "there is no directory to look in");
  MountThreads threads({directories.begin(), directories.end()}, 1, patience);
  for (FoundAttempt& found : RR_TRY(list_attempts(directories, &threads, Look::kHeads))) {
    if (!may_start_from(found.facts())) continue;
    RR_TRY(look_closer(found, threads));
    if (found.state == AttemptState::kCommitted) return std::move(found);
  }
  return fail(Errc::kNotFound,
              "there is no committed checkpoint in " + base::printable(directories.front()));
}

}  // namespace robustrun::checkpoint
