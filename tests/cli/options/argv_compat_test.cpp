#include "cli/options/argv_compat.h"

#include <doctest/doctest.h>

#include "base/core/text.h"
#include "cli/options/options_table.h"

namespace robustrun::cli::argv_compat_test {
namespace {

using Words = std::vector<std::string>;

std::string options_of(const Words& argv) {
  const auto split = split_argv(argv);
  return split ? base::join(split->options, " ") : "error: " + split.error().what;
}

}  // namespace

TEST_CASE("options are found in every form that argparse takes") {
  struct Row {
    Words argv;
    std::string options;
  };
  const std::vector<Row> rows = {
      {{"--nproc-per-node", "2", "x"}, "--nproc-per-node 2"},
      {{"--nproc_per_node", "2", "x"}, "--nproc-per-node 2"},
      {{"--nproc-per-node=2", "x"}, "--nproc-per-node 2"},
      {{"--nproc_per_node=2", "x"}, "--nproc-per-node 2"},
      {{"--nproc=2", "x"}, "--nproc-per-node 2"},
      {{"--nproc-p=2", "x"}, "--nproc-per-node 2"},
      {{"--redirect=3", "x"}, "--redirects 3"},
      {{"--nn", "1", "x"}, "--nnodes 1"},
      {{"--log-d", "/l", "x"}, "--log-dir /l"},
      {{"--stand", "x"}, "--standalone"},
      {{"--rdzv_conf=a=b,c=d", "x"}, "--rdzv-conf a=b,c=d"},
      {{"--rdzv-id=", "x"}, "--rdzv-id "},
      {{"-m", "x"}, "--module"},
      {{"-r3", "x"}, "--redirects 3"},
      {{"-r", "3", "x"}, "--redirects 3"},
      {{"-r=3", "x"}, "--redirects 3"},
      {{"-t", "0:1,1:2", "x"}, "--tee 0:1,1:2"},
      {{"-mr3", "x"}, "--module --redirects 3"},
      {{"-mt", "3", "x"}, "--module --tee 3"},
      {{"--max-restarts", "-1", "x"}, "--max-restarts -1"},
      {{"--role", "-", "x"}, "--role -"},
      {{"--role", "-a b", "x"}, "--role -a b"},
      {{"--tee", "1", "--tee", "2", "x"}, "--tee 1 --tee 2"},
      {{"-c", "job.toml", "x"}, "--config job.toml"},
      {{"--color=never", "x"}, "--colour never"},
      {{"-h"}, "--help"},
      {{"--he"}, "--help"},
      {{"x", "--nnodes=2"}, ""},
  };
  for (const Row& row : rows) {
    INFO(base::join(row.argv, " "));
    CHECK(options_of(row.argv) == row.options);
  }
}

TEST_CASE("every option of torchrun's has a dashed and an underscored spelling") {
  for (const Option& row : options()) {
    if (!row.torchrun) continue;
    const bool flag = row.type == Type::kFlag;
    const std::string wanted = std::string("--") + row.name + (flag ? "" : " v");
    for (const std::string& name : {std::string(row.name), underscored(row.name)}) {
      if (flag) {
        CHECK(options_of({"--" + name}) == wanted);
      } else {
        CHECK(options_of({"--" + name, "v"}) == wanted);
        CHECK(options_of({"--" + name + "=v"}) == wanted);
      }
    }
  }
}

TEST_CASE("every prefix of an option means it or is ambiguous, never another one") {
  for (const Option& row : options()) {
    if (!row.torchrun) continue;
    const std::string name = row.name;
    for (std::size_t length = 1; length < name.size(); ++length) {
      const std::string token = "--" + name.substr(0, length);
      const bool flag = row.type == Type::kFlag;
      const std::string got = options_of({flag ? token : token + "=v"});
      const bool meant = got == "--" + name + (flag ? "" : " v");
      const bool refused = got.starts_with("error: ambiguous option: " + token) ||
                           got.find("ignored explicit argument") != std::string::npos;
      // A whole name may be the prefix of a longer one: --role and nothing else today.
      INFO(token, " ", got);
      CHECK((meant || refused));
    }
  }
}

TEST_CASE("our own options are not abbreviated") {
  CHECK(options_of({"--time-lim", "3", "x"}).starts_with("error: unrecognized arguments"));
  CHECK(options_of({"--dry", "x"}).starts_with("error: unrecognized arguments"));
  // Of torchrun's options one alone begins so, although our --log-level does, too.
  CHECK(options_of({"--log-l", "t", "x"}) == "--log-line-prefix-template t");
}

TEST_CASE("what follows the script is its own") {
  const auto split =
      split_argv(Words{"--tee=3", "train.py", "--tee", "-h", "--", "--nnodes=2", ""});
  REQUIRE(split.has_value());
  CHECK(split->script == "train.py");
  CHECK(split->arguments == Words{"--tee", "-h", "--", "--nnodes=2", ""});
}

TEST_CASE("a double dash before the script is swallowed, and ends the options") {
  auto split = split_argv(Words{"--tee=3", "--", "--odd-name.py", "-x"});
  REQUIRE(split.has_value());
  CHECK(split->script == "--odd-name.py");
  CHECK(split->arguments == Words{"-x"});
  split = split_argv(Words{"--"});
  REQUIRE(split.has_value());
  CHECK_FALSE(split->script.has_value());
  split = split_argv(Words{"-"});
  REQUIRE(split.has_value());
  CHECK(split->script == "-");
}

TEST_CASE("syntax errors have argparse's words") {
  struct Row {
    Words argv;
    std::string error;
  };
  const std::vector<Row> rows = {
      {{"--rdzv=x", "s"},
       "ambiguous option: --rdzv=x could match --rdzv-backend, --rdzv_backend, --rdzv-endpoint, "
       "--rdzv_endpoint, --rdzv-id, --rdzv_id, --rdzv-conf, --rdzv_conf"},
      {{"--nnodes"}, "argument --nnodes: expected one argument"},
      {{"--nnodes", "--tee=1", "s"}, "argument --nnodes: expected one argument"},
      {{"--rdzv-id", "--", "s"}, "argument --rdzv-id/--rdzv_id: expected one argument"},
      {{"-t"}, "argument -t/--tee: expected one argument"},
      {{"--standalone=1", "s"}, "argument --standalone: ignored explicit argument '1'"},
      {{"-mx", "s"}, "argument -m/--module: ignored explicit argument 'x'"},
      {{"--nproc-per_node=2", "s"},
       "unrecognized arguments: --nproc-per_node=2 (did you mean --nproc-per-node?)"},
      {{"--stdn", "0", "s"}, "unrecognized arguments: --stdn (did you mean --stdin?)"},
      {{"--nprc", "8", "s"}, "unrecognized arguments: --nprc (did you mean --nproc-per-node?)"},
      {{"-z", "s"}, "unrecognized arguments: -z"},
  };
  for (const Row& row : rows) {
    INFO(base::join(row.argv, " "));
    CHECK(options_of(row.argv) == "error: " + row.error);
  }
}

}  // namespace robustrun::cli::argv_compat_test
