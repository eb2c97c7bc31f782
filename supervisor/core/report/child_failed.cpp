#include "supervisor/core/report/child_failed.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/core/text.h"
#include "supervisor/core/report/facts.h"

namespace robustrun::supervisor {
namespace {

constexpr const char* kErrorClass =
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ";
constexpr const char* kNoTraceback =
    "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
constexpr const char* kNotAvailable = "<N/A>";
constexpr std::size_t kBorderMax = 60;

// Python's name of a signal: of the real-time signals Python names only the first and the last, and
// it calls SIGPOLL SIGIO.
std::string python_signal_name(int signal) {
  constexpr int kFirstRealTime = 34;
  constexpr int kLastRealTime = 64;
  if (signal == kFirstRealTime) return "SIGRTMIN";
  if (signal == kLastRealTime) return "SIGRTMAX";
  if (signal == SIGIO) return "SIGIO";
  const std::string name = base::signal_name(signal);
  return name.starts_with("SIG") && signal < kFirstRealTime ? name : kNotAvailable;
}

std::string local_time(std::int64_t unix_seconds) {
  const std::time_t seconds = unix_seconds;
  std::tm when{};
  if (::localtime_r(&seconds, &when) == nullptr) return kNotAvailable;
  return fmt::format("{:04}-{:02}-{:02}_{:02}:{:02}:{:02}", when.tm_year + 1900LL, when.tm_mon + 1,
                     when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec);
}

std::string indented(const std::string& text) {
  std::string out;
  for (const char byte : text) {
    out += byte;
    if (byte == '\n') out += "  ";
  }
  return out;
}

std::string traceback_of(const WorkerExited& worker) {
  if (!worker.error_callstack.empty()) return indented(worker.error_callstack);
  if (!worker.error_message.empty()) return worker.error_message;
  if (worker.kind == base::ExitStatus::Kind::kExited) return kNoTraceback;
  return fmt::format("Signal {} ({}) received by PID {}", worker.code,
                     python_signal_name(worker.code), worker.pid);
}

std::string format_failure(const Facts& facts, const Failure& failure, std::size_t index) {
  const WorkerExited& worker = *failure.exited;
  std::string signal;
  if (worker.kind == base::ExitStatus::Kind::kSignaled) {
    const std::string name = python_signal_name(worker.code);
    if (name != kNotAvailable) signal = " (" + name + ")";
  }
  return fmt::format(
      "[{}]:\n"
      "  time      : {}\n"
      "  host      : {}\n"
      "  rank      : {} (local_rank: {})\n"
      "  exitcode  : {} (pid: {}) {}\n"
      "  error_file: {}\n"
      "  traceback : {}",
      index, local_time(failure_second(facts, failure)), node_name(facts, failure.node),
      worker.rank.value, local_rank(facts, worker.rank, failure.node),
      worker.status().torchrun_code(), worker.pid, signal,
      worker.error_file.empty() ? kNotAvailable : worker.error_file, traceback_of(worker));
}

// Length in code points, as Python counts.
std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::size_t length = 0;
  for (const char byte : text) {
    if (byte == '\n') {
      length = 0;
    } else if ((static_cast<unsigned char>(byte) & 0xc0U) != 0x80U) {
      longest = std::max(longest, ++length);
    }
  }
  return longest;
}

}  // namespace

std::string child_failed_block(const std::vector<JournalEntry>& entries) {
  const Facts facts = gather(entries);
  const Failure* root = root_cause(facts);
  if (root == nullptr) return "";
  std::vector<const Failure*> by_rank;
  for (const Failure& failure : fatal_failures(facts)) {
    if (failure.exited != nullptr) by_rank.push_back(&failure);
  }
  std::ranges::stable_sort(by_rank, {}, &Failure::rank);

  const std::string title = (facts.run == nullptr ? "" : facts.run->spec.program) + " FAILED";
  std::size_t width = longest_line(title);
  std::string root_text;
  std::string others;
  for (std::size_t i = 0; i < by_rank.size(); ++i) {
    const std::string text = format_failure(facts, *by_rank[i], i);
    width = std::max(width, longest_line(text));
    if (by_rank[i] == root) {
      root_text = text;
    } else {
      others += others.empty() ? text : "\n" + text;
    }
  }
  width = std::min(width, kBorderMax);
  const std::string border(width, '=');
  const std::string section(width, '-');
  return fmt::format(
      "{}\n{}\n{}\n{}\nFailures:\n{}\n{}\nRoot Cause (first observed failure):\n{}\n{}\n",
      kErrorClass, border, title, section, others.empty() ? "  <NO_OTHER_FAILURES>" : others,
      section, root_text, border);
}

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
