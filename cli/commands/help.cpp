#include <fmt/format.h>

#include "base/core/text.h"
#include "cli/commands/commands.h"
#include "cli/manual/man_page.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/values.h"

namespace robustrun::cli {

int help_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_help_line(argv);
  if (!line) return complain_of_usage(around, "help", line.error().what);
  const int columns = terminal_columns(around);
  if (line->markdown) {
    print(help_markdown());
  } else if (line->man) {
    print(man_page());
  } else if (line->help) {
    print(command_help("help", columns));
  } else if (line->topic.empty()) {
    print(first_help(columns));
  } else if (const auto text = topic_help(line->topic, columns)) {
    print(*text);
  } else {
    const auto topics = help_topics();
    return complain_of_usage(
        around, "help",
        fmt::format("argument TOPIC: invalid choice: '{}'{} (choose from {})", line->topic,
                    did_you_mean(line->topic, topics), base::join(topics, ", ")));
  }
  return 0;
}

}  // namespace robustrun::cli
