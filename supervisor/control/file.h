#pragma once
// The file `control` in a run directory: where the supervisor listens, and which process it is.
//
// Line 1 is the path of its socket; "host NAME" and "pid N" follow. It goes away with the run, and
// stays when the supervisor is killed: then it says where that one was. Never a reason to signal a
// process: a number may be somebody else's by now. Format: docs/formats/control-socket.md.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::supervisor {

struct ControlFile {
  std::string socket;
  std::string host;         // as gethostname() says there; empty: not known
  std::int32_t pid = 0;     // 0: not known
};

// Pure. kCorrupt when it names no socket; unknown lines are skipped.
[[nodiscard]] base::Result<ControlFile> parse_control_file(std::string_view text);
[[nodiscard]] std::string write_control_file(const ControlFile& file);

// Of a run directory. kNotFound, kPermission, kCorrupt.
[[nodiscard]] std::string control_file(const std::string& run_directory);
[[nodiscard]] base::Result<ControlFile> read_control_file(const std::string& run_directory);

// This machine's name, as in a file of its own.
[[nodiscard]] std::string this_host();

}  // namespace robustrun::supervisor
