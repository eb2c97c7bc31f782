#include "cli/text/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "cli/options/help_text.h"
#include "cli/options/values.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

constexpr int kColumnsWithoutTerminal = 80;
int output_errno = 0;  // of the first print() that failed

}  // namespace

void print(std::string_view text) {
  if (const auto written = base::write_all(STDOUT_FILENO, text); !written && output_errno == 0) {
    output_errno = written.error().os_errno;
  }
}

int with_output(int exit_code) {
  // A reader that has seen enough, as head(1), is no trouble.
  if (output_errno == 0 || output_errno == EPIPE) return exit_code;
  say(fmt::format("cannot write to the standard output: {}",
                  std::generic_category().message(output_errno)));
  return exit_code == supervisor::kExitSuccess ? supervisor::kExitFailure : exit_code;
}

void say(std::string_view what) {
  const std::string line = fmt::format("robustrun: {}\n", base::printable(what));
  static_cast<void>(base::write_all(STDERR_FILENO, line));
}

int complain(const base::Error& error) {
  say(error.what);
  return supervisor::kExitUsage;
}

int complain_of_usage(const Surroundings& around, std::string_view subcommand,
                      std::string_view what) {
  const bool is_run = subcommand == "run";
  const std::string text =
      is_run ? fmt::format(
                   "{}\n{}: error: {}\n(robustrun --help lists the options used most, "
                   "robustrun help all every option)\n",
                   usage_line(around.program_name), around.program_name, base::printable(what))
             : fmt::format(
                   "{0}robustrun {1}: error: {2}\n(robustrun help {1} explains the "
                   "options)\n",
                   command_usage(subcommand), subcommand, base::printable(what));
  static_cast<void>(base::write_all(STDERR_FILENO, text));
  return supervisor::kExitUsage;
}

int terminal_columns(const Surroundings& around) {
  if (const auto given = parse_integer(around.variable("COLUMNS").value_or(""))) {
    if (*given > 0 && *given < 10'000) return static_cast<int>(*given);
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kColumnsWithoutTerminal;
}

}  // namespace robustrun::cli
