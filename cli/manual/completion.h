#pragma once
// The scripts by which bash and zsh complete command lines. Pure.
//
// A script holds everything that the tables know. It calls robustrun (`ls --ids`) only to complete
// the id of a run.

#include <string>
#include <string_view>

namespace robustrun::cli {

// `shell`: "bash" or "zsh". If `program_name` is one of torchrun's names, there are no subcommands.
[[nodiscard]] std::string completion_script(std::string_view shell, std::string_view program_name);

[[nodiscard]] std::string bash_completion(std::string_view program_name);
[[nodiscard]] std::string zsh_completion(std::string_view program_name);

// "_torch_distributed_launch": the shell function for this name.
[[nodiscard]] std::string completion_function(std::string_view program_name);

}  // namespace robustrun::cli
