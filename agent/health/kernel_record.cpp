// The texts are the kernel's own, of Linux 5.10 to 6.18, and those of NVIDIA's and Mellanox's
// drivers.

#include "agent/health/kernel_record.h"

#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

using wire::NodeHealth;

constexpr unsigned kFacilityShift = 3;
constexpr unsigned kLevelMask = 7;
constexpr unsigned kUserFacility = 1;

// Where a line names its subject.
enum class Named : std::uint8_t {
  kWord,     // the word after `mark`
  kBracket,  // from `mark` to the next ')'
  kNone,     // `mark` itself is the subject
};

struct KernelText {
  std::string_view first;   // the text begins with it, as far as begins() says
  std::string_view second;  // and has this after it
  Named named;
  std::string_view mark;
  bool over = false;
};

// The first row that fits counts.
constexpr auto kKernelTexts = std::to_array<KernelText>({
    {"nvidia-nvswitch", "SXid", Named::kNone, "NVSwitch"},
    {"Out of memory: Killed process ", "", Named::kNone, "memory"},
    {"Memory cgroup out of memory: Killed process ", "", Named::kNone, "memory"},
    {"Buffer I/O error on dev ", "", Named::kWord, "on dev "},
    {"I/O error, dev ", "", Named::kWord, ", dev "},
    {"critical medium error, dev ", "", Named::kWord, ", dev "},
    {"EXT4-fs error (device ", "", Named::kBracket, "(device "},
    {"EXT4-fs (", "Remounting filesystem read-only", Named::kBracket, "EXT4-fs ("},
    {"XFS (", "orruption", Named::kBracket, "XFS ("},
    {"XFS (", "log I/O error", Named::kBracket, "XFS ("},
    {"XFS (", "hutting down filesystem", Named::kBracket, "XFS ("},
    {"BTRFS", "error (device ", Named::kBracket, "(device "},
    {"nvme ", " timeout", Named::kWord, "nvme "},
    {"nvme ", "controller is down", Named::kWord, "nvme "},
    {"nfs: server ", " not responding", Named::kWord, "nfs: server "},
    {"nfs: server ", " OK", Named::kWord, "nfs: server ", true},
    {"Lustre: ", " was lost; in progress operations", Named::kNone, "Lustre"},
    {"Lustre: ", "Connection restored to ", Named::kNone, "Lustre", true},
    {"ceph: mds", " hung", Named::kNone, "ceph"},
    {"Memory failure: 0x", "", Named::kNone, "memory"},
    {"EDAC ", " UE ", Named::kNone, "memory"},
    {"mce: [Hardware Error]", "", Named::kNone, "processor"},
    {"[Hardware Error]", "Machine Check Exception", Named::kNone, "processor"},
    {"AER: ", "(Fatal)", Named::kNone, "PCIe"},
    {"mlx5_core ", "health compromised", Named::kWord, "mlx5_core "},
    {"BUG: soft lockup - CPU#", "", Named::kWord, "lockup - "},
    {"Watchdog detected hard LOCKUP", "", Named::kNone, "processor"},
    {"CPU", ": Watchdog detected hard LOCKUP", Named::kNone, "processor"},
    {"INFO: rcu", "self-detected stall", Named::kNone, "processor"},
    {"INFO: task ", " blocked for more than ", Named::kWord, "INFO: task "},
    {"CPU", "temperature above threshold, cpu clock throttled", Named::kNone, "processor"},
    {"CPU", "temperature is above threshold, cpu clock is throttled", Named::kNone, "processor"},
    {"BUG: unable to handle ", "", Named::kNone, "kernel"},
    {"general protection fault, probably for ", "", Named::kNone, "kernel"},
    {"kernel BUG at ", "", Named::kNone, "kernel"},
});

// What the kernel puts before such a text, by its version and the part that reports.
constexpr auto kReporters =
    std::to_array<std::string_view>({"blk_update_request: ", "print_req_error: ", "mce: ",
                                     "watchdog: ", "NMI watchdog: ", "rcu: ", "Oops: "});

constexpr std::string_view kXidMark = "NVRM: Xid (PCI:";

bool is_hex(char each) {
  return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f') ||
         (each >= 'A' && each <= 'F');
}

// "0000:3b:00", "0000:3b:00.0".
bool is_pci_address(std::string_view text) {
  const std::string_view device = text.substr(0, text.find('.'));
  const auto parts = base::split(device, ':');
  return parts.size() == 3 && std::ranges::all_of(parts, [](std::string_view part) {
           return !part.empty() && std::ranges::all_of(part, is_hex);
         });
}

// What follows a driver's name and its device: "pcieport 0000:00:01.0: AER: …".
std::string_view after_device(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == text.npos) return text;
  const std::size_t end = text.find(": ", space);
  if (end == text.npos || !is_pci_address(text.substr(space + 1, end - space - 1))) return text;
  return text.substr(end + 2);
}

// A line about a process, whose name, chosen by any user, comes first: "python3[4711]: segfault at
// 0 ip …", "python3: page allocation failure: …" (arch/x86/mm/fault.c, mm/page_alloc.c).
bool begins_with_process(std::string_view text) {
  constexpr std::size_t kNameBytesMax = 15;  // TASK_COMM_LEN - 1
  for (std::size_t at = 0; at <= kNameBytesMax && at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(": page allocation ")) return true;
    const char end = rest.front() == '[' ? ']' : rest.front() == '(' ? ')' : ' ';
    if (end == ' ') continue;
    const std::string_view number = rest.substr(1, rest.find(end) - 1);
    if (rest.contains(end) && base::parse_int<std::uint32_t>(number)) return true;
  }
  return false;
}

