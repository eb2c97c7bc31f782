#pragma once
// Brings what a profile names into the page cache, before the program asks for it.
//
// Owned by the agent, on its loop; reads on threads of its own, kReadsInFlight at a time, in the
// profile's order and with the lowest priority of I/O that still makes progress, so that what a
// program asks for itself goes first where the disk's scheduler looks at that. By pread(2): a hint
// (posix_fadvise, readahead) is cut short by the kernel without a word, and ignored by file systems
// of networks; a read is neither, and says when it failed. Names are looked up as an import does:
// a compiled module's source, and all of a folder the first time that something in it is wanted.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/core/clock.h"
#include "bootstrap/hot/hot_profile.h"

namespace robustrun::bootstrap {

struct ReadAheadSummary {
  std::uint64_t files = 0;  // of the profile
  std::uint64_t changed = 0;  // of these: gone, unreadable, or others by now
  std::uint64_t bytes = 0;  // that were read
  base::Nanos took{};
};

// So much of what it names has changed that a profile should be made anew.
[[nodiscard]] bool is_outdated(const ReadAheadSummary& summary);

class ReadAhead {
 public:
  using Done = std::function<void(const ReadAheadSummary&)>;

  // Begins at once; `done` is called on the loop when all is read, never after the destructor.
  ReadAhead(boost::asio::any_io_executor executor, const base::Clock& clock, HotProfile profile,
            Done done);
  // Ends the reading; a read that hangs is left to its thread.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::bootstrap
