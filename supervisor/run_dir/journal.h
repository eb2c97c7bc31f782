#pragma once
// A run's journal: translates entries to records of base/io/journal_file.h, and back.
//
// A record's payload is written by the field codec (wire/messages/field_codec.h): the time, node
// and generation of the entry, then its body; docs/formats/journal.md lists the kinds. A reader
// skips unknown kinds and fields; fields that an older writer did not have keep their defaults.
// Journal is owned by the driver, on its loop.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/journal_file.h"
#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

class Journal {
 public:
  // Creates the file (0600), or continues an existing one after its last whole record.
  static base::Result<Journal> create(const std::string& path);
  base::Status append(const JournalEntry& entry);
  // When this returns, all appended entries survive a loss of power.
  base::Status sync();

 private:
  explicit Journal(base::JournalWriter writer) : writer_(std::move(writer)) {}
  base::JournalWriter writer_;
};

// A record without its file, also for tests and fuzzers.
struct EncodedEntry {
  std::uint32_t kind = 0;
  std::string payload;
};
EncodedEntry encode_entry(const JournalEntry& entry);
// nullopt for a kind that this version does not know. kCorrupt: the payload cannot be read. Pure.
base::Result<std::optional<JournalEntry>> decode_entry(std::uint32_t kind,
                                                       std::string_view payload);

struct JournalReadout {
  std::vector<JournalEntry> entries;
  std::uint64_t torn_bytes = 0;
  std::string damage;  // for people: what was lost before or between the entries; empty: nothing
};

// kNotFound, kCorrupt. An incomplete last record is no error, and records behind a damaged place
// are read. Records of unknown kinds are skipped.
base::Result<JournalReadout> read_run_journal(const std::string& path);

}  // namespace robustrun::supervisor
