#pragma once
// The last output of a dead worker, as lines that can be compared with patterns. Internal to core/;
// pure.
//
// Each line has the exception that it belongs to. Python prints "module.Type: message" unindented
// below the frames of a traceback, and a message may have further lines. The frames are left out:
// they quote source code, which may contain any message. torch's prefix "[rank3]: " is removed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/types/worker_events.h"

namespace robustrun::supervisor {

struct FaultLine {
  // kStart: the error of a failed start. kNode: a report about a machine.
  enum class Source : std::uint8_t { kStderr, kErrorFile, kStart, kNode };
  std::string_view text;
  std::string_view exception;  // its type, without the module; empty: the line belongs to none
  bool last_exception = false;  // the line belongs to the exception that ended the script
  Source source = Source::kStderr;
  std::uint32_t xid = 0;  // the NVIDIA driver's error code, if known; 0: look in the text
};

// The last lines of stderr, then the first lines of the error file's message, as views into
// `exited`. Of stderr and of the message at most kFaultLinesMax lines and kFaultEvidenceBytesMax
// bytes each; of a line at most kFaultLineBytesMax bytes.
std::vector<FaultLine> fault_lines(const WorkerExited& exited);

// "[rank3]: Traceback" -> "Traceback": torch puts the rank before each line.
std::string_view without_rank_prefix(std::string_view line);

// The type of the exception that `line` names, without its module: "OutOfMemoryError" of
// "torch.OutOfMemoryError: CUDA …". Empty: `line` names none.
std::string_view exception_type(std::string_view line);

// True for Python's exceptions for programming errors (TypeError, ...): their messages quote the
// program, and tell nothing about the machine.
bool is_programming_error(std::string_view exception);

// Whether `text` contains `pattern`, in which '*' stands for any bytes. Takes time linear in `text`
// for each piece between stars.
bool contains_pattern(std::string_view text, std::string_view pattern);

// The Xid (error code of the NVIDIA driver) in "NVRM: Xid (PCI:0000:3b:00): 79, …"; nullopt: `text`
// has no such part.
std::optional<std::uint32_t> xid_of(std::string_view text);

}  // namespace robustrun::supervisor
