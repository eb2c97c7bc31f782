#pragma once
// Reads planned runs with several threads for each mount: past the page cache into memory of the
// reader's own, CRC by block while the bytes are hot, then to where they are wanted. Bytes whose
// block was not right are not handed out.
//
// A read that hangs is given up. The callers' memory is never the target of a disk's transfer, so
// that nothing is written there afterwards.

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

// What could not be had: of a run, or of one block of it.
struct ReadFault {
  std::size_t run = 0;
  std::uint64_t offset = 0;  // from the beginning of the file
  std::uint64_t bytes = 0;
  bool damaged = false;      // it was read, and its CRC is not right
  base::Error error;         // else: why it could not be read
};

// Where a file is, and the mount whose threads read it.
struct ReadSource {
  std::string path;  // empty: its runs are left out
  std::size_t mount = 0;
};

class BulkReader {
 public:
  BulkReader(MountThreads& threads, IoWay io) : threads_(threads), io_(io) {}  // not owned

  // `sources` by the manifest's files. Answers what failed, by run and offset.
  base::Result<std::vector<ReadFault>> read(const Manifest& manifest, std::span<const ReadRun> runs,
                                            std::span<const ReadSource> sources);

 private:
  MountThreads& threads_;
  IoWay io_;
  std::shared_ptr<Arena> arena_;  // kept from call to call; grows
};

}  // namespace robustrun::checkpoint
