#pragma once
// Reads the files of a hung job into one snapshot of all ranks: progress records, dumps of the
// Flight Recorder (pickle or JSON), reports of NCCL's RAS. Pure but for `read`, which the caller
// passes.
//
// A dump does not hold its rank: torch appends the rank to the file name. gloo does not list a
// group's members: the ranks that have used a group count as its members, and all ranks as members
// of the default group. The time of a dump is unknown, too (files are copied): ages are relative to
// the newest time in any dump. A dump without entries means only that its rank recorded nothing.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::cli {

struct NamedFile {
  std::string path;
  bool named = true;  // by the user; false: found in a folder, among other files
};

struct Gathered {
  tracer::FleetSnapshot fleet;
  std::vector<std::string> notes;  // what was skipped or is missing, and why
};

// Called twice for a dump: it is read again once all groups are known, so that the dumps are
// never all in memory at once.
using ReadFile = std::function<base::Result<std::string>(const std::string& path)>;

// Errors: a file that the user named is unreadable or of no known kind, the rank of a dump is
// unknown, two dumps or two records have the same rank, or no file is usable. A text about one file
// names it.
[[nodiscard]] base::Result<Gathered> gather(const std::vector<NamedFile>& files,
                                            const ReadFile& read);

// The rank at the end of a dump's name ("nccl_trace_rank_12", "dump.3.json"). kInvalidArgument: it
// has none.
[[nodiscard]] base::Result<std::uint32_t> rank_in_name(const std::string& path);

}  // namespace robustrun::cli
