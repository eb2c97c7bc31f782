#pragma once
// The file `control` in a run directory: where the supervisor listens, and its process.
//
// Line 1 is the path of its socket; "host NAME" and "pid N" follow. It is removed with the run;
// when the supervisor is killed, it stays and tells where the supervisor was. Never signal a
// process because of it: the pid may belong to another process by now. Format:
// docs/formats/control-socket.md.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::supervisor {

struct ControlFile {
  std::string socket;
  std::string host;         // from gethostname(); empty: unknown
  std::int32_t pid = 0;     // 0: unknown
};

// Pure. kCorrupt when it names no socket; unknown lines are skipped.
[[nodiscard]] base::Result<ControlFile> parse_control_file(std::string_view text);
[[nodiscard]] std::string write_control_file(const ControlFile& file);

// Of a run directory. kNotFound, kPermission, kCorrupt.
[[nodiscard]] std::string control_file(const std::string& run_directory);
[[nodiscard]] base::Result<ControlFile> read_control_file(const std::string& run_directory);

// This machine's name, as its own control files have it.
[[nodiscard]] std::string this_host();

}  // namespace robustrun::supervisor
