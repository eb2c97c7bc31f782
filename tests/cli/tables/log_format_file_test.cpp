#include "cli/tables/log_format_file.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "cli/options/limits.h"
#include "cli/plan/plan.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::log_format_file_test {
namespace {

using testing::World;

std::string error_of(const std::string& text) {
  const auto formats = parse_log_formats(text, "f.toml");
  return formats ? "no error" : formats.error().what;
}

TEST_CASE("a row with units") {
  const auto formats = parse_log_formats(R"(
[[format]]
project = "ours"
line = ["iter * of", "it="]
loss = "loss={value}"
step_time_ms = "t={value}ms"
steps_per_s = "at {value} it/s "
mfu_percent = ["mfu {value}%"]
)",
                                         "f.toml");
  REQUIRE(formats);
  REQUIRE(formats->size() == 1);
  const wire::LineFormat& format = formats->front();
  CHECK(format.project == "ours");
  CHECK(format.lines.size() == 2);
  REQUIRE(format.values.size() == 4);
  CHECK(format.values[1].name == "step_time");
  CHECK(format.values[1].factor == 0.001);
  CHECK(format.values[2].inverse);
  CHECK(format.values[3].factor == 0.01);
}

TEST_CASE("a wrong file is refused with its place") {
  const std::string row = "[[format]]\nproject = \"p\"\nline = \"x\"\n";
  CHECK(error_of("[[formats]]\n").starts_with("f.toml:1:3: "));
  CHECK(error_of(row + "los = \"a {value}\"\n").find("did you mean loss?") != std::string::npos);
  CHECK(error_of(row + "loss = \"a\"\n").find("it lacks {value}") != std::string::npos);
  CHECK(error_of(row + "loss = 3\n").find("a string of 1 to") != std::string::npos);
  CHECK(error_of(row).find("matches nothing") != std::string::npos);
  CHECK(error_of("[[format]]\nloss = \"a {value}\"\n").find("needs a project") !=
        std::string::npos);
  CHECK(error_of("[[format]]\nproject = \"p\"\nline = \"**\"\n").find("every line") !=
        std::string::npos);
  const std::string whole = row + "loss = \"a {value}\"\n";
  CHECK(error_of(whole + whole).find("named twice") != std::string::npos);
}

TEST_CASE("tables and texts are bounded") {
  std::string many;
  for (std::size_t i = 0; i <= kLogFormatsMax; ++i) {
    many += fmt::format("[[format]]\nproject = \"p{}\"\nline = \"x\"\nloss = \"a {{value}}\"\n", i);
  }
  CHECK(error_of(many).find("more than") != std::string::npos);
  std::string texts = "[[format]]\nproject = \"p\"\nline = [";
  for (std::size_t i = 0; i <= kLogFormatTextsMax; ++i) texts += "\"x\",";
  CHECK(error_of(texts + "]\nloss = \"a {value}\"\n").find("more than") != std::string::npos);
  CHECK(error_of("[[format]]\nproject = \"" + std::string(kLogFormatTextBytesMax + 1, 'p') + "\"\n")
            .find("a string of 1 to") != std::string::npos);
}

TEST_CASE("a site's rows come first, and replace shipped ones of the same project") {
  World world;
  world.machine.files["site.toml"] =
      "[[format]]\nproject = \"nanoGPT\"\nline = \"it \"\nloss = \"l {value}\"\n"
      "[[format]]\nproject = \"ours\"\nline = \"it \"\nloss = \"l {value}\"\n";
  const auto planned = [&](std::vector<std::string> argv) {
    argv.push_back("train.py");
    const Settings settings = world.merge(argv).value();
    return plan_run(settings, argv, world.around);
  };
  const auto formats = planned({"--line-metrics=auto,lr=lr {value}", "--log-formats=site.toml"});
  REQUIRE(formats);
  const auto& workers = formats->request.workers;
  CHECK(workers.metrics == std::vector<std::string>{"lr=lr {value}"});
  CHECK(workers.line_formats.size() == 8);
  CHECK(workers.line_formats[0].project == "nanoGPT");
  CHECK(workers.line_formats[0].lines == std::vector<std::string>{"it "});
  CHECK(workers.line_formats[1].project == "ours");
  CHECK(planned({"--line-metrics=loss=l {value}"})->request.workers.line_formats.empty());
  const auto refused = planned({"--log-formats=site.toml"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("--line-metrics=auto") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::cli::log_format_file_test
