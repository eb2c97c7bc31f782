#pragma once
// What a dead worker said, as lines that can be compared with patterns. Internal to core/; pure.
//
// A line knows which exception it belongs to: Python prints "module.Type: message" unindented below
// the frames of a traceback, and a message may go on over further lines. The frames themselves
// (source code, which may quote any message) are left out. torch's "[rank3]: " before lines is cut.

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
  bool last_exception = false;  // of the one that ended the script
  Source source = Source::kStderr;
  std::uint32_t xid = 0;  // of one that is known without its text; 0: see there
};

// Views into `exited`: the last lines of stderr, then the first ones of the error file's message;
// of each at most kFaultLinesMax lines and kFaultEvidenceBytesMax, of a line at most
// kFaultLineBytesMax.
std::vector<FaultLine> fault_lines(const WorkerExited& exited);

// "[rank3]: Traceback" -> "Traceback": torch puts the rank before each line.
std::string_view without_rank_prefix(std::string_view line);

// The type of the exception that `line` names, without its module: "OutOfMemoryError" of
// "torch.OutOfMemoryError: CUDA …". Empty: `line` names none.
std::string_view exception_type(std::string_view line);

// Whether it is one of Python's own for mistakes in programs (TypeError, ...): its message holds
// the program's words, which tell nothing of the machine.
bool is_programming_error(std::string_view exception);

// Whether `text` contains `pattern`, in which '*' stands for any bytes. Linear in text for each
// piece between stars.
bool contains_pattern(std::string_view text, std::string_view pattern);

// The code of "NVRM: Xid (PCI:0000:3b:00): 79, …".
std::optional<std::uint32_t> xid_of(std::string_view text);

}  // namespace robustrun::supervisor
