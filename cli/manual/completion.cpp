#include "cli/manual/completion.h"

#include <algorithm>
#include <cctype>

#include "base/core/result.h"

namespace robustrun::cli {

std::string completion_function(std::string_view program_name) {
  std::string name = "_" + std::string(program_name);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

std::string completion_script(std::string_view shell, std::string_view program_name) {
  RR_ASSERT(shell == "bash" || shell == "zsh");
  return shell == "bash" ? bash_completion(program_name) : zsh_completion(program_name);
}

}  // namespace robustrun::cli
