#pragma once
// Reads of a blob's bytes, whatever blocks they lie in: each is answered once, with the bytes or an
// error, at the latest when its time is over. Thread-safe; callers never wait.
//
// A read of whole blocks, which most are when the kernel reads far ahead, is checked against their
// sums every time, and leaves nothing in the page cache: the kernel keeps the image's own pages.
// Of a part, the whole block is read into the page cache and checked the first time; later parts
// come from there, or from the disk again, unchecked.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/block_store.h"
#include "bootstrap/blocks/block_supply.h"
#include "bootstrap/blocks/touch_recorder.h"

namespace robustrun::bootstrap {

class BlobReads {
 public:
  // The bytes last as long as the call; fewer than were asked for only at the end of the blob.
  using Answer = std::move_only_function<void(base::Result<std::span<const char>>)>;

  BlobReads(BlockStore& store, BlockSupply& supply, TouchRecorder& recorder,
            const base::Clock& clock, std::chrono::nanoseconds budget);
  // Answers what still waits. No read may be asked for any more, and the supply must be gone, or
  // never deliver again.
  ~BlobReads();
  BlobReads(const BlobReads&) = delete;
  BlobReads& operator=(const BlobReads&) = delete;

  void read(std::uint64_t offset, std::uint64_t length, Answer answer);
  void fill_status(BlockServerStatus& status) const;

 private:
  struct Read;
  using ReadPtr = std::shared_ptr<Read>;

  [[nodiscard]] bool is_verified(const Read& read) const;
  bool is_served_at_once(const ReadPtr& read);
  bool enter(const ReadPtr& read);  // false: too many wait
  void serve_blocks(const ReadPtr& read);
  void serve_part(const ReadPtr& read);
  void gather(const ReadPtr& read);
  void take_block(const ReadPtr& read, std::uint64_t block,
                  const base::Result<std::span<const char>>& bytes);
  void finish(const ReadPtr& read, base::Result<std::span<const char>> result);
  void log_failure(const Read& read, const base::Error& error);
  void run_deadlines();

  BlockStore& store_;
  BlockSupply& supply_;
  TouchRecorder& recorder_;
  const base::Clock& clock_;
  const base::Nanos budget_;
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint64_t> store_bytes_{0};

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable wake_;
  bool is_over_ = false;
  base::Nanos log_due_{};
  std::uint64_t next_number_ = 1;  // 0: none
  std::map<std::uint64_t, ReadPtr> waiting_;  // by number: the first one's time is over first
  std::thread deadline_thread_;
};

}  // namespace robustrun::bootstrap
