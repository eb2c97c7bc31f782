#pragma once
// The micro-batches of one rank in their order: while the rank computes on one, a thread makes the
// next one ready. An error is that of its batch, and is returned when that batch is asked for.
//
// There is memory for the batch that ready() returned, for those that the caller still holds, for
// the next one, and one spare.
//
// Used by one thread. fork(2) copies no threads: in a child process the first call makes a new
// feed, which opens its own files, and goes on after the batch that was received last.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/core/result.h"
#include "loader/read/batch_memory.h"
#include "loader/read/feed.h"

namespace robustrun::loader {

struct Batch {
  std::shared_ptr<const Feed::Step> step;
  std::uint32_t micro = 0;
  std::uint64_t labels = 0;  // of this micro-batch, without kNoLabel
  std::size_t segments = 0;  // Feed::segment_ends()
  std::shared_ptr<BatchMemory> memory;
};

class ReadAhead {
 public:
  // The thread starts when the first batch is asked for.
  explicit ReadAhead(std::unique_ptr<Feed> feed);
  // Waits for the thread; if that is stuck in a read, only kPoolAbandonAfter (base/io/limits.h).
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Goes on with micro-batch number `micro` of the step after `cursor`. Errors: those of
  // Feed::seek(), or a step has no such micro-batch; the loader is then where it was.
  [[nodiscard]] base::Status seek(Cursor cursor, std::uint32_t micro);

  // Waits until ready() would return at once, be it with an error; returns whether it would. Ends
  // after `within`, or earlier because of a signal. Errors: the thread cannot be started; or those
  // of Feed::anew(), if the feed must be made anew (after a fork, a failed start, a failed seek()
  // or an exception). The error of a batch is none of these: ready() returns it.
  [[nodiscard]] base::Result<bool> wait(std::chrono::milliseconds within);
  // What the thread reads at the moment.
  [[nodiscard]] std::optional<Feed::Reading> reading() const;
  // Waits for the batch after the one that was received last, and returns it. Then the thread
  // starts to read the batch after that. The returned batch is valid until receive() or seek(). The
  // call after one that returned an error tries again.
  [[nodiscard]] base::Result<const Batch*> ready();
  // Moves on from the batch that ready() has returned. No effect if that batch has another `step`
  // or `micro`.
  void receive(std::uint64_t step, std::uint32_t micro);

  // Where the next batch is, as for seek(): after the one that was received last, whatever has been
  // read ahead.
  [[nodiscard]] const Cursor& cursor() const;
  [[nodiscard]] std::uint32_t micro() const;
  // The step of the batch that was received last. Null until a batch is received, and again after
  // seek().
  [[nodiscard]] const std::shared_ptr<const Feed::Step>& step() const { return step_; }
  [[nodiscard]] const Feed& feed() const;

 private:
  struct Reader;
  struct Thread;

  // Starts the thread on the next batch, unless it reads that batch already.
  [[nodiscard]] base::Status begin();
  // Forgets what was read ahead. Waits for the thread like the destructor.
  void drop();
  // Replaces the reader with a new one, which begins with micro-batch `micro` of the step after
  // `cursor`.
  [[nodiscard]] base::Status renew(Cursor cursor, std::uint32_t micro);
  // In a child process: without the parent's thread, and without the memory that it may have been
  // writing when the child was forked.
  void leave_parent();

  std::shared_ptr<Reader> reader_;  // the thread uses it while it reads (`begun_`)
  std::unique_ptr<Thread> thread_;
  int process_;  // pid of the process that has the thread
  bool begun_ = false;  // the thread has been told to read
  bool stale_ = false;  // the reader is not at cursor() and micro(): begin() replaces it
  std::optional<Batch> ready_;  // the thread reads the one after it
  std::shared_ptr<const Feed::Step> step_;  // of the batch received last
  // Index of the next micro-batch: in step_; if that is null, in the step after begin_. If it is
  // the number of micro-batches of a step, step_ is used up: the next one is index 0 of the step
  // after it.
  std::uint32_t micro_ = 0;
  Cursor begin_;
};

}  // namespace robustrun::loader
