#pragma once
// Reads planned runs of blocks (read_plan.h) with several threads per mount. The bytes are read
// into the reader's own memory, where each block's CRC is checked; then they are copied to their
// destinations. Bytes of a block with a wrong CRC are not copied.
//
// A read that hangs is given up. If it returns later, it writes only to the reader's memory, never
// to the caller's.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/disk/arena.h"
#include "checkpoint/disk/disk.h"
#include "checkpoint/disk/mount_threads.h"
#include "checkpoint/store/read_plan.h"

namespace robustrun::checkpoint {

// A run, or one block of it, that could not be read or is damaged.
struct ReadFault {
  std::size_t run = 0;  // index into `runs` of read()
  std::uint64_t offset = 0;  // from the start of the file
  std::uint64_t bytes = 0;
  bool damaged = false;  // the block was read, but its CRC is wrong
  base::Error error;  // why it could not be read, if not damaged
};

// The path of a file, and the mount whose threads read it.
struct ReadSource {
  std::string path;  // empty: its runs are skipped
  std::size_t mount = 0;
};

class BulkReader {
 public:
  // `threads` must outlive the reader.
  BulkReader(MountThreads& threads, IoWay io) : threads_(threads), io_(io) {}

  // `sources`: one per file of the manifest. Returns the faults, sorted by run and offset. The only
  // error is a lack of memory.
  base::Result<std::vector<ReadFault>> read(const Manifest& manifest, std::span<const ReadRun> runs,
                                            std::span<const ReadSource> sources);

 private:
  MountThreads& threads_;
  IoWay io_;
  std::shared_ptr<Arena> arena_;  // kept from call to call; grows
};

}  // namespace robustrun::checkpoint
