#include <fmt/core.h>

#include "base/core/text.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/types/json_writer.h"

namespace robustrun::supervisor {
std::string report_json(const RunReport& report) { return JsonWriter::object(report); }

// Two forms, as torch's ErrorHandler knows them: with a call stack the message is an object and
// gets the exit code; a plain message stays as it is.
std::string nested_error_json(const std::vector<JournalEntry>& entries) {
  const Facts facts = gather(entries);
  const Failure* root = root_cause(facts);
  if (root == nullptr || root->exited == nullptr || root->exited->error_file.empty()) return "";
  const WorkerExited& worker = *root->exited;
  const std::string message = base::json_string(worker.error_message);
  const std::string timestamp = fmt::format("\"timestamp\":\"{}\"", failure_second(facts, *root));
  if (worker.error_callstack.empty()) {
    return fmt::format("{{\"message\":{},{}}}", message, timestamp);
  }
  const std::string extra = fmt::format("{{\"py_callstack\":{},{}}}",
                                        base::json_string(worker.error_callstack), timestamp);
  return fmt::format("{{\"message\":{{\"message\":{},\"extraInfo\":{},\"errorCode\":{}}}}}",
                     message, extra, worker.status().torchrun_code());
}

}  // namespace robustrun::supervisor
