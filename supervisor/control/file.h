#pragma once
// The file `control` in a run directory: where the supervisor listens, and its process.
//
// Line 1 is the path of the socket; "host NAME" and "pid N" follow. The supervisor removes the file
// when it ends. If it is killed, the file stays and tells where the supervisor was. Do not send
// signals to the pid: it may belong to another process by now. Format:
// docs/formats/control-socket.md.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::supervisor {

struct ControlFile {
  std::string socket;
  std::string host;  // from gethostname(); empty: unknown
  std::int32_t pid = 0;  // 0: unknown
};

// Pure. kCorrupt if the text names no socket; unknown lines are skipped.
[[nodiscard]] base::Result<ControlFile> parse_control_file(std::string_view text);
[[nodiscard]] std::string write_control_file(const ControlFile& file);

// The path of the file.
[[nodiscard]] std::string control_file(const std::string& run_directory);
// kNotFound, kPermission, kCorrupt.
[[nodiscard]] base::Result<ControlFile> read_control_file(const std::string& run_directory);

// This machine's name, as its control files contain it; empty: unknown.
[[nodiscard]] std::string this_host();

}  // namespace robustrun::supervisor
