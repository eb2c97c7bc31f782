#include "bootstrap/blocks/blob_reads.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/io/log.h"
#include "bootstrap/store/direct_file.h"

namespace robustrun::bootstrap {

using base::Nanos;

struct BlobReads::Read {
  std::uint64_t number = 0;
  base::Nanos due{};
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // not 0, within the blob
  std::uint64_t first = 0;   // blocks
  std::uint64_t last = 0;
  std::mutex mutex;            // guards the members below
  Answer answer;               // empty: already answered
  std::uint64_t missing = 0;   // blocks
  std::vector<char> gathered;  // of more than one block

  [[nodiscard]] bool is_of_whole_blocks(std::uint64_t blob_length) const {
    const std::uint64_t end = offset + length;
    return offset % kBlockBytes == 0 && (end % kBlockBytes == 0 || end == blob_length);
  }
};

namespace {

std::span<char> thread_buffer() {
  thread_local const DirectBuffer buffer(kReadBytesMax);
  return buffer.bytes();
}

}  // namespace

BlobReads::BlobReads(BlockStore& store, BlockSupply& supply, TouchRecorder& recorder,
                     const base::Clock& clock, std::chrono::nanoseconds budget)
    : store_(store),
      supply_(supply),
      recorder_(recorder),
      clock_(clock),
      budget_(budget),
      deadline_thread_([this] { run_deadlines(); }) {}

BlobReads::~BlobReads() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_all();
  deadline_thread_.join();
  const auto left = std::exchange(waiting_, {});
  for (const auto& [number, read] : left) {
    finish(read, base::fail(base::Errc::kCancelled, "the server is shutting down"));
  }
}

void BlobReads::read(std::uint64_t offset, std::uint64_t length, Answer answer) {
  length = offset >= store_.length() ? 0 : std::min(length, store_.length() - offset);
  if (length == 0) return answer(std::span<const char>{});
  supply_.note_read();
  auto read = std::make_shared<Read>();
  read->offset = offset;
  read->length = length;
  read->first = offset / kBlockBytes;
  read->last = (offset + length - 1) / kBlockBytes;
  read->answer = std::move(answer);
  if (is_served_at_once(read)) return;
  if (const auto entered = enter(read); !entered) {
    return finish(read, std::unexpected(entered.error()));
  }
  recorder_.touch(read->first, read->last);
  if (read->is_of_whole_blocks(store_.length())) {
    return supply_.run_local([this, read] { serve_blocks(read); });
  }
  if (is_verified(*read)) {
    supply_.run_local([this, read] { serve_part(read); });
  } else {
    gather(read);
  }
}

bool BlobReads::is_verified(const Read& read) const {
  for (std::uint64_t block = read.first; block <= read.last; ++block) {
    if (!store_.is_verified(block)) return false;
  }
  return true;
}

// Serves parts that are in the page cache on the caller's thread, which saves two thread switches.
bool BlobReads::is_served_at_once(const ReadPtr& read) {
  if (read->length > kReadBytesMax || read->is_of_whole_blocks(store_.length()) ||
      !is_verified(*read)) {
    return false;
  }
  const std::span<char> bytes = thread_buffer().first(read->length);
  if (!store_.read_range_at_once(read->offset, bytes)) return false;
  recorder_.touch(read->first, read->last);
  store_bytes_ += bytes.size();
  read->answer(std::span<const char>(bytes));
  return true;
}

base::Status BlobReads::enter(const ReadPtr& read) {
  const std::lock_guard lock(mutex_);
  if (refusal_) return std::unexpected(*refusal_);
  if (read->length > kReadBytesMax || waiting_.size() >= kReadsWaitingMax) {
    return base::fail(base::Errc::kLimit, "too many pending reads, or the read is too long");
  }
  read->number = next_number_++;
  // The same budget for all, so deadlines are in the order of numbers.
  read->due = clock_.now() + budget_;
  if (waiting_.empty()) wake_.notify_one();
  waiting_.emplace(read->number, read);
  return {};
}

void BlobReads::refuse(base::Error why) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(why);
}

void BlobReads::serve_blocks(const ReadPtr& read) {
  const std::span<char> bytes = thread_buffer().first(read->length);
  const auto found = store_.read_past_cache(read->first, bytes);
  if (!found || !*found) return gather(read);
  store_bytes_ += bytes.size();
  finish(read, std::span<const char>(bytes));
}

void BlobReads::serve_part(const ReadPtr& read) {
  const std::span<char> bytes = thread_buffer().first(read->length);
  const auto found = store_.read_range(read->offset, bytes);
  if (!found || !*found) return gather(read);  // the store has lost bytes: fetch block by block
  store_bytes_ += bytes.size();
  finish(read, std::span<const char>(bytes));
}

