#include "agent/trainer_saves/half_written.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "agent/trainer_saves/glob_matches.h"
#include "agent/trainer_saves/limits.h"
#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::agent {
namespace {

using EntryState = EntryLook::State;

// Renames without replacing anything; returns the errno, or 0.
int rename_new(int from, const std::string& name, int to, const std::string& target) {
  if (::renameat2(from, name.c_str(), to, target.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;  // NFS knows no flags
  struct stat there{};
  if (::fstatat(to, target.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return ::renameat(from, name.c_str(), to, target.c_str()) == 0 ? 0 : errno;
}

// Returns the new name in kAsideFolder, `name` with the ending; ENOENT: another node was faster.
base::Result<std::string> move_aside(int folder, const std::string& name,
                                     const std::string& ending) {
  if (::mkdirat(folder, kAsideFolder, 0777) != 0 && errno != EEXIST) {
    return base::fail_errno(std::string("cannot create ") + kAsideFolder, errno);
  }
  const base::Fd aside(
      ::openat(folder, kAsideFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!aside) return base::fail_errno(std::string("cannot open ") + kAsideFolder, errno);
  for (std::size_t number = 1; number <= kAsideNamesMax; ++number) {
    std::string target = name + ending;
    if (number > 1) target += "." + std::to_string(number);
    const int error = rename_new(folder, name, aside.get(), target);
    if (error == 0) return target;
    if (error != EEXIST && error != ENOTEMPTY) return base::fail_errno("cannot rename it", error);
  }
  return base::fail(base::Errc::kLimit, std::string("too many of its name in ") + kAsideFolder);
}

// Names that differ in numbers alone are of one kind: checkpoint-100, checkpoint-200.
std::string without_digits(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

std::string attempt_words(base::Attempt attempt) {
  return "attempt " + std::to_string(attempt.value);
}

base::Attempt previous(base::Attempt attempt) { return base::Attempt{attempt.value - 1}; }

}  // namespace

struct HalfWritten::Found {
  const std::string& glob;
  const GlobFolder& folder;
  const std::string& name;
  EntryLook look;
  bool is_newest = true;  // newer than every whole one beside it

  [[nodiscard]] std::string path() const { return base::printable(folder.path + name); }
};

HalfWritten::Outcome HalfWritten::before_attempt(const Attempt& attempt) {
  Outcome outcome;
  std::map<std::string, EntryStamp> now;
  for (const std::string& glob : attempt.globs) {
    for (const GlobFolder& folder : glob_matches(glob, attempt.directory)) {
      std::vector<Found> found;
      for (const std::string& name : folder.names) {
        auto look = look_at_entry(folder.fd.get(), name);
        if (look) found.push_back({glob, folder, name, *std::move(look)});
      }
      judge_siblings(found);
      for (const Found& each : found) {
        now.insert_or_assign(folder.path + each.name, each.look.stamp);
        decide(attempt, each, outcome);
      }
    }
  }
  before_ = std::move(now);
  return outcome;
}

// What whole checkpoints of its kind have, a half-written one beside them lacks.
void HalfWritten::judge_siblings(std::vector<Found>& found) const {
  const auto whole = [](const Found& each) { return each.look.state == EntryState::kWhole; };
  for (Found& each : found) {
    if (whole(each)) continue;
    for (const Found& other : found) {
      if (!whole(other)) continue;
      each.is_newest = each.is_newest && each.look.stamp.changed >= other.look.stamp.changed;
      const bool is_comparable = each.look.is_folder && !other.look.marks.empty() &&
                                 without_digits(each.name) == without_digits(other.name);
      if (each.look.state != EntryState::kUnknown || !is_comparable) continue;
      each.look.state = EntryState::kHalfWritten;
      each.look.why = fmt::format("no {}, which {} has", *other.look.marks.begin(), other.path());
    }
  }
}

void HalfWritten::decide(const Attempt& attempt, const Found& found, Outcome& outcome) {
  if (found.look.state == EntryState::kWhole) return;
  const bool is_first = attempt.number.value == 0;
  bool was_written = false;
  if (before_ && !is_first) {
    const auto stamp = before_->find(found.folder.path + found.name);
    was_written = stamp == before_->end() || stamp->second != found.look.stamp;
  }
  const base::Nanos changed = found.look.stamp.changed;
  if (found.look.state == EntryState::kUnknown) {
    const bool is_late = attempt.ended && changed + kLastSeconds >= *attempt.ended;
    if (!was_written || !is_late || !attempt.is_asked_for) return;
    return say_once(attempt,
                    fmt::format("{} changed in the last seconds of {}; its format does not tell "
                                "whether it is whole, so it stays",
                                found.path(), attempt_words(previous(attempt.number))),
                    outcome);
  }
  if (!attempt.is_asked_for) {
    if (!was_written) return;
    return say_once(attempt,
                    fmt::format("{} looks half-written ({}): --checkpoints '{}' moves such "
                                "checkpoints aside before a restart",
                                found.path(), found.look.why, base::printable(found.glob)),
                    outcome);
  }
  if (was_written) {
    return move(attempt, found, attempt_words(previous(attempt.number)) + " was writing it",
                outcome);
  }
  if (!found.is_newest) return;
  const base::Nanos quiet = std::max(attempt.now - changed, base::Nanos{});
  if (quiet >= base::Nanos(is_first ? kQuietBeforeFirst : kQuietBetween)) {
    return move(attempt, found,
                fmt::format("unchanged for {}, newer than every whole one",
                            base::rough_duration_words(quiet)),
                outcome);
  }
  say_once(attempt,
           fmt::format("{} looks half-written ({}), but may still be in use: it changed {} ago, "
                       "and this run did not write it; so it stays",
                       found.path(), found.look.why, base::rough_duration_words(quiet)),
           outcome);
}

void HalfWritten::move(const Attempt& attempt, const Found& found, const std::string& how,
                       Outcome& outcome) {
  const std::string ending =
      attempt.number.value == 0 ? ".before" : ".attempt" + std::to_string(attempt.number.value - 1);
  const std::string evidence = fmt::format("{}; {}", found.look.why, how);
  const auto moved = move_aside(found.folder.fd.get(), found.name, ending);
  if (moved) {
    const std::string target = base::printable(found.folder.path + kAsideFolder + "/" + *moved);
    outcome.lines.push_back(
        fmt::format("{} is half-written ({}): moved to {}", found.path(), evidence, target));
    if (outcome.moved.size() == kMovedToldMax) return;
    outcome.moved.push_back({attempt.number, found.path(), target, evidence});
  } else if (moved.error().os_errno != ENOENT) {
    say_once(attempt,
             fmt::format("{} is half-written ({}), and stays: {}; move it away before the script "
                         "resumes from it",
                         found.path(), evidence, moved.error().what),
             outcome);
  }
}

void HalfWritten::say_once(const Attempt& attempt, const std::string& line, Outcome& outcome) {
  if (!attempt.reports || reported_.size() == kLinesOnceMax) return;
  if (reported_.insert(line).second) outcome.lines.push_back(line);
}

base::Status check_checkpoint_glob(const std::string& glob) {
  const auto wrong = [](const char* what) {
    return base::fail(base::Errc::kInvalidArgument, what);
  };
  if (glob.size() > kGlobBytesMax) return wrong("longer than 1024 bytes");
  if (glob.find("**") != std::string::npos) {
    return wrong("** is not known; * stands for one folder's name");
  }
  const std::string name = glob.substr(glob.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") {
    return wrong("it must end with the name of a file or folder, such as checkpoint-*");
  }
  return {};
}

std::vector<std::string> usual_checkpoint_globs(const std::vector<std::string>& arguments) {
  for (const std::string option : {"--output_dir", "--output-dir"}) {
    for (std::size_t at = 0; at < arguments.size(); ++at) {
      std::string folder;
      if (arguments[at].starts_with(option + "=")) folder = arguments[at].substr(option.size() + 1);
      if (arguments[at] == option && at + 1 < arguments.size()) folder = arguments[at + 1];
      if (folder.empty() || folder.find_first_of("*?[") != std::string::npos) continue;
      std::string glob = folder + (folder.ends_with('/') ? "" : "/") + "checkpoint-*";
      if (check_checkpoint_glob(glob)) return {std::move(glob)};
    }
  }
  return {};
}

}  // namespace robustrun::agent