// A text that only mentions a mark, in the name of a program or file, is no news: the mark begins
// it, after the names of reporters or of a device.
bool begins(std::string_view text, std::string_view mark) {
  if (text.starts_with(mark) || after_device(text).starts_with(mark)) return true;
  const auto reporter = std::ranges::find_if(
      kReporters, [&](std::string_view each) { return text.starts_with(each); });
  return reporter != kReporters.end() && begins(text.substr(reporter->size()), mark);
}

bool fits(const KernelText& row, std::string_view text) {
  return begins(text, row.first) && text.find(row.second, row.first.size()) != text.npos;
}

std::string_view subject_of(const KernelText& row, std::string_view text) {
  if (row.named == Named::kNone) return row.mark;
  const std::size_t at = text.find(row.mark);
  if (at == text.npos) return {};
  text.remove_prefix(at + row.mark.size());
  std::string_view subject =
      text.substr(0, text.find_first_of(row.named == Named::kWord ? " ," : ")"));
  while (!subject.empty() && subject.back() == ':') subject.remove_suffix(1);
  return subject;
}

// Drives without media, and disks in memory: their errors say nothing about the job's files.
bool is_unimportant(std::string_view device) {
  constexpr auto kPrefixes = std::to_array<std::string_view>({"fd", "sr", "loop", "ram", "zram"});
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return device.starts_with(prefix) && device.size() > prefix.size() &&
           device[prefix.size()] >= '0' && device[prefix.size()] <= '9';
  });
}

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=…"; older drivers have "PCI:0000:3b:00.0".
std::optional<KernelNews> news_of_xid(std::string_view text) {
  if (!text.starts_with(kXidMark)) return std::nullopt;
  std::string_view rest = text.substr(kXidMark.size());
  const std::size_t bracket = rest.find("): ");
  if (bracket == rest.npos) return std::nullopt;
  std::string_view pci = rest.substr(0, bracket);
  if (!is_pci_address(pci)) return std::nullopt;
  pci = pci.substr(0, pci.find('.'));
  rest.remove_prefix(bracket + 3);
  const auto code = base::parse_int<std::uint32_t>(rest.substr(0, rest.find_first_of(", ")));
  if (!code || *code == 0) return std::nullopt;
  KernelNews news;
  news.pci = wire::short_text(pci, wire::kHealthSubjectBytesMax);
  news.finding.subject = wire::short_text("GPU " + news.pci, wire::kHealthSubjectBytesMax);
  news.finding.line = wire::short_text(text, wire::kHealthLineBytesMax);
  news.finding.xid = *code;
  news.topic = news.finding.subject + " xid " + std::to_string(*code);
  return news;
}

}  // namespace

std::optional<KernelRecord> parse_kernel_record(std::string_view line) {
  if (line.empty() || line.front() == ' ') return std::nullopt;
  const std::size_t semicolon = line.find(';');
  if (semicolon == line.npos) return std::nullopt;
  const auto front = base::split(line.substr(0, semicolon), ',');
  if (front.size() < 3) return std::nullopt;
  const auto priority = base::parse_int<std::uint32_t>(front[0]);
  const auto sequence = base::parse_int<std::uint64_t>(front[1]);
  const auto microseconds = base::parse_int<std::uint64_t>(front[2]);
  constexpr std::uint64_t kMicrosecondsMax = std::uint64_t{1} << 53;
  if (!priority || !sequence || !microseconds || *microseconds > kMicrosecondsMax) {
    return std::nullopt;
  }
  KernelRecord record;
  record.facility = *priority >> kFacilityShift;
  record.level = *priority & kLevelMask;
  record.sequence = *sequence;
  record.at = std::chrono::microseconds(static_cast<std::int64_t>(*microseconds));
  record.text = line.substr(semicolon + 1);
  return record;
}

std::optional<KernelNews> kernel_news(const KernelRecord& record) {
  if (record.facility > kUserFacility || begins_with_process(record.text)) return std::nullopt;
  if (auto xid = news_of_xid(record.text)) return xid;
  const auto row = std::ranges::find_if(
      kKernelTexts, [&](const KernelText& each) { return fits(each, record.text); });
  if (row == kKernelTexts.end()) return std::nullopt;
  const std::string_view subject = subject_of(*row, record.text);
  if (is_unimportant(subject)) return std::nullopt;
  KernelNews news;
  news.finding.subject = wire::short_text(subject, wire::kHealthSubjectBytesMax);
  news.finding.line = wire::short_text(record.text, wire::kHealthLineBytesMax);
  news.finding.over = row->over;
  news.topic = std::to_string(row - kKernelTexts.begin()) + " " + news.finding.subject;
  return news;
}

bool tells_of_link(const KernelRecord& record) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"ink is Down", "ink is Up", "ink down", "ink up", "ink is down", "ink is up", "lost carrier",
       "gained carrier", "link becomes ready"});
  return record.facility == 0 && std::ranges::any_of(kWords, [&](std::string_view word) {
           return record.text.find(word) != record.text.npos;
         });
}

}  // namespace robustrun::agent
