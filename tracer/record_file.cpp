#include "tracer/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

#include "base/core/text.h"
#include "tracer/limits.h"
#include "tracer/progress_record.h"
#include "tracer/record_collectives.h"

namespace robustrun::tracer {
namespace {

using base::Errc;

base::Status write_at(int fd, const void* data, std::size_t size, std::size_t offset) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::pwrite(fd, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::fail_errno("cannot write the progress record", errno);
    bytes += written;
    size -= static_cast<std::size_t>(written);
    offset += static_cast<std::size_t>(written);
  }
  return {};
}

// Reads into `bytes` and returns the number of bytes read, fewer than bytes.size() at the end of
// the file.
base::Result<std::size_t> read_into(int fd, std::span<char> bytes, std::size_t offset) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read the progress record", errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

base::Result<std::string> read_at(int fd, std::size_t size, std::size_t offset) {
  std::string bytes(size, '\0');
  bytes.resize(RR_TRY(read_into(fd, bytes, offset)));
  return bytes;
}

base::Result<std::uint64_t> read_sequence(int fd) {
  std::uint64_t sequence = 0;
  const std::string bytes =
      RR_TRY(read_at(fd, sizeof sequence, offsetof(ProgressRecord, sequence)));
  // A truncated file looks like sequence 0 here; decode_record() checks the length.
  if (bytes.size() == sizeof sequence) std::memcpy(&sequence, bytes.data(), sizeof sequence);
  return sequence;
}

std::unexpected<base::Error> corrupt(const char* what) {
  return base::fail(Errc::kCorrupt, std::string("cannot use the progress record: ") + what);
}

bool is_time(std::uint64_t word) {
  return word <= static_cast<std::uint64_t>(std::numeric_limits<base::Nanos::rep>::max());
}

std::optional<base::Nanos> time_of(std::uint64_t word) {
  if (word == 0) return std::nullopt;
  return base::Nanos(static_cast<base::Nanos::rep>(word));
}

// An impossible time counts as missing, because these times are only reported.
std::optional<base::Nanos> mark_of(std::uint64_t word) {
  return is_time(word) ? time_of(word) : std::nullopt;
}

template <std::size_t kBytes>
std::string text_of(const std::array<char, kBytes>& text) {
  return base::printable({text.data(), ::strnlen(text.data(), text.size())});
}

}  // namespace

DataWaits decode_data(std::string_view bytes) {
  RecordData data;
  if (bytes.size() < sizeof data) return {};
  std::memcpy(&data, bytes.data(), sizeof data);
  constexpr std::uint64_t kTimeMax = std::uint64_t{1} << 62U;  // so that sums of two are times
  if (data.data_waited_ns > kTimeMax || data.data_waiting_since_ns > kTimeMax) return {};
  DataWaits waits;
  waits.batches = data.data_batches;
  waits.skipped = data.data_skipped;
  waits.waited = base::Nanos(static_cast<base::Nanos::rep>(data.data_waited_ns));
  waits.since = time_of(data.data_waiting_since_ns);
  // Texts that are just being written are unknown: the next reading has them.
  if (!waits.since || data.data_sequence % 2 != 0) return waits;
  const std::string source = text_of(data.data_source);
  const std::string path = text_of(data.data_path);
  if (!source.empty()) waits.place = "source " + source;
  if (!path.empty()) waits.place += waits.place.empty() ? path : ", " + path;
  return waits;
}

base::Result<Reading> decode_record(std::string_view bytes) {
  ProgressRecord record;
  if (bytes.size() < sizeof record) return corrupt("it was cut short");
  std::memcpy(&record, bytes.data(), sizeof record);
  if (record.magic != kRecordMagic) return corrupt("its first bytes were overwritten");
  if (record.major != kRecordMajor) return corrupt("its version was overwritten");
  if (record.metric_count > kMetricsMax) return corrupt("it claims too many metrics");
  if (record.has_step > 1) return corrupt("its step flag is neither 0 nor 1");
  for (const std::uint64_t at : {record.boot_at_ns, record.user_code_at_ns, record.first_step_at_ns,
                                 record.last_step_at_ns}) {
    if (!is_time(at)) return corrupt("it holds an impossible time");
  }
  Reading reading;
  reading.worker_pid = record.worker_pid;
  reading.steps = record.steps;
  if (record.has_step == 1) reading.step = record.step;
  if (record.steps_before > 0) reading.steps_before = record.steps_before - 1;
  reading.boot_at = time_of(record.boot_at_ns);
  reading.user_code_at = time_of(record.user_code_at_ns);
  reading.first_step_at = time_of(record.first_step_at_ns);
  reading.last_step_at = time_of(record.last_step_at_ns);
  reading.start = {mark_of(record.imports_done_at_ns), mark_of(record.group_begin_at_ns),
                   mark_of(record.group_done_at_ns),   mark_of(record.load_begin_at_ns),
                   mark_of(record.load_done_at_ns),    mark_of(record.optimizer_at_ns)};
  for (std::size_t i = 0; i < record.metric_count; ++i) {
    std::string name = text_of(record.metrics[i].name);
    if (!name.empty()) reading.metrics.emplace_back(std::move(name), record.metrics[i].value);
  }
  return reading;
}

