#pragma once
// Runs tests/helpers/nccl_player on a new progress record and reads what the plugin recorded.

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/io/tool.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tracer/collectives_reader.h"
#include "tracer/record_collectives.h"
#include "tracer/record_file.h"

namespace robustrun::test {

inline const std::string kPlayer = test_helper("nccl_player");
inline const std::string kPlugin = built_program("../share/robustrun/librobustrun_tracer.so");
inline constexpr std::uint64_t kPlayedComm = 0xabc;

struct PluginRun {
  ScratchFolder folder;
  std::string path = folder / "0.record";
  base::Result<tracer::RecordFile> file =
      tracer::RecordFile::create(path, base::Rank{0}, base::Attempt{0});
  std::string out, err;

  std::vector<std::string> settings;  // NAME=VALUE, of the player

  // `setting`: one more variable, NAME=VALUE.
  void play(const std::string& scenario, int version, const std::string& setting = "UNUSED=1") {
    REQUIRE(try_to_play(scenario, version, setting));
  }
  // False: NCCL's player failed, for example because the plugin does not have the version.
  bool try_to_play(const std::string& scenario, int version,
                   const std::string& setting = "UNUSED=1", const std::string& plugin = kPlugin) {
    std::vector<std::string> argv = {"/usr/bin/env", "ROBUSTRUN_RECORD=" + path, setting};
    argv.insert(argv.end(), settings.begin(), settings.end());
    argv.insert(argv.end(), {kPlayer, plugin, scenario, std::to_string(version)});
    const auto run = base::run_tool(argv, std::chrono::seconds(120));
    REQUIRE(run);
    INFO(run->err);
    out = run->out;
    err = run->err;
    return run->status.success();
  }
  [[nodiscard]] tracer::RecordedCollectives read() const {
    const auto bytes = file->read_all();
    REQUIRE(bytes);
    auto all = tracer::read_collectives(*bytes, base::SystemClock().now());
    REQUIRE(all);
    return *std::move(all);
  }
  [[nodiscard]] tracer::Membership only() const {
    auto all = read();
    REQUIRE(all.comms.size() == 1);
    return all.comms.front();
  }
  // As the frequent looks see it.
  [[nodiscard]] tracer::CommunicatorCount glance() const {
    const auto counts = tracer::count_communicators(*file->read_communicators());
    REQUIRE(counts.size() == 1);
    return counts.front();
  }
  [[nodiscard]] tracer::RecordCounters counters() const {
    tracer::RecordCounters counters;
    std::memcpy(&counters, file->read_all()->data() + tracer::kCountersAt, sizeof counters);
    return counters;
  }
};

// Plays a scenario once for each version, each on its own record.
template <class Look>
void play_each(std::initializer_list<int> versions, const std::string& scenario, const Look& look) {
  for (const int version : versions) {
    CAPTURE(version);
    PluginRun run;
    run.play(scenario, version);
    look(run, version);
  }
}

}  // namespace robustrun::test
