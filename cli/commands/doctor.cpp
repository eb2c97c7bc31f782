// `robustrun doctor`: what works on this machine, or on the named hosts.

#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/doctor/compare.h"
#include "cli/doctor/gather.h"
#include "cli/doctor/render.h"
#include "cli/host/installed_files.h"
#include "cli/nodes/hosts.h"
#include "cli/nodes/nodes.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

int code_for(bool has_bad) { return has_bad ? supervisor::kExitFailure : supervisor::kExitSuccess; }

base::Result<std::vector<HostChecks>> ask_hosts(const DoctorLine& line,
                                                const Surroundings& around) {
  const Settings settings = RR_TRY(merge_settings(line.run, around));
  const auto hosts = RR_TRY(plan_hosts(settings, around));
  launcher::SshOptions ssh = RR_TRY(plan_ssh(settings, around));
  ssh.bundle = installed_files(around.executable, false);
  return survey_hosts(around, hosts, std::move(ssh));
}

}  // namespace

int doctor_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_doctor_line(argv);
  if (!line) return complain_of_usage(around, "doctor", line.error().what);
  const int columns = terminal_columns(around);
  if (line->help) {
    print(command_help("doctor", columns));
    return 0;
  }
  const bool has_colour = around.takes_colour(around.stdout_is_terminal);
  if (line->is_for_hosts) {
    const auto hosts = ask_hosts(*line, around);
    if (!hosts) return complain(hosts.error());
    print(line->json ? survey_json(*hosts) : survey_text(*hosts, columns, has_colour));
    return code_for(std::ranges::any_of(*hosts, is_bad));
  }
  const Facts facts = gather_facts(around);
  const std::vector<Check> checks = check_all(facts);
  print(line->json ? doctor_json(facts.host, checks) : doctor_text(checks, columns, has_colour));
  return code_for(count_of(checks, CheckState::kBad) > 0);
}

}  // namespace robustrun::cli
