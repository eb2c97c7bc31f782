#pragma once
// What every subcommand prints with: data on stdout, everything else on stderr.

#include <string_view>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// To stdout. A reader that has gone away is no error.
void print(std::string_view text);
// "robustrun: <what>" on stderr.
void say(std::string_view what);
// The same; returns exit code 2.
int complain(const base::Error& error);
// With the usage line before it.
int complain_of_usage(const Surroundings& around, std::string_view what);
// Columns of the terminal at stdout; 80 where there is none.
[[nodiscard]] int terminal_columns(const Surroundings& around);

}  // namespace robustrun::cli
