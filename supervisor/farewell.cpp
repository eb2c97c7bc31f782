#include "supervisor/farewell.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io/fd.h"
#include "base/io/log.h"
#include "supervisor/core/report.h"
#include "supervisor/journal.h"

namespace robustrun::supervisor {
namespace {

int terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

// stderr may be closed or full: then nobody can be told, and the exit code says it.
void print(const std::string& text) { static_cast<void>(base::write_all(STDERR_FILENO, text)); }

void write_file(const std::string& path, const std::string& content) {
  if (auto written = base::write_file_atomically(path, content, 0644); !written) {
    RR_LOG(kError, {}, "{}", written.error().what);
  }
}

}  // namespace

void say_farewell(const RunRequest& request, const std::string& journal_path) {
  auto readout = read_run_journal(journal_path);
  if (!readout) {
    RR_LOG(kError, {}, "{}; there is no summary", readout.error().what);
    return;
  }
  const RunReport report = build_report(readout->entries);
  // Files first: whoever reads stderr may have stopped.
  if (!request.summary_json.empty()) write_file(request.summary_json, report_json(report));
  if (!request.nested_error_file.empty()) {
    if (auto content = nested_error_json(readout->entries); !content.empty()) {
      write_file(request.nested_error_file, content);
    }
  }
  if (request.print_child_failed) print(child_failed_block(readout->entries));
  if (request.print_report) {
    print(render_report(report, request.console.colour_err, terminal_width()));
  }
}

}  // namespace robustrun::supervisor
