#pragma once
// Reads what a profile names into the page cache before the program needs it.
//
// Owned by the agent, on its loop. Reads on threads of its own, kReadsInFlight at a time, in the
// profile's order and with the lowest best-effort I/O priority, so that the program's own reads go
// first if the disk's scheduler supports priorities. Uses pread(2) instead of hints (posix_fadvise,
// readahead), which the kernel silently cuts short and network file systems ignore. Also makes the
// kernel cache the names that an import looks up: stats the source of a compiled module, and lists
// a folder when the first file in it is read.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/core/clock.h"
#include "bootstrap/hot/hot_profile.h"

namespace robustrun::bootstrap {

struct ReadAheadSummary {
  std::uint64_t files = 0;  // files in the profile
  std::uint64_t changed = 0;  // files among them that are missing, unreadable or changed
  std::uint64_t bytes = 0;  // bytes read
  base::Nanos took{};
};

// Whether so many files have changed that a new profile should be recorded.
[[nodiscard]] bool is_outdated(const ReadAheadSummary& summary);

class ReadAhead {
 public:
  using Done = std::function<void(const ReadAheadSummary&)>;

  // Starts to read. Calls `done` on the loop when everything is read, but never after the
  // destructor. `clock` must outlive this object.
  ReadAhead(boost::asio::any_io_executor executor, const base::Clock& clock, HotProfile profile,
            Done done);
  // Stops reading; a hanging read is left to its thread.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::bootstrap
