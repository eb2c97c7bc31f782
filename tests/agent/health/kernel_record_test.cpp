#include "agent/health/kernel_record.h"

#include <doctest/doctest.h>

#include <string>

#include "agent/health/kernel_log.h"
#include "agent/health/limits.h"
#include "tests/scratch_folder.h"
#include "wire/messages/limits.h"

namespace robustrun::agent::kernel_record_test {
namespace {

std::optional<KernelNews> news_of(const std::string& text, unsigned priority = 4) {
  const std::string line = std::to_string(priority) + ",1234,5678901,-;" + text;
  const auto record = parse_kernel_record(line);
  REQUIRE(record.has_value());
  return kernel_news(*record);
}

TEST_CASE("a record is parsed") {
  const auto record = parse_kernel_record("30,1234,5678901,-,caller=T12;usb 1-1: new; device");
  REQUIRE(record.has_value());
  CHECK(record->facility == 3);
  CHECK(record->level == 6);
  CHECK(record->sequence == 1234);
  CHECK(record->at == std::chrono::microseconds(5678901));
  CHECK(record->text == "usb 1-1: new; device");
}

TEST_CASE("anything else is not a record") {
  for (const char* const line :
       {"", " SUBSYSTEM=usb", "4,1234;text", "x,1,2,-;text", "4,-1,2,-;text", "4,1,2,-",
        "4,1,99999999999999999999,-;text", "4,1,18446744073709551615,-;text"}) {
    CAPTURE(line);
    CHECK_FALSE(parse_kernel_record(line).has_value());
  }
}

TEST_CASE("an error of a GPU has its code, its place on the bus and the driver's words") {
  const auto news = news_of(
      "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.");
  REQUIRE(news.has_value());
  CHECK(news->finding.xid == 79);
  CHECK(news->pci == "0000:3b:00");
  CHECK(news->finding.subject == "GPU 0000:3b:00");
  CHECK(news->finding.source == wire::NodeHealth::Source::kKernel);
  CHECK(news->finding.line ==
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.");
  CHECK_FALSE(news->finding.over);
  CHECK(news_of("NVRM: Xid (PCI:0000:3b:00.0): 31, x")->pci == "0000:3b:00");
}

TEST_CASE("a damaged line of the NVIDIA driver is not read as a GPU's error") {
  CHECK_FALSE(news_of("NVRM: Xid (PCI:0000:3b:00").has_value());
  CHECK_FALSE(news_of("NVRM: Xid (PCI:0000:3b:00): seventy").has_value());
  CHECK_FALSE(news_of("NVRM: Xid (PCI:0000:3b:00): 0, nothing").has_value());
  CHECK_FALSE(news_of("NVRM: loading NVIDIA UNIX x86_64 Kernel Module").has_value());
}

TEST_CASE("disks, file systems, memory, processors and the kernel itself are reported by name") {
  const std::pair<const char*, const char*> kLines[] = {
      {"I/O error, dev sda, sector 1234 op 0x0:(READ) flags 0x80700", "sda"},
      {"blk_update_request: I/O error, dev nvme0n1, sector 8", "nvme0n1"},
      {"Buffer I/O error on dev dm-0, logical block 0, async page read", "dm-0"},
      {"blk_update_request: critical medium error, dev sdb, sector 9", "sdb"},
      {"EXT4-fs error (device sda1): ext4_lookup:1855: inode #2: comm ls: deleted inode", "sda1"},
      {"EXT4-fs (sda1): Remounting filesystem read-only", "sda1"},
      {"XFS (sdb1): Metadata corruption detected at x; Corruption of in-memory data", "sdb1"},
      {"nvme nvme0: I/O 12 QID 3 timeout, aborting", "nvme0"},
      {"nfs: server filer-1 not responding, still trying", "filer-1"},
      {"Memory cgroup out of memory: Killed process 4711 (python3) total-vm:1kB", "memory"},
      {"Out of memory: Killed process 4711 (python3) total-vm:1kB", "memory"},
      {"mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 5: be00000000800400", "processor"},
      {"EDAC MC0: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0", "memory"},
      {"watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4711]", "CPU#3"},
      {"INFO: task python3:4711 blocked for more than 120 seconds.", "python3:4711"},
      {"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
       "NVSwitch"},
      {"mlx5_core 0000:3b:00.0: poll_health:825: device's health compromised - reached miss count",
       "0000:3b:00.0"},
      {"pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: id=0008", "PCIe"},
      {"watchdog: CPU4: Watchdog detected hard LOCKUP on cpu 4", "processor"},
      {"watchdog: Watchdog detected hard LOCKUP on cpu 4", "processor"},
      {"NMI watchdog: Watchdog detected hard LOCKUP on cpu 4", "processor"},
      {"NMI watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4711]", "CPU#3"},
      {"mce: CPU0: Core temperature is above threshold, cpu clock is throttled", "processor"},
      {"rcu: INFO: rcu_sched self-detected stall on CPU", "processor"},
      {"CPU0: Package temperature above threshold, cpu clock throttled (total events = 1)",
       "processor"},
      {"BUG: unable to handle page fault for address: ffffffffc0000000", "kernel"},
      {"Oops: general protection fault, probably for non-canonical address 0x1: 0000 [#1]",
       "kernel"},
      {"kernel BUG at mm/slub.c:305!", "kernel"},
  };
  for (const auto& [line, subject] : kLines) {
    CAPTURE(std::string(line));
    const auto news = news_of(line);
    REQUIRE(news.has_value());
    CHECK(news->finding.subject == subject);
    CHECK(news->finding.line == line);
    CHECK(news->finding.xid == 0);
    CHECK_FALSE(news->finding.over);
  }
}

TEST_CASE("a server that answers again ends the finding") {
  const auto news = news_of("nfs: server filer-1 OK");
  REQUIRE(news.has_value());
  CHECK(news->finding.over);
  CHECK(news->finding.subject == "filer-1");
}

TEST_CASE("harmless lines, drives without media and lines of programs are not reported") {
  for (const char* const line :
       {"usb 1-1: new high-speed USB device number 2", "I/O error, dev fd0, sector 0",
        "I/O error, dev sr0, sector 0", "Buffer I/O error on dev loop3, logical block 1",
        "[Hardware Error]: Corrected error, no action required.",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode", "EDAC MC0: 1 CE on DIMM_A1"}) {
    CAPTURE(line);
    CHECK_FALSE(news_of(line).has_value());
  }
  // Facility 3 is a daemon's; 1 is any process's that writes to /dev/kmsg, as in a drill.
  CHECK_FALSE(news_of("I/O error, dev sda, sector 1", 3 << 3).has_value());
  CHECK(news_of("I/O error, dev sda, sector 1", 1 << 3).has_value());
}

TEST_CASE("a program or file with the name of a finding is no finding") {
  // The kernel cuts a process's name to 15 bytes.
  for (const char* const line :
       {"NVRM: Xid (PCI:[4711]: segfault at 0 ip 0 sp 0 error 4 in x): 79, y[1000+1000]",
        "kernel BUG at x[4711]: segfault at 0 ip 0000000000000000 sp 0 error 14 in x[1000+1000]",
        "nvme x timeout[4711]: segfault at 0 ip 0 sp 0 error 4 in nvme[1000+1000]",
        "nvme x timeout: page allocation failure: order:0, mode:0xcc0(GFP_KERNEL)",
        "python3[4711]: segfault at 0 ip 0 sp 0 error 4 in kernel BUG at a.so[1000+1000]",
        "traps: kernel BUG at [4711] trap invalid opcode ip:0 sp:0 error:0 in a[1000+1000]",
        "process '/tmp/NVRM: Xid (PCI:0000:3b:00): 79, x' started with executable stack",
        "x 0:1: AER: (Fatal)", "python3 (4711): drop_caches: 3",
        "audit: type=1701 comm=\"NVRM: Xid (PCI:0000:3b:00): 79, x\""}) {
    CAPTURE(line);
    CHECK_FALSE(news_of(line).has_value());
  }
}

TEST_CASE("a finding is short and printable") {
  const auto news =
      news_of("I/O error, dev " + std::string(400, 'x') + "\x1b[2J" + std::string(9000, '\xff'));
  REQUIRE(news.has_value());
  CHECK(news->finding.subject.size() <= wire::kHealthSubjectBytesMax);
  CHECK(news->finding.line.size() <= wire::kHealthLineBytesMax);
  CHECK(news->finding.line.find('\x1b') == std::string::npos);
}

TEST_CASE("lines about links are recognised") {
  const auto tells = [](const char* text) {
    return tells_of_link(*parse_kernel_record(std::string("6,1,2,-;") + text));
  };
  CHECK(tells("mlx5_core 0000:3b:00.0 eth2: Link down"));
  CHECK(tells("ixgbe 0000:01:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX"));
  CHECK_FALSE(tells("usb 1-1: new high-speed USB device"));
}

TEST_CASE("the log is followed from its end, in whole lines") {
  const test::ScratchFolder folder;
  const std::string file = folder.write("kmsg", "4,1,2,-;old\n");
  auto log = KernelLog::open(file);
  REQUIRE(log.has_value());
  CHECK(log->read_lines().empty());
  std::ofstream more(file, std::ios::app);
  more << "4,2,3,-;new\n SUBSYSTEM=x\n4,3,4,-;ha" << std::flush;
  CHECK(log->read_lines() == std::vector<std::string>{"4,2,3,-;new", " SUBSYSTEM=x"});
  more << "lf\n" << std::flush;
  CHECK(log->read_lines() == std::vector<std::string>{"4,3,4,-;half"});
}

TEST_CASE("a line without an end is skipped, and the next one is complete") {
  const test::ScratchFolder folder;
  const std::string file = folder.write("kmsg", "");
  auto log = KernelLog::open(file);
  REQUIRE(log.has_value());
  std::ofstream(file, std::ios::app)
      << std::string(3 * kKernelLineBytesMax, 'x') << "\n4,2,3,-;next\n";
  CHECK(log->read_lines() == std::vector<std::string>{"4,2,3,-;next"});
}

TEST_CASE("a log that may not be read says why") {
  const auto log = KernelLog::open("/nonexistent/kmsg");
  REQUIRE_FALSE(log.has_value());
  CHECK(log.error().what.find("/nonexistent/kmsg") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::agent::kernel_record_test
