#pragma once
// Output of the subcommands: data on stdout, everything else on stderr.

#include <string_view>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// Writes to stdout. with_output() reports failures.
void print(std::string_view text);
// Returns `exit_code`. If print() could not write, reports the cause on stderr and returns a
// failure instead of success. It is no error that the reader of stdout is gone.
[[nodiscard]] int with_output(int exit_code);
// Writes "robustrun: WHAT" to stderr.
void say(std::string_view what);
// Writes the error as say() does; returns exit code 2.
int complain(const base::Error& error);
// A mistake in the command line of `subcommand` ("run", "status", …): prints its usage line, the
// error and where to find help on stderr; returns exit code 2.
int complain_of_usage(const Surroundings& around, std::string_view subcommand,
                      std::string_view what);
// $COLUMNS, else the columns of the terminal at stdout, else 80.
[[nodiscard]] int terminal_columns(const Surroundings& around);

}  // namespace robustrun::cli
