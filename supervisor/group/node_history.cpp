#include "supervisor/group/node_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "supervisor/control/json.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoteFileEnding = ".jsonl";
constexpr std::int64_t kLatestUnixMs = 100'000'000'000'000;  // the year 5138: later is no time

std::string line_of(const NodeNote& note) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(note.wall_time).count();
  return write_control_message({{"host", note.host},
                                {"at_ms", std::to_string(ms)},
                                {"run", note.run_id},
                                {"kind", std::string(to_string(note.kind))},
                                {"text", note.text}}) +
         "\n";
}

std::optional<NodeNote> note_of(std::string_view line) {
  auto fields = read_control_message(line);
  if (!fields) return std::nullopt;
  const auto text = [&](const char* name) { return base::printable((*fields)[name]); };
  const auto ms = base::parse_int<std::int64_t>((*fields)["at_ms"]);
  if (!ms || *ms < 0 || *ms > kLatestUnixMs) return std::nullopt;
  NodeNote note;
  note.host = text("host");
  note.run_id = text("run");
  note.text = text("text");
  note.wall_time = std::chrono::milliseconds(*ms);
  const std::string kind = text("kind");
  for (std::size_t i = 0; i < kNoteKinds; ++i) {
    note.kind = static_cast<NoteKind>(i);
    if (to_string(note.kind) == kind && !note.host.empty() && !note.run_id.empty()) return note;
  }
  return std::nullopt;
}

void read_notes(const std::string& path, NodeHistory& history) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    history.unread.push_back(path + ": it is no file that can be read");
    return;
  }
  const auto bytes =
      base::read_file(fmt::format("/proc/self/fd/{}", fd.get()), kHistoryFileBytesMax);
  if (!bytes) {
    history.unread.push_back(fmt::format("{}: it is larger than {} bytes, or cannot be read", path,
                                         kHistoryFileBytesMax));
    return;
  }
  for (const std::string_view line : base::split(*bytes, '\n')) {
    if (base::trim(line).empty()) continue;
    if (auto note = note_of(line)) {
      history.notes.push_back(*std::move(note));
    } else {
      ++history.skipped_lines;
    }
  }
}

}  // namespace

base::Status append_notes(const std::string& directory, const std::vector<NodeNote>& notes) {
  if (notes.empty()) return {};
  RR_TRY(base::make_directories(directory, 0700));
  std::map<std::string, std::string> by_run;
  for (const NodeNote& note : notes) by_run[note.run_id] += line_of(note);
  for (const auto& [run, lines] : by_run) {
    const std::string path = fmt::format("{}/{}{}", directory, run, kNoteFileEnding);
    const base::Fd fd(::open(
        path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (!fd) {
      return base::fail(base::Errc::kOs, fmt::format("cannot open {}: {}", path,
                                                     std::generic_category().message(errno)));
    }
    if (auto written = base::write_all(fd.get(), lines); !written) {
      return base::fail(written.error().code,
                        fmt::format("cannot write {}: {}", path, written.error().what));
    }
  }
  return {};
}

base::Result<NodeHistory> read_history(const std::string& directory) {
  NodeHistory history;
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, std::string>> files;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != kNoteFileEnding) continue;
    std::error_code of_file;
    files.emplace_back(it->last_write_time(of_file), it->path().string());
  }
  if (error == std::errc::no_such_file_or_directory) return history;
  if (error) {
    return base::fail(base::Errc::kOs,
                      fmt::format("cannot read {}: {}", directory, error.message()));
  }
  std::ranges::sort(files, std::greater{});
  if (files.size() > kHistoryFilesMax) files.resize(kHistoryFilesMax);
  for (const auto& [when, path] : files) read_notes(path, history);
  history.forgotten = forgotten_until(history.notes);
  drop_forgotten(history.notes);
  return history;
}

}  // namespace robustrun::supervisor
