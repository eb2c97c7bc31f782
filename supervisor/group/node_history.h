#pragma once
// The machines' history over runs: a folder with one append-only file per run; the files are merged
// when they are read. No database, as the folder may be on a shared file system.
//
// A file is <run id>.jsonl, a line per note:
//   {"at_ms":"1700000000250","host":"n3","kind":"lost","run":"r-…","text":"…"}
// `robustrun nodes forget` writes a note of kind "forgotten" under a run of that name. at_ms: Unix
// time; kind: as in core/node_note.h. Readers skip lines that they do not understand.

#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/status/node_note.h"

namespace robustrun::supervisor {

// Appends notes of one run to its file in `directory`, which is created if needed (0700). Does
// nothing without notes. Errors name the path.
[[nodiscard]] base::Status append_notes(const std::string& directory,
                                        const std::vector<NodeNote>& notes);

struct NodeHistory {
  std::vector<NodeNote> notes;  // of all runs, in no particular order, without forgotten ones
  std::uint64_t skipped_lines = 0;  // lines that are not notes
  std::vector<std::string> unread;  // files that could not be read, with the cause
  std::map<std::string, base::Nanos> forgotten{};  // by host: notes until then do not count
};

// Reads only regular files, no links: at most the newest kHistoryFilesMax files, and of each at
// most kHistoryFileBytesMax. A missing folder is an empty history.
[[nodiscard]] base::Result<NodeHistory> read_history(const std::string& directory);

}  // namespace robustrun::supervisor
