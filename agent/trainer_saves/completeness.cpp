#include "agent/trainer_saves/completeness.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/node/folder.h"
#include "agent/node/worker_json.h"
#include "agent/trainer_saves/file_marks.h"
#include "agent/trainer_saves/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using FileState = FileVerdict::State;

constexpr const char* kTrainerState = "trainer_state.json";
constexpr const char* kMetadata = ".metadata";
constexpr const char* kLastMarks[] = {kTrainerState, kMetadata, "random_states_0.pkl"};
constexpr std::string_view kArchiveEndings[] = {".pt", ".pth", ".ckpt", ".bin", ".pkl"};
constexpr std::string_view kIndexEnding = ".index.json";
constexpr int kDepthMax = 2;  // a checkpoint's folder, and the folders in it

base::Nanos modified_at(const struct stat& file) {
  return std::chrono::seconds(file.st_mtim.tv_sec) + base::Nanos(file.st_mtim.tv_nsec);
}

// Shorter where the file ends.
base::Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t size = 0;
  while (size < bytes) {
    const ssize_t got =
        ::pread(fd, text.data() + size, bytes - size, static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("it cannot be read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

bool is_archive(std::string_view name) {
  return std::ranges::any_of(kArchiveEndings, [&](auto ending) { return name.ends_with(ending); });
}

bool is_json(std::string_view name) {
  return name == kTrainerState || name.ends_with(kIndexEnding);
}

bool has_marks(std::string_view name) {
  return is_archive(name) || is_json(name) || name == kMetadata || name.ends_with(".safetensors") ||
         name.ends_with(".distcp");
}

base::Result<FileVerdict> judge_archive(int fd, std::uint64_t size) {
  const std::string head = RR_TRY(read_at(fd, 0, 4));
  if (head != std::string_view("PK\3\4", 4)) return FileVerdict{};  // torch.save before 1.6
  const std::size_t bytes = std::min<std::uint64_t>(size, kZipTailBytes);
  return judge_zip(RR_TRY(read_at(fd, size - bytes, bytes)), size);
}

base::Result<FileVerdict> judge_tensors(int fd, std::uint64_t size) {
  const auto header_bytes = safetensors_header_bytes(RR_TRY(read_at(fd, 0, 8)));
  if (!header_bytes) return FileVerdict{FileState::kCutOff, "ends within its header"};
  const bool is_read = *header_bytes <= kHeaderReadMax && *header_bytes <= size;
  const std::string header = is_read ? RR_TRY(read_at(fd, 8, *header_bytes)) : std::string();
  return judge_safetensors(*header_bytes, header, size);
}

// `text`: receives the content of a JSON file that is whole.
base::Result<FileVerdict> judge_file(int folder, const std::string& name, std::uint64_t size,
                                     std::string& text) {
  if (!has_marks(name)) return FileVerdict{};
  // SageMaker's trainer makes this empty file.
  if (size == 0 && name == "user_content.pt") return FileVerdict{};
  if (size == 0) return FileVerdict{FileState::kCutOff, "is empty"};
  if (name == kMetadata) return FileVerdict{FileState::kWhole};
  if (name.ends_with(".distcp")) return FileVerdict{};
  const base::Fd fd(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return base::fail_errno("it cannot be opened", errno);
  if (name.ends_with(".safetensors")) return judge_tensors(fd.get(), size);
  if (is_archive(name)) return judge_archive(fd.get(), size);
  if (size > kJsonReadMax) return FileVerdict{};
  text = RR_TRY(read_at(fd.get(), 0, size));
  return judge_json(text);
}

bool is_numbered_checkpoint(std::string_view name) {
  constexpr std::string_view kPrefix = "checkpoint-";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  return name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

// As the names of checkpoints have, unlike those of other folders: logs, runs.
bool has_number(std::string_view name) {
  return name.find_first_of("0123456789") != std::string_view::npos;
}

// Everything that a trainer writes beside the state: configuration and vocabulary.
bool is_side_file(std::string_view name) {
  constexpr std::string_view kEndings[] = {".json", ".txt", ".jinja", ".md", ".model"};
  return name != kTrainerState && !name.ends_with(kIndexEnding) &&
         std::ranges::any_of(kEndings, [&](auto ending) { return name.ends_with(ending); });
}

class FolderLook {
 public:
  explicit FolderLook(EntryLook& look) : look_(look) {}

  base::Status look(int parent, const std::string& name, const std::string& prefix, int depth);

 private:
  using Names = std::map<std::string, struct stat>;

  base::Result<Names> list(DIR* folder);
  void judge_files(int folder, const Names& names, const std::string& prefix);
  void judge_names(const Names& names, const std::string& prefix);
  void judge_shards(const Names& names, const std::string& prefix);
  void note(const std::string& flaw) {
    if (look_.why.empty()) look_.why = flaw;
  }

  EntryLook& look_;
  std::vector<std::string> listed_;  // shards that an index of this folder names
  std::size_t names_left_ = kEntryNamesMax;
  std::size_t reads_left_ = kEntryFilesReadMax;
};

base::Result<FolderLook::Names> FolderLook::list(DIR* folder) {
  Names names;
  // readdir() leaves errno as it is at the end of the folder.
  while (const dirent* entry = (errno = 0, ::readdir(folder))) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names_left_ == 0) break;
    --names_left_;
    struct stat found{};
    if (::fstatat(::dirfd(folder), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    look_.stamp.changed = std::max(look_.stamp.changed, modified_at(found));
    if (S_ISREG(found.st_mode)) {
      ++look_.stamp.files;
      look_.stamp.bytes += static_cast<std::uint64_t>(found.st_size);
    }
    names.emplace(name, found);
  }
  if (errno != 0) return base::fail_errno("it cannot be listed", errno);
  return names;
}

base::Status FolderLook::look(int parent, const std::string& name, const std::string& prefix,
                              int depth) {
  base::Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return base::fail_errno("it cannot be opened", errno);
  const Folder folder(::fdopendir(fd.get()));
  if (!folder) return base::fail_errno("it cannot be listed", errno);
  static_cast<void>(fd.release());
  const Names names = RR_TRY(list(folder.get()));
  listed_.clear();
  judge_files(::dirfd(folder.get()), names, prefix);
  // With too many names to list, none can be called missing.
  if (names_left_ > 0) judge_names(names, prefix);
  if (depth == 1 && names_left_ > 0) {
    const bool is_numbered = is_numbered_checkpoint(name);
    if (names.empty() && has_number(name)) note("empty folder");
    if (is_numbered && names.contains("training_args.bin") && !names.contains(kTrainerState)) {
      note("no trainer_state.json");
    }
    if (is_numbered && !names.empty() && std::ranges::all_of(names, [](const auto& each) {
          return S_ISREG(each.second.st_mode) && is_side_file(each.first);
        })) {
      note("no weights");
    }
  }
  if (depth == kDepthMax) return {};
  for (const auto& [inner, found] : names) {
    if (!S_ISDIR(found.st_mode)) continue;
    // A folder that cannot be read, or is gone by now, tells nothing.
    static_cast<void>(look(::dirfd(folder.get()), inner, prefix + inner + "/", depth + 1));
  }
  return {};
}

void FolderLook::judge_files(int folder, const Names& names, const std::string& prefix) {
  for (const auto& [name, found] : names) {
    if (!S_ISREG(found.st_mode) || !has_marks(name) || reads_left_ == 0) continue;
    --reads_left_;
    std::string text;
    const auto verdict = judge_file(folder, name, static_cast<std::uint64_t>(found.st_size), text);
    if (!verdict) continue;
    if (verdict->state == FileState::kCutOff) note(prefix + name + " " + verdict->why);
    if (verdict->state != FileState::kWhole) continue;
    if (prefix.empty() && std::ranges::find(kLastMarks, name) != std::end(kLastMarks)) {
      look_.marks.insert(name);
    }
    if (!name.ends_with(kIndexEnding)) continue;
    if (auto shards = parse_shard_index(text)) std::ranges::move(*shards, back_inserter(listed_));
  }
}

void FolderLook::judge_names(const Names& names, const std::string& prefix) {
  for (const std::string& shard : listed_) {
    if (shard.find('/') != std::string::npos || names.contains(shard)) continue;
    return note(fmt::format("no {}{}, which the index lists", prefix, base::printable(shard)));
  }
  judge_shards(names, prefix);
  const bool is_dcp =
      std::ranges::any_of(names, [](const auto& each) { return each.first.ends_with(".distcp"); });
  if (is_dcp && !names.contains(kMetadata)) note("no " + prefix + kMetadata);
}

void FolderLook::judge_shards(const Names& names, const std::string& prefix) {
  std::map<std::string, std::pair<ShardName, unsigned>> series;  // and how many are there
  for (const auto& [name, found] : names) {
    if (const auto shard = parse_shard_name(name)) {
      ++series.try_emplace(shard->series, *shard, 0U).first->second.second;
    }
  }
  for (const auto& [name, shards] : series) {
    const auto& [one, there] = shards;
    if (there == one.count) continue;
    for (unsigned number = 1; number <= one.count; ++number) {
      const std::string wanted = shard_name(one, number);
      if (!names.contains(wanted)) return note("no " + prefix + base::printable(wanted));
    }
  }
}

}  // namespace

base::Result<EntryLook> look_at_entry(int parent, const std::string& name) {
  struct stat found{};
  if (::fstatat(parent, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return base::fail_errno("it cannot be examined", errno);
  }
  EntryLook look;
  look.stamp.changed = modified_at(found);
  if (S_ISDIR(found.st_mode)) {
    look.is_folder = true;
    RR_TRY(FolderLook(look).look(parent, name, "", 1));
    if (!look.marks.empty()) look.state = EntryLook::State::kWhole;
  } else if (S_ISREG(found.st_mode)) {
    look.stamp.files = 1;
    look.stamp.bytes = static_cast<std::uint64_t>(found.st_size);
    std::string text;
    const auto verdict = RR_TRY(judge_file(parent, name, look.stamp.bytes, text));
    if (verdict.state == FileState::kWhole) look.state = EntryLook::State::kWhole;
    if (verdict.state == FileState::kCutOff) look.why = "it " + verdict.why;
  } else {
    return base::fail(base::Errc::kInvalidArgument, "it is neither a file nor a folder");
  }
  if (!look.why.empty()) look.state = EntryLook::State::kHalfWritten;
  return look;
}

}  // namespace robustrun::agent
