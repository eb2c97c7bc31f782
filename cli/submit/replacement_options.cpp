#include "cli/submit/replacement_options.h"

#include <algorithm>
#include <array>

#include "cli/options/command_words.h"

namespace robustrun::cli {
namespace {

struct Known {
  std::string_view name;
  char letter;  // 0: none
  bool has_value;
};
// Of one job, not of every node of a run (sbatch(1)).
constexpr std::array<Known, 32> kOfOneJob = {{
    {"array", 'a', true},
    {"begin", 'b', true},
    {"chdir", 'D', true},
    {"comment", 0, true},
    {"contiguous", 0, false},
    {"deadline", 0, true},
    {"dependency", 'd', true},
    {"error", 'e', true},
    {"exclude", 'x', true},
    {"hold", 'H', false},
    {"input", 'i', true},
    {"job-name", 'J', true},
    {"kill-on-invalid-dep", 0, true},
    {"mail-type", 0, true},
    {"mail-user", 0, true},
    {"no-kill", 'k', false},
    {"no-requeue", 0, false},
    {"nodefile", 'F', true},
    {"nodelist", 'w', true},
    {"nodes", 'N', true},
    {"ntasks", 'n', true},
    {"ntasks-per-node", 0, true},
    {"open-mode", 0, true},
    {"output", 'o', true},
    {"parsable", 0, false},
    {"requeue", 0, false},
    {"signal", 0, true},
    {"spread-job", 0, false},
    {"switches", 0, true},
    {"test-only", 0, false},
    {"use-min-nodes", 0, false},
    {"wait", 'W', false},
}};

// Of "--name", "--name=value", "-l" and "-lvalue".
const Known* known(std::string_view word) {
  const auto found = std::ranges::find_if(kOfOneJob, [&](const Known& each) {
    if (!word.starts_with("--")) {
      return each.letter != 0 && word.size() > 1 && word[0] == '-' && word[1] == each.letter;
    }
    return word.substr(2, word.find('=') - 2) == each.name;
  });
  return found == kOfOneJob.end() ? nullptr : &*found;
}

}  // namespace

base::Result<std::vector<std::string>> replacement_options(std::string_view text) {
  if (text.find_first_not_of(' ') == std::string_view::npos) return std::vector<std::string>{};
  const std::vector<std::string> words = RR_TRY(command_words(text));
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const Known* const of = known(word);
    if (of == nullptr) {
      kept.push_back(words[i]);
      continue;
    }
    const bool is_long = word.starts_with("--");
    const auto equals = is_long ? word.find('=') : std::string_view::npos;
    std::string value(is_long ? word.substr(std::min(equals, word.size() - 1) + 1)
                              : word.substr(2));
    const bool is_next =
        of->has_value && (is_long ? equals == std::string_view::npos : value.empty());
    if (is_next && i + 1 < words.size()) value = words[++i];
    if (of->name == "exclude") kept.push_back("--exclude=" + value);
  }
  return kept;
}

}  // namespace robustrun::cli