base::Result<RecordFile> RecordFile::create(const std::string& path, base::Rank rank,
                                            base::Attempt attempt) {
  // Never write through an existing file: it may be a link, or a stray may still map it.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::fail_errno("cannot replace the progress record " + path, errno);
  }
  base::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return base::fail_errno("cannot create the progress record " + path, errno);
  RecordFile file(std::move(fd), path);

  ProgressRecord record{};
  record.magic = kRecordMagic;
  record.major = kRecordMajor;
  record.minor = kRecordMinor;
  record.rank = rank.value;
  record.attempt = attempt.value;
  std::string page(kRecordBytes, '\0');
  std::memcpy(page.data(), &record, sizeof record);
  // Allocate blocks instead of leaving a hole: the worker's first store must not find the disk
  // full.
  int failed = 0;
  do {
    failed = ::posix_fallocate(file.fd_.get(), 0, kCollectivesEnd);
  } while (failed == EINTR);
  base::Status status;
  if (failed != 0) status = base::fail_errno("cannot reserve its blocks", failed);
  if (status) status = write_at(file.fd_.get(), page.data(), page.size(), 0);
  if (!status) {
    file.unlink();
    return base::fail_errno("cannot create the progress record " + path, status.error().os_errno);
  }
  return file;
}

base::Result<Reading> RecordFile::read() const {
  for (int attempt = 0; attempt < kReadAttemptsMax; ++attempt) {
    const std::uint64_t before = RR_TRY(read_sequence(fd_.get()));
    const std::string bytes = RR_TRY(read_at(fd_.get(), sizeof(ProgressRecord), 0));
    const std::uint64_t after = RR_TRY(read_sequence(fd_.get()));
    if (before == after && before % 2 == 0) return decode_record(bytes);
  }
  return base::fail(Errc::kUnavailable,
                    "cannot read the progress record: the worker is in the middle of a write");
}

DataWaits RecordFile::read_data() const {
  const auto bytes = read_at(fd_.get(), sizeof(RecordData), kRecordDataAt);
  return bytes ? decode_data(*bytes) : DataWaits{};
}

EndMarks RecordFile::read_end() const {
  RecordEnd end{};
  const auto bytes = read_at(fd_.get(), sizeof end, kRecordEndAt);
  if (!bytes || bytes->size() < sizeof end) return {};
  std::memcpy(&end, bytes->data(), sizeof end);
  EndMarks marks{.returned_at = mark_of(end.script_returned_at_ns), .finished_at = {}};
  if (marks.returned_at) marks.finished_at = mark_of(end.script_finished_at_ns);
  return marks;
}

base::ScriptEnd EndMarks::script_end() const {
  if (!returned_at) return base::ScriptEnd::kNotSeen;
  return finished_at ? base::ScriptEnd::kFinished : base::ScriptEnd::kReturned;
}

base::Result<std::optional<Reading>> RecordFile::read_news() {
  // The first page and the first word behind it, which says whether the first slot is in use.
  std::array<char, kCommunicatorsAt + sizeof(std::uint64_t)> bytes;
  const auto size = read_into(fd_.get(), bytes, 0);
  std::uint64_t in_use = 0;
  if (size && *size == bytes.size()) {
    std::memcpy(&in_use, &bytes[kCommunicatorsAt + offsetof(RecordCommunicator, in_use)],
                sizeof in_use);
  }
  has_first_communicator_ = in_use != 0;
  const std::string_view record(bytes.data(), std::min(size.value_or(0), sizeof(ProgressRecord)));
  const std::string_view data = std::string_view(bytes.data(), size.value_or(0))
                                    .substr(std::min(size.value_or(0), kRecordDataAt))
                                    .substr(0, sizeof(RecordData));
  if (!record.empty() && record == known_ && data == known_data_) return std::nullopt;
  known_.clear();  // if the read fails, the next successful one is news
  Reading reading = RR_TRY(read());
  reading.data = decode_data(data);
  known_data_ = data;
  std::uint64_t sequence = 0;
  if (record.size() == sizeof(ProgressRecord)) {
    std::memcpy(&sequence, &bytes[offsetof(ProgressRecord, sequence)], sizeof sequence);
  }
  // If the record changed between the two reads, the next call finds a difference and reads again.
  if (sequence % 2 == 0) known_ = record;
  return reading;
}

base::Result<std::string> RecordFile::read_all() const {
  return read_at(fd_.get(), kCollectivesEnd, 0);
}

base::Result<std::string> RecordFile::read_communicators() const {
  return read_at(fd_.get(), kOperationsAt - kCommunicatorsAt, kCommunicatorsAt);
}

base::Result<std::string> RecordFile::read_traffic() const {
  return read_at(fd_.get(), kTagsAt - kEdgesAt, kEdgesAt);
}

base::Status RecordFile::set_event_mask(std::uint64_t mask) {
  return write_at(fd_.get(), &mask, sizeof mask, kWantedMaskAt);
}

base::Status RecordFile::announce_stop(std::uint8_t reason, base::Nanos deadline) {
  const auto deadline_ns = static_cast<std::uint64_t>(deadline.count());
  const auto reason_word = static_cast<std::uint64_t>(reason);
  // The deadline first: a worker that sees the reason finds the deadline in place.
  RR_TRY(write_at(fd_.get(), &deadline_ns, sizeof deadline_ns,
                  offsetof(ProgressRecord, stop_deadline_ns)));
  return write_at(fd_.get(), &reason_word, sizeof reason_word,
                  offsetof(ProgressRecord, stop_reason));
}

void RecordFile::unlink() { ::unlink(path_.c_str()); }

}  // namespace robustrun::tracer
