#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/commands/commands.h"
#include "cli/nodes/history.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/runs/blamed.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "supervisor/core/status/node_standing.h"
#include "supervisor/core/types/json_writer.h"
#include "supervisor/group/node_history.h"

namespace robustrun::cli {
namespace {

using supervisor::NodeNote;
using supervisor::NodeStanding;

// Number of newest notes shown per host.
constexpr std::size_t kNotesShownMax = 5;
constexpr std::size_t kNotesOfOneShownMax = 50;

std::string day_and_time(base::Nanos wall_time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wall_time).count();
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

std::string standings_text(const std::vector<NodeStanding>& all, std::size_t notes_max) {
  std::size_t width = 4;
  for (const NodeStanding& standing : all) width = std::max(width, standing.host.size());
  std::string out;
  for (const NodeStanding& standing : all) {
    out += fmt::format("{:<{}}  {}{}\n", standing.host, width, supervisor::in_words(standing),
                       standing.is_offender ? "; taken last by the next runs" : "");
    for (std::size_t i = 0; i < std::min(notes_max, standing.notes.size()); ++i) {
      const NodeNote& note = standing.notes[i];
      out += fmt::format("{:<{}}    {}  {}: {} (run {})\n", "", width, day_and_time(note.wall_time),
                         supervisor::to_string(note.kind), note.text, note.run_id);
    }
  }
  return out;
}

std::string standings_json(const std::vector<NodeStanding>& all) {
  std::string list;
  for (const NodeStanding& standing : all) {
    list += (list.empty() ? "" : ",") + supervisor::JsonWriter::object(standing);
  }
  return "[" + list + "]\n";
}

// Hosts that a run blames, or repeat offenders of all runs.
std::vector<std::string> names_to_avoid(const std::vector<NodeNote>& notes, bool of_run,
                                        base::Nanos now) {
  std::vector<std::string> names;
  if (of_run) {
    for (const launcher::BlamedHost& host : blamed_hosts(notes)) names.push_back(host.name);
    return names;
  }
  for (const NodeStanding& standing : supervisor::standings(notes, now)) {
    if (standing.is_offender) names.push_back(standing.host);
  }
  return names;
}

base::Result<supervisor::NodeHistory> read_notes(const NodesLine& line, const std::string& folder,
                                                 const Surroundings& around) {
  supervisor::NodeHistory history;
  if (!folder.empty()) history = RR_TRY(around.machine->node_history(folder));
  for (const std::string& why : history.unread) say("cannot use " + why);
  if (history.skipped_lines > 0) {
    say(fmt::format("skipped {} in {}", base::counted(history.skipped_lines, "unreadable line"),
                    folder));
  }
  if (line.run) {
    const std::filesystem::path journal = RR_TRY(find_journal(*line.run, around));
    static_cast<void>(RR_TRY(read_journal(journal)));
    history.notes = notes_of_chain(journal.parent_path().string(), history);
  }
  if (!line.hosts.empty()) {
    std::erase_if(history.notes, [&](const NodeNote& note) {
      return std::ranges::find(line.hosts, note.host) == line.hosts.end();
    });
  }
  return history;
}

int forget(const NodesLine& line, const std::string& folder, const Surroundings& around) {
  const auto history = read_notes(line, folder, around);
  if (!history) return complain(history.error());
  const bool is_whole = history->unread.empty() && history->skipped_lines == 0;
  std::vector<NodeNote> notes;
  std::vector<std::string> known;
  for (const std::string& host : line.hosts) {
    // What cannot be read now may be readable later.
    if (is_whole &&
        std::ranges::find(history->notes, host, &NodeNote::host) == history->notes.end()) {
      say(fmt::format("nothing is noted about {}", host));
      continue;
    }
    known.push_back(host);
    notes.push_back(
        {host, around.wall_time, "forgotten", supervisor::NoteKind::kForgotten, "by the user"});
  }
  if (known.empty()) return 0;
  if (const auto noted = supervisor::append_notes(folder, notes); !noted) {
    return complain(noted.error());
  }
  print(fmt::format("forgot what was noted about {}\n", base::join(known, ", ")));
  return 0;
}

}  // namespace

int nodes_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_nodes_line(argv);
  if (!line) return complain_of_usage(around, "nodes", line.error().what);
  if (line->help) {
    print(command_help("nodes", terminal_columns(around)));
    return 0;
  }
  const std::string asked =
      line->node_history.value_or(around.variable("ROBUSTRUN_NODE_HISTORY").value_or("auto"));
  const std::string folder = history_folder(asked, around);
  if (folder.empty() && !line->run) {
    return complain(
        base::Error{base::Errc::kNotFound, 0,
                    "cannot find the history: --node-history is off, or HOME is not set; "
                    "name its folder with --node-history=DIR"});
  }
  if (line->forget) return forget(*line, folder, around);
  auto history = read_notes(*line, folder, around);
  if (!history) return complain(history.error());
  if (line->names) {
    const auto names = names_to_avoid(history->notes, line->run.has_value(), around.wall_time);
    if (!names.empty()) print(base::join(names, ",") + "\n");
    return 0;
  }
  const auto all = supervisor::standings(std::move(history->notes), around.wall_time);
  if (line->json) {
    print(standings_json(all));
  } else if (all.empty()) {
    print(line->run ? fmt::format("The run {} does not blame {}.\n", *line->run,
                                  line->hosts.empty() ? "any host" : base::join(line->hosts, ", "))
                    : fmt::format("No run has noted anything about {} in the last 30 days ({}).\n",
                                  line->hosts.empty() ? "any host" : base::join(line->hosts, ", "),
                                  folder));
  } else {
    print(standings_text(all, line->hosts.empty() ? kNotesShownMax : kNotesOfOneShownMax));
  }
  return 0;
}

}  // namespace robustrun::cli
