#pragma once
// The memory of machines over runs: a folder with a file per run, which is only appended to, and
// merged when it is read. No database: the folder may lie on a shared file
// system.
//
// A file is <run id>.jsonl, a line per note:
//   {"at_ms":"1700000000250","host":"n3","kind":"lost","run":"r-…","text":"…"}
// at_ms: Unix time; kind: as in core/node_note.h. Readers skip lines that they do not understand.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/status/node_note.h"

namespace robustrun::supervisor {

// Appends them to the file of their run in `directory`, which is made if need be (0700). Nothing to
// do without notes. Errors name the path.
[[nodiscard]] base::Status append_notes(const std::string& directory,
                                        const std::vector<NodeNote>& notes);

struct NodeHistory {
  std::vector<NodeNote> notes;  // of all runs, in no particular order
  std::uint64_t skipped_lines = 0;  // that are no notes
  std::vector<std::string> unread;  // files that could not be read, with the cause
};

// Links and other than regular files are not followed; at most kHistoryFilesMax of the newest files
// are read, of each at most kHistoryFileBytesMax. A folder that is not there is an empty history.
[[nodiscard]] base::Result<NodeHistory> read_history(const std::string& directory);

}  // namespace robustrun::supervisor
