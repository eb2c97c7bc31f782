#pragma once
// A run's journal: events and decisions to records of base/io/journal_file and back.
// docs/formats/journal.md describes the records.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/journal_file.h"
#include "supervisor/core/report.h"

namespace robustrun::supervisor {

class Journal {
 public:
  static base::Result<Journal> create(const std::string& path);
  base::Status append(const JournalEntry& entry);
  base::Status sync();

 private:
  explicit Journal(base::JournalWriter writer) : writer_(std::move(writer)) {}
  base::JournalWriter writer_;
};

struct JournalReadout {
  std::vector<JournalEntry> entries;
  std::uint64_t torn_bytes = 0;
};

// kNotFound, kCorrupt; a torn tail is no error. Records of unknown kinds are skipped.
base::Result<JournalReadout> read_run_journal(const std::string& path);

}  // namespace robustrun::supervisor
