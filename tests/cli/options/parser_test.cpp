#include "cli/options/parser.h"

#include <doctest/doctest.h>

namespace robustrun::cli::parser_test {
namespace {

using Words = std::vector<std::string>;

std::string error_of(const Words& argv) {
  const auto line = parse_run_line(argv);
  return line ? "" : line.error().what;
}

}  // namespace

TEST_CASE("values arrive byte for byte, whatever they look like") {
  for (const std::string value :
       {"x", "", "-", "--tee", "[a,b]", "{}", "%%", "a b", "\"q\"", "\xff\xfe", "=", "--", "a,b"}) {
    INFO(value);
    const auto line = parse_run_line(Words{"--role=" + value, "train.py"});
    REQUIRE(line.has_value());
    CHECK(line->value(OptionId::kRole) == value);
    CHECK(line->script == "train.py");
  }
}

TEST_CASE("the last of several values counts, and a flag may be repeated") {
  const auto line =
      parse_run_line(Words{"--tee=1", "--standalone", "--tee=2", "--standalone", "s"});
  REQUIRE(line.has_value());
  CHECK(line->value(OptionId::kTee) == "2");
  CHECK(line->value(OptionId::kStandalone) == "1");
  CHECK_FALSE(line->value(OptionId::kRedirects).has_value());
}

TEST_CASE("wrong values of the command line are argparse's errors") {
  CHECK(error_of({"--master-port=x", "s"}) ==
        "argument --master-port/--master_port: invalid int value: 'x'");
  CHECK(error_of({"--start-method=x", "s"}) ==
        "argument --start-method/--start_method: invalid choice: 'x' (choose from 'spawn', "
        "'fork', 'forkserver')");
  CHECK(error_of({"--numa-binding", "all", "s"}).starts_with("argument --numa-binding/"));
  CHECK(error_of({"--max-restarts=-1", "s"}) ==
        "argument --max-restarts/--max_restarts: must be between 0 and 1000000: '-1'");
  CHECK(error_of({"--shutdown-timeout=-5", "s"}).find("not negative") != std::string::npos);
  CHECK(error_of({"--print-config=xml", "s"}).find("choose from 'json', 'toml'") !=
        std::string::npos);
  CHECK(error_of({"--max-restarts=3", "s"}).empty());
}

TEST_CASE("a missing script is no error of the parser: the file may name one") {
  const auto line = parse_run_line(Words{});
  REQUIRE(line.has_value());
  CHECK_FALSE(line->script.has_value());
}

TEST_CASE("the lines of the other subcommands") {
  auto report = parse_report_line(Words{});
  REQUIRE(report.has_value());
  CHECK(report->run.empty());
  CHECK_FALSE(report->json);
  report = parse_report_line(Words{"20260801-101500-ab12", "--json"});
  REQUIRE(report.has_value());
  CHECK(report->run == "20260801-101500-ab12");
  CHECK(report->json);
  CHECK_FALSE(parse_report_line(Words{"a", "b"}).has_value());
  CHECK_FALSE(parse_report_line(Words{"--jsn"}).has_value());
  const auto diagnose = parse_diagnose_line(Words{"--json", "--from", "a", "b"});
  REQUIRE(diagnose.has_value());
  CHECK(diagnose->from == Words{"a", "b"});
  CHECK(diagnose->json);
  CHECK(parse_diagnose_line(Words{"--json"})->from.empty());
  CHECK(parse_diagnose_line(Words{"otter"})->run == "otter");
  CHECK_FALSE(parse_diagnose_line(Words{"otter", "--from", "a"}).has_value());
  CHECK_FALSE(parse_diagnose_line(Words{"--from"}).has_value());
  CHECK(parse_diagnose_line(Words{"--help"})->help);
  const auto ckpt = parse_ckpt_line(Words{"verify", "a", "b", "--step", "12", "--json"});
  REQUIRE(ckpt.has_value());
  CHECK(ckpt->verb == "verify");
  CHECK(ckpt->directories == Words{"a", "b"});
  CHECK(ckpt->step == 12);
  CHECK(ckpt->json);
  CHECK_FALSE(parse_ckpt_line(Words{"ls"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"mend", "a"}).has_value());
  const auto below = parse_ckpt_line(Words{"ls", "a", "--step", "-1"});
  REQUIRE_FALSE(below);
  CHECK(below.error().what == "--step: '-1' is not a number of at least 0");
  CHECK(parse_ckpt_line(Words{"prune", "a", "--keep=2"})->keep == 2);
  CHECK_FALSE(parse_ckpt_line(Words{"prune", "a", "--keep=0"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"prune", "a"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"prune", "a", "--keep=2", "--step=1"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"ls", "a", "--keep=2"}).has_value());
  CHECK(parse_ckpt_line(Words{"unpin", "a", "--step=7"})->step == 7);
  CHECK_FALSE(parse_ckpt_line(Words{"pin", "a"}).has_value());
  const auto out = parse_ckpt_line(Words{"export", "a", "b", "--to", "dcp", "c"});
  REQUIRE(out.has_value());
  CHECK(out->directories == Words{"a", "b"});
  CHECK(out->out == "c");
  CHECK(out->form == "dcp");
  CHECK_FALSE(parse_ckpt_line(Words{"export", "a", "--to", "dcp"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"export", "a", "b", "--to", "zip"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"export", "a", "b"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"ls", "a", "--to", "dcp"}).has_value());
  CHECK(parse_ckpt_line(Words{"export", "a", "b", "--to=torch", "--rank=3"})->rank == 3);
  CHECK_FALSE(parse_ckpt_line(Words{"export", "a", "b", "--to=torch", "--rank=-1"}).has_value());
  CHECK_FALSE(parse_ckpt_line(Words{"inspect", "a", "--rank=3"}).has_value());
  CHECK(parse_ckpt_line(Words{"--help"})->help);
  const auto status = parse_status_line(Words{"run1", "--json", "--watch"});
  REQUIRE(status.has_value());
  CHECK(status->run == "run1");
  CHECK((status->json && status->watch));
  CHECK_FALSE(parse_status_line(Words{"a", "b"}).has_value());
  const auto stop = parse_stop_line(Words{"--signal=SIGINT", "--grace", "5s", "--no-wait", "run1"});
  REQUIRE(stop.has_value());
  CHECK(stop->run == "run1");
  CHECK(stop->signal == "SIGINT");
  CHECK(stop->grace == "5s");
  CHECK(stop->no_wait);
  CHECK_FALSE(parse_stop_line(Words{"--force"}).has_value());
  const auto attach = parse_attach_line(Words{"-n", "20"});
  REQUIRE(attach.has_value());
  CHECK(attach->lines == "20");
  CHECK(attach->run.empty());
  CHECK(parse_help_line(Words{"--markdown"})->markdown);
  CHECK(parse_help_line(Words{"--man"})->man);
  CHECK_FALSE(parse_help_line(Words{"--html"}).has_value());
  CHECK(parse_help_line(Words{"failures"})->topic == "failures");
  CHECK_FALSE(parse_help_line(Words{"a", "b"}).has_value());
  CHECK(parse_doctor_line(Words{"--json"})->json);
  CHECK_FALSE(parse_doctor_line(Words{"--json"})->is_for_hosts);
  CHECK(parse_doctor_line(Words{"--hosts", "a,b"})->run.value(OptionId::kHosts) == "a,b");
  CHECK(parse_doctor_line(Words{"--hostfile=f", "--ssh-fanout=3"})->is_for_hosts);
  CHECK_FALSE(parse_doctor_line(Words{"--hosts=a", "--ssh-fanout=0"}).has_value());
  CHECK_FALSE(parse_doctor_line(Words{"--ssh-timeout=3"}).has_value());
  CHECK(parse_completion_line(Words{"zsh"})->shell == "zsh");
  CHECK_FALSE(parse_completion_line(Words{}).has_value());
  CHECK(parse_ls_line(Words{"--ids"})->ids);
  CHECK_FALSE(parse_ls_line(Words{"--ids", "--json"}).has_value());
}

TEST_CASE("unknown options and words of subcommands are named, with the nearest one") {
  const auto error = [](const auto& line) { return line ? std::string() : line.error().what; };
  CHECK(error(parse_report_line(Words{"--jsn"})) ==
        "unrecognized arguments: --jsn (did you mean --json?)");
  CHECK(error(parse_stop_line(Words{"run1", "--gracee=5s"})) ==
        "unrecognized arguments: --gracee=5s (did you mean --grace?)");
  CHECK(error(parse_status_line(Words{"a", "b"})) == "unrecognized arguments: b");
  CHECK(error(parse_sim_line(Words{"--xyzzy"})) == "unrecognized arguments: --xyzzy");
  CHECK(error(parse_ckpt_line(Words{"verfy", "d"})) ==
        "argument VERB: invalid choice: 'verfy' (did you mean verify?) (choose from ls, inspect, "
        "verify, repair, prune, pin, unpin, export)");
  CHECK(error(parse_completion_line(Words{"bsh"})) ==
        "argument SHELL: invalid choice: 'bsh' (did you mean bash?) (choose from bash, zsh)");
  CHECK(error(parse_run_line(Words{"--print-completion=tcsh"})) ==
        "argument --print-completion/--print_completion: invalid choice: 'tcsh' (choose from "
        "'bash', 'zsh')");
  CHECK(error(parse_cache_line(Words{"cg"})).starts_with("argument VERB: invalid choice: 'cg'"));
}

}  // namespace robustrun::cli::parser_test
