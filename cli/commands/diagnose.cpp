#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "cli/commands/commands.h"
#include "cli/commands/diagnose_files.h"
#include "cli/host/output_file.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "cli/text/diagnose_page.h"
#include "cli/text/diagnose_text.h"
#include "supervisor/control/client.h"
#include "supervisor/control/diagnose_row.h"
#include "supervisor/core/types/exit_code.h"
#include "tracer/analysis/analyze.h"
#include "tracer/limits.h"

namespace robustrun::cli {
namespace {

base::Result<std::string> read_left_file(const std::string& path) {
  return base::read_input(path, tracer::kDocumentBytesMax);
}

// The files directly in a folder.
base::Result<std::vector<std::string>> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) files.push_back(entry->path().string());
    if (files.size() > kDiagnosedFilesMax) {
      return base::fail(base::Errc::kLimit,
                        "it has more than " + std::to_string(kDiagnosedFilesMax) + " files");
    }
  }
  if (error) return base::fail(base::Errc::kOs, error.message());
  std::ranges::sort(files, base::natural_less);
  return files;
}

base::Result<std::vector<NamedFile>> files_named(const std::vector<std::string>& paths) {
  std::vector<NamedFile> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      files.push_back({path, true});
      continue;
    }
    auto found = files_of(path);
    if (!found) {
      return base::fail(found.error().code, "cannot use " + path + ": " + found.error().what);
    }
    for (std::string& file : *found) files.push_back({std::move(file), false});
  }
  return files;
}

// Prints the verdict, and writes its page if that is asked for.
int show(const tracer::Verdict& verdict, const DiagnoseLine& line, const std::string& about,
         const std::vector<std::string>& notes, const Surroundings& around) {
  print(line.json ? verdict_json(verdict, notes) + "\n" : verdict_text(verdict, notes));
  if (!line.html) return supervisor::kExitSuccess;
  const auto written =
      write_output(around.absolute(*line.html), diagnose_page(verdict, about, notes));
  return written ? supervisor::kExitSuccess : complain(written.error());
}

int diagnose_files(const DiagnoseLine& line, const Surroundings& around) {
  const auto files = files_named(line.from);
  auto gathered = files ? gather(*files, read_left_file)
                        : base::Result<Gathered>(std::unexpected(files.error()));
  if (!gathered) {
    say(gathered.error().code == base::Errc::kNotFound && line.from.size() == 1
            ? "cannot diagnose " + line.from.front() + ": " + gathered.error().what
            : gathered.error().what);
    return supervisor::kExitFailure;
  }
  return show(tracer::analyze(gathered->fleet), line, base::join(line.from, ", "), gathered->notes,
              around);
}

int diagnose_run(const DiagnoseLine& line, const Surroundings& around) {
  const auto directory = find_run(line.run, Pick::kLive, around);
  if (!directory) return complain(directory.error());
  note_damage(*directory);
  auto client = supervisor::ControlClient::connect(*directory);
  const auto answer =
      client ? client->ask({{"command", "diagnose"}})
             : base::Result<supervisor::ControlFields>(std::unexpected(client.error()));
  const auto verdict = answer ? supervisor::read_verdict(*answer)
                              : base::Result<tracer::Verdict>(std::unexpected(answer.error()));
  if (!verdict) {
    say("cannot diagnose the run: " + verdict.error().what);
    return supervisor::kExitFailure;
  }
  return show(*verdict, line, std::filesystem::path(*directory).filename().string(), {}, around);
}

}  // namespace

int diagnose_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_diagnose_line(argv);
  if (!line) return complain_of_usage(around, "diagnose", line.error().what);
  if (line->help) {
    print(command_help("diagnose", terminal_columns(around)));
    return 0;
  }
  return line->from.empty() ? diagnose_run(*line, around) : diagnose_files(*line, around);
}

}  // namespace robustrun::cli
