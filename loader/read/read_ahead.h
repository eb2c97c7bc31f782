#pragma once
// The micro-batches of one rank in their order: while the rank computes on one, a thread reads the
// next one. An error of the thread is returned when the caller asks for that batch.
//
// There is memory for the batch that ready() returned, for the batches that the caller still holds,
// for the next batch, and one spare.
//
// Used by one thread. fork(2) copies no threads, so in a child process the first call makes a new
// feed with its own open files, which continues after the batch that was received last.

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
  std::uint64_t labels = 0;  // of this micro-batch, not counting kNoLabel
  std::size_t segments = 0;  // Feed::segment_ends()
  std::shared_ptr<BatchMemory> memory;
};

class ReadAhead {
 public:
  // The thread starts with the first call of wait() or ready().
  explicit ReadAhead(std::unique_ptr<Feed> feed);
  // Waits for the thread, but at most kPoolAbandonAfter (base/io/limits.h), because a read may
  // hang.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Continues with micro-batch number `micro` of the step after `cursor`. kInvalidArgument: a step
  // has no such micro-batch. Other errors: those of Feed::seek(). After an error this object is
  // where it was.
  [[nodiscard]] base::Status seek(Cursor cursor, std::uint32_t micro);

  // Waits until ready() would return at once (with a batch or an error), but not longer than
  // `within`; a signal may end the wait earlier. Returns whether ready() would return at once.
  // Errors: the thread cannot be started; or those of Feed::anew(), if the feed must be made anew
  // (after a fork, a failed start, a failed seek() or an exception).
  [[nodiscard]] base::Result<bool> wait(std::chrono::milliseconds within);
  // What the thread is reading at the moment.
  [[nodiscard]] std::optional<Feed::Reading> reading() const;
  // Waits for the batch after the one that was received last, and returns it. The thread then
  // starts to read the next batch. The returned batch is valid until receive() or seek(). After an
  // error, the next call tries again. Errors: those of wait(), of Feed::next_step() and of
  // Feed::read(). Throws what the thread threw: std::bad_alloc if memory is short.
  [[nodiscard]] base::Result<const Batch*> ready();
  // Marks the batch that ready() returned as received. No effect if that batch has another `step`
  // or `micro`.
  void receive(std::uint64_t step, std::uint32_t micro);

  // The position after the batch that was received last, as for seek(). Batches that were only read
  // ahead do not count.
  [[nodiscard]] const Cursor& cursor() const;
  [[nodiscard]] std::uint32_t micro() const;
  // The step of the batch that was received last. Null until a batch is received, and again after
  // seek().
  [[nodiscard]] const std::shared_ptr<const Feed::Step>& step() const { return step_; }
  [[nodiscard]] const Feed& feed() const;

 private:
  struct Reader;
  struct Thread;

  // Makes the thread read the next batch, unless it does so already.
  [[nodiscard]] base::Status begin();
  // Forgets what was read ahead. Waits for the thread as the destructor does.
  void drop();
  // Replaces the reader with a new one, which begins with micro-batch `micro` of the step after
  // `cursor`.
  [[nodiscard]] base::Status renew(Cursor cursor, std::uint32_t micro);
  // In a child process: forgets the parent's thread, and the memory to which it may have been
  // writing when the child was forked.
  void leave_parent();

  std::shared_ptr<Reader> reader_;  // the thread uses it while it reads (`begun_`)
  std::unique_ptr<Thread> thread_;
  int process_;  // pid of the process that has the thread
  bool begun_ = false;  // the thread has been told to read
  bool stale_ = false;  // the reader is not at cursor() and micro(): begin() replaces it
  std::optional<Batch> ready_;  // the batch that ready() returned
  std::shared_ptr<const Feed::Step> step_;  // of the batch received last
  // Index of the next micro-batch in step_ or, if step_ is null, in the step after begin_. If the
  // index equals the number of micro-batches of a step, the next one is index 0 of the next step.
  std::uint32_t micro_ = 0;
  Cursor begin_;
};

}  // namespace robustrun::loader
