#include "checkpoint/catalog.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/limits.h"
#include "checkpoint/paths.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;

std::vector<std::string> folders_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  const std::filesystem::directory_iterator end;
  while (!error && entries != end && names.size() < kAttemptsMax) {
    if (entries->is_directory(error)) names.push_back(entries->path().filename().string());
    entries.increment(error);
  }
  return names;
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool says_verified(const std::string& folder, const std::string& digest) {
  const auto words = read_control_line(folder + "/" + std::string(kVerifiedName));
  return words && words->size() == 2 && words->back() == digest;
}

// The first sound copy of the manifest counts; the others are looked at all the same, so that
// damage is said while there still is a sound one.
void read_manifests(FoundAttempt& found) {
  bool damaged = false;
  bool deleted = false;
  for (const std::string& folder : found.folders) {
    deleted = deleted || exists(folder + "/" + std::string(kDeletedName));
    const std::string path = folder + "/" + std::string(kManifestName);
    auto bytes = base::read_file(path, kManifestBytesMax);
    if (!bytes && bytes.error().os_errno == ENOENT) continue;
    auto manifest = bytes ? decode(Document::kManifest, *bytes) : std::unexpected(bytes.error());
    if (manifest && manifest->head.attempt != found.attempt) {
      manifest = fail(Errc::kCorrupt, "it is of another attempt");
    }
    if (!manifest) {
      damaged = true;
      found.notes.push_back(path + ": " + manifest.error().what);
    } else if (found.state != AttemptState::kCommitted) {
      found.state = AttemptState::kCommitted;
      found.manifest = std::move(*manifest);
      found.digest = digest_of(*bytes);
    } else if (found.digest != digest_of(*bytes)) {
      found.notes.push_back(path + ": it differs from the other copies");
    }
  }
  if (found.state != AttemptState::kCommitted) {
    found.state = damaged   ? AttemptState::kDamaged
                  : deleted ? AttemptState::kDeleted
                            : AttemptState::kIncomplete;
  }
  for (const std::string& folder : found.folders) {
    found.verified =
        found.verified || (!found.digest.empty() && says_verified(folder, found.digest));
    found.pinned = found.pinned || exists(folder + "/" + std::string(kPinnedName));
  }
}

bool newer(const FoundAttempt& a, const FoundAttempt& b) {
  const auto key = [](const FoundAttempt& found) {
    const Head& head = found.manifest.head;
    return std::tuple(found.state == AttemptState::kCommitted, found.attempt.generation,
                      head.sequence, head.wall_time_ns, found.attempt.step, found.attempt.token);
  };
  return key(a) > key(b);
}

}  // namespace

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

Result<std::vector<FoundAttempt>> list_attempts(std::span<const std::string> directories) {
  std::map<AttemptId, FoundAttempt> attempts;
  bool any = false;
  for (const std::string& directory : directories) {
    std::error_code error;
    any = any || std::filesystem::is_directory(directory, error);
    for (const std::string& step : folders_in(directory)) {
      if (!step.starts_with("step-")) continue;
      for (const std::string& name : folders_in(directory + "/" + step)) {
        const auto attempt = parse_attempt(step, name);
        if (!attempt) continue;
        FoundAttempt& found = attempts[*attempt];
        found.attempt = *attempt;
        found.folders.push_back(directory + "/" + step + "/" + name);
      }
    }
  }
  if (!any) {
    return fail(Errc::kNotFound, "cannot look for checkpoints in " +
                                     base::printable(directories.empty() ? "" : directories[0]) +
                                     ": no such directory");
  }
  std::vector<FoundAttempt> all;
  for (auto& [id, found] : attempts) {
    read_manifests(found);
    all.push_back(std::move(found));
  }
  std::ranges::sort(all, newer);
  return all;
}

Result<FoundAttempt> newest_committed(std::span<const std::string> directories) {
  std::vector<FoundAttempt> all = RR_TRY(list_attempts(directories));
  if (all.empty() || all.front().state != AttemptState::kCommitted) {
    return fail(Errc::kNotFound,
                "there is no committed checkpoint in " + base::printable(directories.front()));
  }
  return std::move(all.front());
}

}  // namespace robustrun::checkpoint
