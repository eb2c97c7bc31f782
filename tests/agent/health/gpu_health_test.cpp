#include "agent/health/gpu_health.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "agent/health/limits.h"
#include "agent/node/limits.h"

namespace robustrun::agent::gpu_health_test {
namespace {

using Lines = std::vector<std::string>;

GpuSensors healthy(std::uint32_t index = 3) {
  GpuSensors sensors;
  sensors.index = index;
  sensors.pci = "00000000:3b:00.0";
  sensors.ecc = 2;
  sensors.nvlink = 5;
  sensors.remap_pending = sensors.remap_failed = false;
  sensors.temperature_c = 45;
  sensors.slowdown_c = 90;
  sensors.throttled = 0x1;  // idle
  return sensors;
}

Lines reported(GpuHistory& history, const GpuSensors& sensors) {
  Lines lines;
  for (const auto& each : history.take(sensors)) {
    CHECK(each.subject == "GPU " + std::to_string(sensors.index));
    CHECK(each.source == wire::NodeHealth::Source::kGpu);
    lines.push_back(each.line + (each.over ? " (over)" : ""));
  }
  return lines;
}

TEST_CASE("a GPU's reading passes the pipe unchanged") {
  for (GpuSensors sensors : {healthy(), GpuSensors{}}) {
    sensors.index = 7;
    for (const char* const lost : {"", "15 (GPU is lost)"}) {
      sensors.lost = lost;
      const std::string line = gpu_line(sensors);
      const auto read = parse_gpu_line(line);
      REQUIRE(read.has_value());
      CHECK(gpu_line(*read) == line);
      CHECK(read->temperature_c == sensors.temperature_c);
      CHECK(read->lost == sensors.lost);
    }
  }
}

TEST_CASE("other lines are not read as a GPU's") {
  for (const char* const line : {"", "gpu", "gpu x", "gpu -1", "gpu 64", "beat", "xid 1 a 2"}) {
    CAPTURE(line);
    CHECK_FALSE(parse_gpu_line(line).has_value());
  }
  const auto odd = parse_gpu_line("gpu 1 temperature=hot pending=2 ecc= slowdown=99999999999 =");
  REQUIRE(odd.has_value());
  CHECK_FALSE(odd->temperature_c.has_value());
  CHECK_FALSE(odd->remap_pending.has_value());
}

TEST_CASE("a healthy GPU is not reported, whatever was counted before") {
  GpuHistory history;
  CHECK(reported(history, healthy()).empty());
  CHECK(reported(history, healthy()).empty());
}

TEST_CASE("a lost GPU is reported once, and that it answers again") {
  GpuHistory history;
  GpuSensors lost;
  lost.index = 3;
  lost.lost = "15 (GPU is lost)";
  CHECK(reported(history, healthy()).empty());
  CHECK(reported(history, lost) ==
        Lines{"GPU 3 does not work: GPU is lost, NVML says 15 (GPU is lost)"});
  CHECK(reported(history, lost).empty());
  CHECK(history.name_of("0000:3b:00") == "GPU 3");  // the log may mention it now
  CHECK(reported(history, healthy()) == Lines{"GPU 3 answers again (over)"});
  GpuHistory fresh;
  CHECK(reported(fresh, lost).size() == 1);
}

TEST_CASE("memory errors are reported as they grow, repairs when they are due") {
  GpuHistory history;
  GpuSensors gpu = healthy();
  CHECK(reported(history, gpu).empty());
  gpu.ecc = 4;
  CHECK(reported(history, gpu) ==
        Lines{"GPU 3 uncorrectable ECC error encountered: 2 more, 4 since its driver began"});
  gpu.remap_pending = true;
  CHECK(reported(history, gpu).size() == 1);
  CHECK(reported(history, gpu).empty());
  gpu.remap_failed = true;
  CHECK(reported(history, gpu) == Lines{"GPU 3 row remapping failed"});
  gpu.ecc = 0;  // the driver was restarted
  CHECK(reported(history, gpu).empty());
}

TEST_CASE("heat is reported when it begins, and over when it is well below the threshold") {
  GpuHistory history;
  GpuSensors gpu = healthy();
  CHECK(reported(history, gpu).empty());
  gpu.temperature_c = 90;
  CHECK(reported(history, gpu) == Lines{"GPU 3 is at 90 C, its slowdown threshold is 90 C"});
  gpu.temperature_c = 86;
  CHECK(reported(history, gpu).empty());
  gpu.temperature_c = 95;
  CHECK(reported(history, gpu).empty());
  gpu.temperature_c = 85;
  CHECK(reported(history, gpu) == Lines{"GPU 3 has cooled down (over)"});
  CHECK(reported(history, gpu).empty());
}

TEST_CASE("clocks that stay throttled are reported, a short phase is not") {
  GpuHistory history;
  GpuSensors slow = healthy();
  slow.throttled = 0x40 | 0x08 | 0x4;
  CHECK(reported(history, slow).empty());
  CHECK(reported(history, healthy()).empty());
  CHECK(reported(history, slow).empty());
  CHECK(reported(history, slow) ==
        Lines{"GPU 3 clocks are throttled: hardware slowdown, hardware thermal slowdown"});
  CHECK(reported(history, slow).empty());
  for (unsigned i = 1; i < kUnthrottledLooks; ++i) CHECK(reported(history, healthy()).empty());
  CHECK(reported(history, slow).empty());  // counting starts again
  for (unsigned i = 1; i < kUnthrottledLooks; ++i) CHECK(reported(history, healthy()).empty());
  CHECK(reported(history, healthy()) == Lines{"GPU 3 clocks are no longer throttled (over)"});
  CHECK(throttle_words(0x1 | 0x2 | 0x4 | 0x10 | 0x100).empty());
  CHECK(throttle_words(0x80) == "power brake");
}

TEST_CASE("NVLink errors are reported when many come at once") {
  GpuHistory history;
  GpuSensors gpu = healthy();
  CHECK(reported(history, gpu).empty());
  *gpu.nvlink += kNvlinkErrorsMin - 1;
  CHECK(reported(history, gpu).empty());
  *gpu.nvlink += kNvlinkErrorsMin;
  CHECK(reported(history, gpu) == Lines{"GPU 3 its NVLink error counters grow: 100 more"});
}

TEST_CASE("the kernel's name of a GPU finds NVML's number") {
  GpuHistory history;
  CHECK(reported(history, healthy()).empty());
  CHECK(history.name_of("0000:3b:00") == "GPU 3");
  CHECK(history.name_of("0000:5e:00").empty());
  CHECK(history.name_of("").empty());
  CHECK(kernel_bus_id("00000000:3b:00.0") == "0000:3b:00");
  CHECK(kernel_bus_id("00010001:3b:00.0") == "0001:3b:00");
}

TEST_CASE("an Xid event reads as the driver's own line") {
  const auto news = parse_xid_line("xid 3 00000000:3b:00.0 79");
  REQUIRE(news.has_value());
  CHECK(news->pci == "0000:3b:00");
  CHECK(news->finding.subject == "GPU 3");
  CHECK(news->finding.xid == 79);
  CHECK(news->finding.line == "NVRM: Xid (PCI:0000:3b:00): 79, reported by NVML");
  for (const char* const line : {"", "xid 3 79", "xid x y z", "xid 1 2 3 4", "beat"}) {
    CHECK_FALSE(parse_xid_line(line).has_value());
  }
}

}  // namespace
}  // namespace robustrun::agent::gpu_health_test
