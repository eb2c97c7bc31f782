#pragma once
// The append-only file of records under a run's journal. It does not interpret payloads.
//
// Layout (docs/formats/journal.md), little endian: a header of 64 bytes (magic "RRJOURNL", u32
// format version, u32 segment, 16-byte random key, zeros, u64 XXH3), then records:
//   u32 payload length | u32 kind | u64 sequence | payload | u64 XXH3 of the record so far
// The first 8 bytes of the key seed the records' hashes. A record that was cut while it was written
// ends the file (torn tail); a writer truncates the file there. Damage before good records, and
// whole damaged records at the end, are skipped and reported. A damaged header is an error for
// readers and writers, so that no good record is ever cut off. After leveldb's log format.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

struct JournalRecord {
  std::uint32_t kind = 0;
  std::uint64_t sequence = 0;
  std::string payload;
};

// A damaged part of the file: bytes before a good record that do not form a record, or whole
// damaged records behind the last good one.
struct JournalDamage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  // Number of lost records, by the sequence numbers around the damage. At the end of the file more
  // may be lost; 0: the rest of the file was too large to be searched.
  std::uint64_t records = 0;
};

struct JournalContents {
  std::vector<JournalRecord> records;
  std::vector<JournalDamage> damage;  // in order of offsets
  std::uint64_t torn_bytes = 0;  // bytes after the last whole record
  std::uint64_t next_sequence = 0;  // of the record that a writer appends
};

inline constexpr std::uint32_t kJournalFormatVersion = 1;
inline constexpr std::size_t kJournalRecordBytesMax = std::size_t{16} << 20;

// Reads all good records of `path`. kCorrupt when the header is damaged, foreign or of another
// version; a file cut inside its header yields no records and counts as torn. kLimit: the file is
// longer than kJournalBytesMax.
Result<JournalContents> read_journal(const std::string& path);

class JournalWriter {
 public:
  // Creates the file (0600), or opens one to continue after its last whole record. Errors are those
  // of read_journal(), and kCorrupt if the damage at the end was too large to be searched.
  static Result<JournalWriter> open(const std::string& path);
  JournalWriter(JournalWriter&&) noexcept;
  JournalWriter& operator=(JournalWriter&&) noexcept;
  ~JournalWriter();

  // On return the record is in the page cache, so it survives a SIGKILL of this process. kLimit:
  // `payload` is longer than kJournalRecordBytesMax. After another error the file is cut back to
  // the last whole record, and the next append tries again. A process with a file size limit must
  // ignore SIGXFSZ to see that error.
  Status append(std::uint32_t kind, std::string_view payload);
  // Before an irrevocable action: fdatasync of the file and, once, fsync of its folder.
  Status sync();

 private:
  struct State;
  explicit JournalWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::base
