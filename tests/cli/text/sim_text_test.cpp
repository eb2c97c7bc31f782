#include <doctest/doctest.h>

#include <cmath>

#include "cli/text/sim_replay_text.h"
#include "cli/text/sim_site_text.h"
#include "cli/text/sim_svg.h"

namespace robustrun::cli::sim_text_test {
namespace {

using simulator::Origin;
using simulator::Phase;
using simulator::PolicyResult;
using simulator::seconds;
using simulator::Stage;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// 1,000 s in all; the rest is productive.
PolicyResult policy(const std::string& name, std::initializer_list<std::pair<Phase, int>> spent) {
  PolicyResult one;
  one.name = name;
  int productive = 1000;
  for (const auto& [phase, time] : spent) {
    one.sum.add(phase, seconds(time));
    productive -= time;
  }
  one.sum.add(Phase::kProductive, seconds(productive));
  one.sum.total = seconds(1000);
  one.ettr.mean = one.sum.ettr();
  return one;
}

struct Box {
  double x = 0, width = 0;
};

// The parts of the bars: rectangles with a title.
std::vector<Box> pieces(const std::string& svg) {
  std::vector<Box> found;
  for (auto at = svg.find("<rect x="); at != std::string::npos; at = svg.find("<rect x=", at + 1)) {
    const std::string element = svg.substr(at, svg.find('>', at) + 8 - at);
    if (!element.ends_with("<title>")) continue;
    const auto number = [&](const std::string& name) {
      return std::stod(element.substr(element.find(" " + name + "=\"") + name.size() + 3));
    };
    found.push_back({number("x"), number("width")});
  }
  return found;
}

}  // namespace

TEST_CASE("the picture's bars have one axis, longer is better, and pieces follow each other") {
  simulator::Study study;
  study.policies.push_back(policy("ours", {{Phase::kLost, 20}, {Phase::kRestart, 30}}));
  study.policies.push_back(policy("theirs", {{Phase::kDetect, 100}, {Phase::kWaiting, 100}}));
  simulator::StudyRequest request;
  request.job.nodes = 7;
  study.spares_used = 2;
  const std::string svg = sim_svg(request, study);
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has(svg, "longer is better: 7 machines and 2 spares"));
  const std::vector<Box> boxes = pieces(svg);
  REQUIRE(boxes.size() == 6);
  for (const std::size_t bar : {0UZ, 3UZ}) {
    CHECK(boxes[bar].x == boxes[0].x);
    CHECK(std::abs(boxes[bar].x + boxes[bar].width - boxes[bar + 1].x) < 0.02);
    CHECK(std::abs(boxes[bar + 1].x + boxes[bar + 1].width - boxes[bar + 2].x) < 0.02);
    CHECK(std::abs(boxes[bar + 2].x + boxes[bar + 2].width - boxes[bar].x - 560) < 0.02);
  }
  // The axis begins at 70 %: 95 % and 80 % are 25 and 10 of its 30.
  CHECK(std::abs(boxes[0].width - 560 * 25.0 / 30) < 0.02);
  CHECK(std::abs(boxes[3].width - 560 * 10.0 / 30) < 0.02);
  for (const char* tick : {">70 %<", ">76 %<", ">100 %<", ">95.00 %<", ">80.00 %<"}) {
    CHECK(has(svg, tick));
  }
  CHECK(has(svg, "lost and repeated: 2.000 %"));
}

TEST_CASE("the ETTR by interval and by spares has axes up to 100 percent, and the best is marked") {
  simulator::Study study;
  study.policies.push_back(policy("ours", {{Phase::kLost, 20}}));
  CHECK_FALSE(has(sim_svg({}, study), "class=\"best\""));
  study.intervals = {{seconds(60), 0.90}, {seconds(600), 0.96}, {seconds(7560), 0.92}};
  study.best_interval = seconds(600);
  study.spares = {{0, {0.2, 0, 0}, 0.2}, {5, {1, 0, 0}, 0.999}, {12, {1, 0, 0}, 0.99}};
  study.best_spares = 5;
  const std::string svg = sim_svg({}, study);
  CHECK(count(svg, "class=\"best\"") == 2);
  for (const char* words : {">60 s<", ">10 min<", ">2.1 h<", "one checkpoint every; best: 10 min",
                            "spare machines; best: 5", "ETTR per machine, %", ">100.0<"}) {
    CAPTURE(words);
    CHECK(has(svg, words));
  }
  CHECK_FALSE(has(svg, ">102"));
}

TEST_CASE("names in the picture cannot become markup") {
  simulator::Study study;
  study.policies.push_back(policy("<script>&\n", {{Phase::kLost, 1}}));
  simulator::StudyRequest request;
  request.failures.name = "a<b&c";
  const std::string svg = sim_svg(request, study);
  CHECK_FALSE(has(svg, "<script>"));
  CHECK(has(svg, "&lt;script>&amp;"));
  CHECK(has(svg, "failures of a&lt;b&amp;c<"));
}

