#pragma once
// Files that jobs leave behind, of whatever kind, as one snapshot of all ranks: progress records,
// dumps of the Flight Recorder (pickle or JSON), reports of NCCL's RAS. Pure but for the reading,
// which the caller hands in.
//
// A dump does not say whose it is: torch writes the rank at the end of the file's name. Nor does
// gloo say who belongs to a group: those that have used it do, and everybody to the default group.
// When a dump was written is not known either (files are copied): ages end with the newest time in
// any of them. A dump without entries tells that its rank wrote down nothing, and no more than
// that.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::cli {

struct NamedFile {
  std::string path;
  bool named = true;  // by the user; else found in a folder, where other things may lie as well
};

struct Gathered {
  tracer::FleetSnapshot fleet;
  std::vector<std::string> notes;  // what was passed over or is missing, and why
};

// May be called twice for a file: dumps are read again once all groups are known, so that not all
// of them are in memory at a time.
using ReadFile = std::function<base::Result<std::string>(const std::string& path)>;

// The error names the file: one that the user named and that is of no known kind or cannot be
// read, one whose rank is not told, two of one rank, or no file of use at all.
[[nodiscard]] base::Result<Gathered> gather(const std::vector<NamedFile>& files,
                                            const ReadFile& read);

// The rank at the end of a dump's name ("nccl_trace_rank_12", "dump.3.json"). kInvalidArgument: it
// has none.
[[nodiscard]] base::Result<std::uint32_t> rank_in_name(const std::string& path);

}  // namespace robustrun::cli
