#pragma once
// Making and reading the file of a progress record. Used by the agent, from its loop.
//
// The worker may do anything to the file: truncate it, fill it with noise, die in the middle of a
// write. Every call returns after a few small reads or writes, whatever it did.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/core/result.h"
#include "base/core/script_end.h"
#include "base/io/fd.h"

namespace robustrun::tracer {

// Moments of a worker's start, as it says: any of them may be nonsense.
struct StartMarks {
  std::optional<base::Nanos> imports_done_at, group_begin_at, group_done_at;
  std::optional<base::Nanos> load_begin_at, load_done_at, optimizer_at;
  friend bool operator==(const StartMarks&, const StartMarks&) = default;
};

struct Reading {
  std::uint64_t worker_pid = 0;
  std::uint64_t steps = 0;
  std::optional<std::int64_t> step;
  std::optional<std::uint64_t> steps_before;  // by other processes, as its optimizer's state tells
  std::optional<base::Nanos> boot_at, user_code_at, first_step_at, last_step_at;
  std::vector<std::pair<std::string, double>> metrics;  // names are printable UTF-8
  StartMarks start;
  friend bool operator==(const Reading&, const Reading&) = default;
};

class RecordFile {
 public:
  // Makes `path` anew (0600, preallocated: a full disk shows here, not as a SIGBUS in the worker;
  // 0.2 ms on tmpfs).
  static base::Result<RecordFile> create(const std::string& path, base::Rank rank,
                                         base::Attempt attempt);
  // kCorrupt: the worker overwrote it with nonsense; kUnavailable: caught in the middle of a
  // write three times. Whatever the worker does to the file, this returns.
  [[nodiscard]] base::Result<Reading> read() const;
  // For one who looks again and again: nothing where the worker has written nothing since the last
  // call, which costs one read of the file.
  [[nodiscard]] base::Result<std::optional<Reading>> read_news();
  // Whether there was a communicator in the table's first slot, of all those of NCCL the first to
  // be taken, at the last read_news().
  [[nodiscard]] bool has_first_communicator() const { return has_first_communicator_; }
  // The bytes of the whole file, or as many as there are, at most kCollectivesEnd: for
  // read_collectives(). And those of the communicators' table alone, for count_communicators().
  [[nodiscard]] base::Result<std::string> read_all() const;
  [[nodiscard]] base::Result<std::string> read_communicators() const;
  // The events that the worker's NCCL shall report from now on; 0: the plugin's own choice.
  base::Status set_event_mask(std::uint64_t mask);
  // Of a worker that has ended. kNotSeen also when the file cannot be read.
  [[nodiscard]] base::ScriptEnd read_end() const;
  // Tells the worker why it will be stopped and until when.
  base::Status announce_stop(std::uint8_t reason, base::Nanos deadline);
  // The handle outlives the file: read() goes on working after unlink.
  void unlink();

 private:
  RecordFile(base::Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  base::Fd fd_;
  std::string path_;
  std::string known_;  // the bytes that the last read_news() has decoded
  bool has_first_communicator_ = false;
};

// The bytes of a record, of which the sequence lock has been checked. Pure. kCorrupt as above.
base::Result<Reading> decode_record(std::string_view bytes);

}  // namespace robustrun::tracer
