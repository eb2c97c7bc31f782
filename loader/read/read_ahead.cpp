#include "loader/read/read_ahead.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <ctime>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "base/io/blocking_pool.h"

namespace robustrun::loader {

// Reads one batch after the other; used by one thread at a time. Shared with the thread, which may
// outlive the loader if a read hangs.
struct ReadAhead::Reader {
  std::unique_ptr<Feed> feed;
  std::shared_ptr<BatchMemories> memories;
  std::uint32_t micro = 0;  // the next one
  bool within = false;      // it is of the feed's present step

  // What the last read has brought; it is there when `ended_` is 1.
  base::Result<Batch> found;
  std::exception_ptr thrown;

  Reader(std::unique_ptr<Feed> from, std::shared_ptr<BatchMemories> into, std::uint32_t first)
      : feed(std::move(from)), memories(std::move(into)), micro(first) {}

  base::Result<Batch> read() {
    if (!within) {
      RR_TRY(feed->next_step());
      within = true;
    } else if (micro == feed->spec().batch.micro) {
      RR_TRY(feed->next_step());
      micro = 0;
    }
    Batch batch{feed->present(), micro, 0, feed->segment_ends(micro), memories->take()};
    batch.labels = RR_TRY(feed->read(micro, batch.memory->out(batch.segments)));
    ++micro;
    return batch;
  }

  void run() {
    try {
      found = read();
    } catch (...) {  // of memory; the caller gets it
      thrown = std::current_exception();
    }
    ended_ = 1;
    ::syscall(SYS_futex, &ended_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  void begin_anew() { ended_ = 0; }
  // Waits at most `longest`, or less; returns whether the read has ended. std::atomic would wait
  // without a limit.
  bool wait(std::chrono::milliseconds longest) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const timespec limit{whole.count(), std::chrono::nanoseconds(longest - whole).count()};
    if (ended_ == 0) ::syscall(SYS_futex, &ended_, FUTEX_WAIT_PRIVATE, 0, &limit, nullptr, 0);
    return ended_ != 0;
  }
  void wait() {
    while (!wait(std::chrono::hours(1))) {
    }
  }

 private:
  std::atomic<std::uint32_t> ended_ = 0;  // 1: the last read has
  static_assert(sizeof(ended_) == sizeof(std::uint32_t));  // a futex
};

struct ReadAhead::Thread {
  boost::asio::io_context loop;
  base::BlockingPool pool{loop.get_executor(), 1, 1};
};

ReadAhead::ReadAhead(std::unique_ptr<Feed> feed) : process_(::getpid()) {
  auto memories = std::make_shared<BatchMemories>(feed->places());
  reader_ = std::make_shared<Reader>(std::move(feed), std::move(memories), 0);
}

ReadAhead::~ReadAhead() {
  leave_parent();
  reader_->feed->stop_waiting();
}

const Feed& ReadAhead::feed() const { return *reader_->feed; }

const Cursor& ReadAhead::cursor() const {
  if (!step_) return begin_;
  return micro_ == feed().spec().batch.micro ? step_->ended : step_->began;
}

std::uint32_t ReadAhead::micro() const { return micro_ == feed().spec().batch.micro ? 0 : micro_; }

void ReadAhead::leave_parent() {
  if (process_ == ::getpid()) return;
  process_ = ::getpid();
  static_cast<void>(thread_.release());
  static_cast<void>(std::make_unique<std::shared_ptr<Reader>>(reader_).release());  // never freed
  begun_ = false;
  ready_.reset();
  stale_ = true;
}

base::Status ReadAhead::renew(Cursor cursor, std::uint32_t micro) {
  auto feed = RR_TRY(reader_->feed->anew(std::move(cursor)));
  reader_ = std::make_shared<Reader>(std::move(feed), reader_->memories, micro);
  stale_ = false;
  return {};
}

base::Status ReadAhead::begin() {
  if (begun_) return {};
  if (stale_) RR_TRY(renew(cursor(), micro()));
  try {
    if (!thread_) thread_ = std::make_unique<Thread>();
  } catch (const std::system_error& error) {
    return base::fail_errno("cannot start the thread that reads data ahead", error.code().value());
  }
  reader_->begin_anew();
  // If memory is short, the pool may have a part of the job: both go, and the next call begins
  // anew.
  auto thread = std::exchange(thread_, nullptr);
  stale_ = true;
  base::Status submitted = thread->pool.submit(0, [reader = reader_] { reader->run(); }, {});
  RR_ASSERT(submitted);  // no other job waits
  thread_ = std::move(thread);
  stale_ = false;
  begun_ = true;
  return {};
}

void ReadAhead::drop() {
  reader_->feed->stop_waiting();
  if (begun_ && !reader_->wait(std::chrono::milliseconds(0))) thread_.reset();  // the read may hang
  begun_ = false;
  ready_.reset();
  stale_ = true;
}

base::Status ReadAhead::seek(Cursor cursor, std::uint32_t micro) {
  leave_parent();
  if (micro >= feed().spec().batch.micro) {
    return base::fail(base::Errc::kInvalidArgument, "a step has no such micro-batch");
  }
  drop();
  RR_TRY(renew(cursor, micro));
  step_ = nullptr;
  micro_ = micro;
  begin_ = std::move(cursor);
  return {};
}

base::Result<bool> ReadAhead::wait(std::chrono::milliseconds within) {
  leave_parent();
  if (ready_) return true;
  RR_TRY(begin());
  return reader_->wait(within);
}

std::optional<Feed::Reading> ReadAhead::reading() const { return reader_->feed->reading(); }

base::Result<const Batch*> ReadAhead::ready() {
  leave_parent();
  if (ready_) return &*ready_;
  RR_TRY(begin());
  reader_->wait();
  begun_ = false;
  if (reader_->thrown) {
    stale_ = true;  // it may have stopped anywhere
    std::rethrow_exception(reader_->thrown);
  }
  ready_ = RR_TRY(std::exchange(reader_->found, Batch{}));
  try {
    static_cast<void>(begin());
  } catch (const std::bad_alloc&) {
    return &*ready_;  // the next call begins again, as after an error: they are the next batch's
  }
  return &*ready_;
}

void ReadAhead::receive(std::uint64_t step, std::uint32_t micro) {
  if (!ready_ || ready_->step->plan.step != step || ready_->micro != micro) return;
  step_ = std::move(ready_->step);
  micro_ = micro + 1;
  ready_.reset();
}

}  // namespace robustrun::loader
