#pragma once
// robustrun(1), in roff's man macros, from the options table and the help pages. Pure.

#include <string>

namespace robustrun::cli {

// The text of docs/robustrun.1.
[[nodiscard]] std::string man_page();

}  // namespace robustrun::cli
