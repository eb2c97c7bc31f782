#include <fmt/core.h>

#include <cmath>
#include <concepts>
#include <type_traits>

#include "base/core/fields.h"
#include "base/core/text.h"
#include "supervisor/core/report.h"
#include "supervisor/core/report_facts.h"

namespace robustrun::supervisor {
namespace {

// One object from a struct's field list; the members' names come from there.
class JsonWriter {
 public:
  template <class T>
  static std::string object(const T& value) {
    JsonWriter writer;
    const_cast<T&>(value).fields(writer);  // the field list is one template for all directions
    return "{" + writer.members_ + "}";
  }

  template <class T>
  void operator()(int, const char* name, const T& value) {
    if (!members_.empty()) members_ += ',';
    const char* unit = std::is_same_v<T, base::Nanos> ? "_s" : "";
    members_ += fmt::format("\"{}{}\":{}", name, unit, text(value));
  }

 private:
  template <class T>
  static std::string text(const std::optional<T>& value) {
    return value ? text(*value) : "null";
  }

  template <class T>
  static std::string text(const std::vector<T>& list) {
    std::string out;
    for (const T& value : list) out += (out.empty() ? "" : ",") + text(value);
    return "[" + out + "]";
  }

  template <class T>
  static std::string text(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return base::json_string(value);
    } else if constexpr (std::is_same_v<T, base::Nanos>) {
      return fmt::format("{}", std::chrono::duration<double>(value).count());
    } else if constexpr (std::is_same_v<T, double>) {
      return std::isfinite(value) ? fmt::format("{}", value) : "null";  // JSON has no NaN
    } else if constexpr (base::HasFields<T>) {
      return object(value);
    } else {
      static_assert(std::integral<T>);
      return fmt::format("{}", value);
    }
  }

  std::string members_;
};

}  // namespace

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