void BlobReads::gather(const ReadPtr& read) {
  if (auto error = failed_before(*read)) return finish(read, std::unexpected(*std::move(error)));
  read->missing = read->last - read->first + 1;
  for (std::uint64_t block = read->first; block <= read->last; ++block) {
    supply_.want(block, Urgency::kDemand,
                 [this, read, block](const base::Result<std::span<const char>>& bytes) {
                   take_block(read, block, bytes);
                 });
  }
}

void BlobReads::take_block(const ReadPtr& read, std::uint64_t block,
                           const base::Result<std::span<const char>>& bytes) {
  if (!bytes) {
    note_failed(block, block, bytes.error());
    return finish(read, std::unexpected(bytes.error()));
  }
  const std::uint64_t begin = std::max(read->offset, block * kBlockBytes);
  const std::uint64_t end =
      std::min(read->offset + read->length, block * kBlockBytes + bytes->size());
  const auto part = bytes->subspan(begin - block * kBlockBytes, end - begin);
  if (read->first == read->last) return finish(read, part);
  {
    const std::lock_guard lock(read->mutex);
    if (!read->answer) return;
    read->gathered.resize(read->length);
    std::memcpy(read->gathered.data() + (begin - read->offset), part.data(), part.size());
    if (--read->missing > 0) return;
  }
  finish(read, std::span<const char>(read->gathered));
}

void BlobReads::finish(const ReadPtr& read, base::Result<std::span<const char>> result) {
  Answer answer;
  {
    const std::lock_guard lock(read->mutex);
    answer = std::exchange(read->answer, nullptr);
  }
  if (!answer) return;
  {
    const std::lock_guard lock(mutex_);
    waiting_.erase(read->number);
  }
  if (!result) {
    ++errors_;
    report_failure(*read, result.error());
  }
  answer(std::move(result));
}

std::optional<base::Error> BlobReads::failed_before(const Read& read) {
  const std::lock_guard lock(mutex_);
  if (failed_.empty()) return std::nullopt;
  for (std::uint64_t block = read.first; block <= read.last; ++block) {
    const auto found = failed_.find(block);
    const bool is_failed = found != failed_.end() && clock_.now() < found->second.until;
    // Prefetching may have fetched it meanwhile.
    if (is_failed && !store_.is_verified(block)) return found->second.error;
  }
  return std::nullopt;
}

void BlobReads::note_failed(std::uint64_t first, std::uint64_t last, const base::Error& error) {
  const std::lock_guard lock(mutex_);
  const Nanos now = clock_.now();
  if (failed_.size() >= kFailedMax) {
    std::erase_if(failed_, [now](const auto& each) { return each.second.until <= now; });
  }
  for (std::uint64_t block = first; block <= last && failed_.size() < kFailedMax; ++block) {
    if (!store_.is_verified(block)) {
      failed_.insert_or_assign(block, Failed{now + kFailedFor, error});
    }
  }
}

void BlobReads::forget_failures() {
  const std::lock_guard lock(mutex_);
  failed_.clear();
}

void BlobReads::on_failure(std::function<void(const std::string&)> failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
}

// Rate-limited: a program that reads again and again would fill a disk with these lines.
void BlobReads::report_failure(const Read& read, const base::Error& error) {
  const Nanos now = clock_.now();
  std::function<void(const std::string&)> failure;
  {
    const std::lock_guard lock(mutex_);
    if (now < report_due_) return;
    report_due_ = now + kFailureLogEvery;
    const bool is_our_own =
        error.code == base::Errc::kLimit || error.code == base::Errc::kCancelled;
    if (!is_our_own) failure = failure_;
  }
  if (failure) failure(error.what);
  RR_LOG(kError, ({}), "a read of {} bytes at {} fails: {}", read.length, read.offset, error.what);
}

void BlobReads::run_deadlines() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (waiting_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const ReadPtr late = waiting_.begin()->second;
    const Nanos left = late->due - clock_.now();
    if (left > Nanos{}) {
      wake_.wait_for(lock, left);
      continue;
    }
    lock.unlock();
    const base::Error error{base::Errc::kTimeout, 0,
                            fmt::format("neither the store nor peers nor the source delivered it "
                                        "in {} s",
                                        budget_ / std::chrono::seconds(1))};
    note_failed(late->first, late->last, error);
    finish(late, std::unexpected(error));
    lock.lock();
  }
}

void BlobReads::fill_status(BlockServerStatus& status) const {
  {
    const std::lock_guard lock(mutex_);
    status.waiting = waiting_.size();
  }
  status.errors = errors_;
  status.store_bytes += store_bytes_;
}

}  // namespace robustrun::bootstrap
