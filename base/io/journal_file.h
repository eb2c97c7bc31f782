#pragma once
// The append-only file of records under a run's journal: bytes in, bytes out, no meaning.
//
// Layout (docs/formats/journal.md): 64-byte header (magic "RRJOURNL", u32 format version, u32
// segment, 16-byte random key, zeros, u64 XXH3), then records  u32 payload length | u32 kind |
// u64 sequence | payload | u64 XXH3 of the record so far, seeded by the key.  Little endian. A
// record that was cut while it was written ends the file; a writer truncates the file there (torn
// tail). Damage before good records, and whole records at the end that are damaged, are passed over
// and reported. A damaged header is an error for readers and writers, so that no good record is
// ever cut off. Idea and discipline: leveldb's log_format.

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

// Bytes before good records that do not form a record, or whole damaged records behind the last
// one.
struct JournalDamage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  // Number of lost records, from the sequence numbers before and after the damage; at the end of
  // the file at least so many, and 0 there if the rest of the file was too large to be searched.
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
// version; a file cut inside its header yields no records and counts as torn. kLimit: it is longer
// than kJournalBytesMax.
Result<JournalContents> read_journal(const std::string& path);

class JournalWriter {
 public:
  // Creates the file (0600), or opens one after its last whole record; kCorrupt if unsearched.
  static Result<JournalWriter> open(const std::string& path);
  JournalWriter(JournalWriter&&) noexcept;
  JournalWriter& operator=(JournalWriter&&) noexcept;
  ~JournalWriter();

  // One write(2); on return the record is in the page cache (it survives our SIGKILL). After an
  // error the file is cut back to the last whole record and the next append tries again (a process
  // with a file size limit must ignore SIGXFSZ to see that error).
  Status append(std::uint32_t kind, std::string_view payload);
  // fdatasync of the file (and, once, fsync of its folder), before an irrevocable action.
  Status sync();

 private:
  struct State;
  explicit JournalWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::base
