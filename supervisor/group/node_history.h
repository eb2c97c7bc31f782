#pragma once
// The machines' history across runs: a folder with one append-only file per run; the files are
// merged when they are read. No database, as the folder may be on a shared file system.
//
// A file is <run id>.jsonl, a line per note:
//   {"at_ms":"1700000000250","host":"n3","kind":"lost","run":"r-…","text":"…"}
// `robustrun nodes forget` writes notes whose kind and whose run are both "forgotten".
// at_ms: Unix time; kind: as in core/status/node_note.h. Readers skip lines that they do not
// understand.

#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/status/node_note.h"

namespace robustrun::supervisor {

// Appends each note to the file of its run in `directory`, which is created if needed (0700). Does
// nothing if there are no notes. Errors name the path; some notes may have been written before.
[[nodiscard]] base::Status append_notes(const std::string& directory,
                                        const std::vector<NodeNote>& notes);

struct NodeHistory {
  std::vector<NodeNote> notes;  // of all runs, in no particular order, without forgotten ones
  std::uint64_t skipped_lines = 0;  // lines that are not notes
  std::vector<std::string> unread;  // files that could not be read, with the cause
  std::map<std::string, base::Nanos> forgotten{};  // by host: notes up to this time do not count
};

// Reads the newest kHistoryFilesMax files. A file goes to `unread` if it is longer than
// kHistoryFileBytesMax, a link, or not a regular file. A missing folder is an empty history. kOs:
// the folder cannot be read.
[[nodiscard]] base::Result<NodeHistory> read_history(const std::string& directory);

}  // namespace robustrun::supervisor
