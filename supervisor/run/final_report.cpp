#include "supervisor/run/final_report.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/io/fd.h"
#include "base/io/log.h"
#include "supervisor/core/report/child_failed.h"
#include "supervisor/core/report/ci.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {
namespace {

// stderr may be closed or full; then only the exit code is left.
void print(const std::string& text) { static_cast<void>(base::write_all(STDERR_FILENO, text)); }

void write_file(const std::string& path, const std::string& content) {
  if (auto written = base::write_output(path, content, 0644); !written) {
    RR_LOG(kError, {}, "{}", written.error().what);
  }
}

void append_file(const std::string& path, const std::string& content) {
  const base::Fd file(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644));
  const base::Status written =
      file ? base::write_all(file.get(), content) : base::fail_errno("cannot open it", errno);
  if (!written) RR_LOG(kError, {}, "cannot write {}: {}", path, written.error().what);
}

}  // namespace

int stderr_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

std::string final_report(const std::vector<JournalEntry>& entries, const FinalReport& parts) {
  std::string words = parts.child_failed ? child_failed_block(entries) : std::string();
  if (parts.report) words += render_report(build_report(entries), parts.style);
  return words;
}

void write_final_report(const RunRequest& request, const std::vector<JournalEntry>& entries) {
  const RunReport report = build_report(entries);
  // Files first, as writing to stderr may block: its reader may be stopped.
  if (!request.summary_json.empty()) write_file(request.summary_json, report_json(report));
  if (!request.nested_error_file.empty()) {
    if (auto content = nested_error_json(entries); !content.empty()) {
      write_file(request.nested_error_file, content);
    }
  }
  const CiPlan& ci = request.ci;
  if (!ci.junit_file.empty()) write_file(ci.junit_file, report_junit(report));
  if (!ci.summary_file.empty()) append_file(ci.summary_file, report_markdown(report));
  if (ci.annotate) print(github_annotations(report, ci.workspace));
  print(final_report(entries, {request.print_child_failed,
                               request.print_report,
                               {request.console.colour_err, stderr_width()}}));
}

}  // namespace robustrun::supervisor
