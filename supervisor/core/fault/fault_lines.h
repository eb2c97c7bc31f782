#pragma once
// The last output of a dead worker, as lines that can be compared with patterns. Internal to core/;
// pure.
//
// A line knows the exception it belongs to: Python prints "module.Type: message" unindented below
// the frames of a traceback, and a message may have further lines. The frames themselves (source
// code, which may quote any message) are left out. torch's prefix "[rank3]: " is removed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/types/worker_events.h"

namespace robustrun::supervisor {

struct FaultLine {
  enum class Source : std::uint8_t { kStderr, kErrorFile, kStart, kNode };
  std::string_view text;
  std::string_view exception;  // its type without the module; empty: of none
  bool last_exception = false;  // it belongs to the exception that ended the script
  Source source = Source::kStderr;
  std::uint32_t xid = 0;  // if a source other than the text gave it; 0: search the text
};

// Views into `exited`: the last lines of stderr, then the first lines of the error file's message;
// of each at most kFaultLinesMax lines and kFaultEvidenceBytesMax bytes, of a line at most
// kFaultLineBytesMax.
std::vector<FaultLine> fault_lines(const WorkerExited& exited);

// "[rank3]: Traceback" -> "Traceback": torch puts the rank before each line.
std::string_view without_rank_prefix(std::string_view line);

// The type of the exception that `line` names, without its module: "OutOfMemoryError" of
// "torch.OutOfMemoryError: CUDA …". Empty: `line` names none.
std::string_view exception_type(std::string_view line);

// True for Python's exceptions for programming errors (TypeError, ...): their messages quote the
// program, and tell nothing about the machine.
bool is_programming_error(std::string_view exception);

// Whether `text` contains `pattern`, in which '*' stands for any bytes. Linear in text for each
// piece between stars.
bool contains_pattern(std::string_view text, std::string_view pattern);

// The code of "NVRM: Xid (PCI:0000:3b:00): 79, …".
std::optional<std::uint32_t> xid_of(std::string_view text);

}  // namespace robustrun::supervisor
