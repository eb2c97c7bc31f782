#pragma once
// Creates and reads the file of a progress record. Used on the agent's loop.
//
// The worker may do anything to the file: truncate it, fill it with noise, die in the middle of a
// write. Each call still returns after a few reads or writes of bounded size.

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

// When the stages of a worker's start happened (CLOCK_MONOTONIC), as the worker recorded them.
// None: not yet, or an impossible time. imports_done_at is 1 ns while an import is running.
struct StartMarks {
  std::optional<base::Nanos> imports_done_at, group_begin_at, group_done_at;
  std::optional<base::Nanos> load_begin_at, load_done_at, optimizer_at;
  friend bool operator==(const StartMarks&, const StartMarks&) = default;
};

// When the script returned, and when its exit handlers had run (CLOCK_MONOTONIC).
struct EndMarks {
  std::optional<base::Nanos> returned_at, finished_at;  // `finished_at` only with `returned_at`
  [[nodiscard]] base::ScriptEnd script_end() const;
};

// How long the script has waited for training data.
struct DataWaits {
  std::uint64_t batches = 0;  // that the script has received
  std::uint64_t skipped = 0;  // records that the training skips (max_skips)
  base::Nanos waited{};  // all waits that have ended
  std::optional<base::Nanos> since;  // start of the current wait (CLOCK_MONOTONIC)
  std::string place;  // of the current wait: "source web, /data/web-0.bin"; empty: unknown
  friend bool operator==(const DataWaits&, const DataWaits&) = default;
};

// The contents of the ProgressRecord.
struct Reading {
  std::uint64_t worker_pid = 0;
  std::uint64_t steps = 0;  // optimizer steps (or robustrun.step calls) of this process
  std::optional<std::int64_t> step;  // the number last given to robustrun.step(n)
  // Steps of earlier processes, by the state of this worker's optimizer.
  std::optional<std::uint64_t> steps_before;
  std::optional<base::Nanos> boot_at, user_code_at, first_step_at, last_step_at;
  std::vector<std::pair<std::string, double>> metrics;  // names are printable UTF-8
  StartMarks start;
  DataWaits data;  // set by read_news() only
  friend bool operator==(const Reading&, const Reading&) = default;
};

class RecordFile {
 public:
  // Creates the file `path` (0600) in place of an existing one. Preallocates the blocks, so that a
  // full disk is an error here and not a SIGBUS in the worker. Takes 0.2 ms on tmpfs.
  static base::Result<RecordFile> create(const std::string& path, base::Rank rank,
                                         base::Attempt attempt);
  // Reads the ProgressRecord; Reading::data stays empty (see read_data()). Fails with kCorrupt if
  // the worker overwrote it, and with kUnavailable if each of kReadAttemptsMax reads met the worker
  // in the middle of a write.
  [[nodiscard]] base::Result<Reading> read() const;
  // For polling: as read(), with Reading::data; nullopt, after a single read of the file, if no
  // part of a Reading has changed since the last call.
  [[nodiscard]] base::Result<std::optional<Reading>> read_news();
  // Whether the first slot of the communicators' table was in use at the last read_news(). NCCL's
  // plugin takes this slot first.
  [[nodiscard]] bool has_first_communicator() const { return has_first_communicator_; }
  // These return the bytes of parts of the file, fewer if it was truncated: the whole file, for
  // read_collectives(); the communicators' table, for count_communicators(); the tables of edges
  // and rates, for read_traffic() of collectives_reader.h.
  [[nodiscard]] base::Result<std::string> read_all() const;
  [[nodiscard]] base::Result<std::string> read_communicators() const;
  [[nodiscard]] base::Result<std::string> read_traffic() const;
  // Sets the events that the worker's NCCL shall report from now on; 0: the plugin's default.
  base::Status set_event_mask(std::uint64_t mask);
  // The waits for training data. Empty if the file cannot be read, or its times are impossible.
  [[nodiscard]] DataWaits read_data() const;
  // How far the worker's script has come. Empty also if the file cannot be read.
  [[nodiscard]] EndMarks read_end() const;
  // Tells the worker that a stop follows: its reason (wire::StopReason) and deadline
  // (CLOCK_MONOTONIC).
  base::Status announce_stop(std::uint8_t reason, base::Nanos deadline);
  // Removes the file's name. The object stays usable: read() still works.
  void unlink();

 private:
  RecordFile(base::Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  base::Fd fd_;
  std::string path_;
  std::string known_;  // the bytes that the last read_news() decoded
  std::string known_data_;  // the same, from kRecordDataAt on
  bool has_first_communicator_ = false;
};

// Decodes the words from kRecordDataAt on. Pure.
[[nodiscard]] DataWaits decode_data(std::string_view bytes);

// Decodes the ProgressRecord in `bytes`, which were read while the sequence lock was even and
// unchanged. Fails with kCorrupt if the worker overwrote the record. Pure.
base::Result<Reading> decode_record(std::string_view bytes);

}  // namespace robustrun::tracer