TEST_CASE("a policy that loses nothing has one long bar, and no number is broken") {
  simulator::Study study;
  study.policies.push_back(policy("perfect", {}));
  const std::string svg = sim_svg({}, study);
  REQUIRE(pieces(svg).size() == 1);
  CHECK(pieces(svg)[0].width == 560);
  CHECK(has(svg, ">100.00 %<"));
  CHECK_FALSE(has(svg, "nan"));
  CHECK_FALSE(has(svg, "inf"));
}

TEST_CASE("a site's text names some of its runs, and the values that are missing in the journals") {
  simulator::Site site;
  for (int i = 0; i < 10; ++i) site.runs.push_back("run" + std::to_string(i));
  site.node_days = 2;
  site.all = {12, {6, 3.1, 10.48}};
  site.by_kind[0] = {12, {6, 3.1, 10.48}};
  site.times[static_cast<std::size_t>(Stage::kStop)] = {std::chrono::milliseconds(1250), 5};
  site.step = {seconds(3), 100};
  site.on_purpose = 4;
  const std::string text = site_text(site);
  CHECK(has(text, "Journals of 10 runs, 48 node-hours: run0, "));
  CHECK(has(text, "run7 and 2 more\n"));
  CHECK_FALSE(has(text, "run8"));
  CHECK(count(text, "     12             6   3.1 to 10.5\n") == 2);  // its kind, and all
  CHECK(has(text, "stop of the workers                                 1.25 s        5\n"));
  const auto unknown = text.find("  Not in the journals: start of a run, until the first step; ");
  REQUIRE(unknown != std::string::npos);
  const std::string line = text.substr(unknown, text.find('\n', unknown) - unknown);
  CHECK(line.ends_with("; between checkpoints; a rank waits for a checkpoint."));
  CHECK_FALSE(has(line, "stop of the workers;"));
  CHECK(has(text, "4 failures were injected"));

  site.runs = {"only"};
  site.every_is_guessed = true;
  CHECK(site_text(site).starts_with("Journals of 1 run, 48 node-hours: only\n"));
  CHECK(has(site_text(site), "between checkpoints (twice the repeated steps)"));
}

TEST_CASE("a site's JSON has only the times that were seen, and escapes names") {
  simulator::Site site;
  site.runs = {"a\"b"};
  site.step = {seconds(3), 100};
  const std::string json = site_json(site);
  CHECK(json.starts_with(R"({"runs":["a\"b"],"node_hours":0,)"));
  CHECK(has(json, R"("times":[{"name":"step","median_s":3,"samples":100}])"));
  CHECK(has(json, R"("doubts":["No failures)"));
}

TEST_CASE("a replay stands beside the real run, with what was left out") {
  ReplayShown shown;
  shown.replay.name = "run1";
  shown.replay.nodes = 4;
  shown.replay.spares = 1;
  shown.replay.duration = seconds(1800);
  shown.replay.real_ettr = 0.9;
  shown.replay.simulated_ettr = 0.875;
  shown.replay.played = 35;
  shown.replay.simulated = 34;
  shown.replay.rows = {{"productive", seconds(1620), seconds(1575)},
                       {"never", {}, {}},
                       {"here only", {}, seconds(2)}};
  shown.site.runs = {"other1", "other2"};
  shown.figures = {{"step", "1 s", Origin::kMeasured, "journals"},
                   {"stop", "2 s", Origin::kAssumed, "no place to meet"},
                   {"nodes", "4", Origin::kGiven, "the user"}};
  std::string text = replay_text(shown);
  CHECK(text.starts_with(
      "Replay of run run1: 4 machines and 1 spare, 1800 s, 35 failures\nTimes: medians of 2 "
      "other runs, without this one.\n"));
  CHECK(has(text, "productive      1620.000 s    1575.000 s\n"));
  CHECK_FALSE(has(text, "never"));
  CHECK(has(text, "here only"));
  CHECK(has(text, "ETTR               90.00 %       87.50 %   -2.50 points\n"));
  CHECK_FALSE(has(text, "Not replayed"));
  CHECK_FALSE(has(text, "No journal has a start"));
  // The best known values come first.
  CHECK(text.find("given     nodes: 4") < text.find("measured  step: 1 s"));
  CHECK(text.find("measured  step: 1 s") < text.find("assumed   stop: 2 s (no place to meet)"));

  shown.replay.stalls = 3;
  shown.replay.by_user = 1;
  shown.replay.start_is_copied = true;
  shown.calibrated_by_itself = true;
  text = replay_text(shown);
  CHECK(has(text, "medians of this run's own incidents by kind"));
  CHECK(has(text, "Not replayed: 3 stalls that resolved themselves, 1 user orders.\n"));
  CHECK(has(text, "No journal has a start: the start of this run is used.\n"));
  const std::string json = replay_json(shown);
  CHECK(has(json, R"("points":-2.5)"));
  CHECK(has(json, R"("not_played":{"while_starting":0,"stalls":3,"by_user":1})"));
  CHECK(has(json, R"({"spent":"never","real_s":0,"simulated_s":0})"));
}

}  // namespace robustrun::cli::sim_text_test
