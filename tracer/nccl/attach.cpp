#include "tracer/nccl/attach.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

enum class Attached : std::uint8_t { kNotYet, kYes, kNo };

Tables g_tables;
pid_t g_pid = 0;
std::atomic<Tables*> g_current{nullptr};
std::atomic<Attached> g_attached{Attached::kNotYet};
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

// Runs in a forked child, which shares the mapping but is not the worker.
void forget() {
  g_current.store(nullptr, std::memory_order_relaxed);
  g_attached.store(Attached::kNo, std::memory_order_relaxed);
}

std::byte* map_record() {
  const char* path = ::getenv("ROBUSTRUN_RECORD");
  if (path == nullptr || *path == '\0') return nullptr;
  const int fd = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  void* at = MAP_FAILED;
  if (::lseek(fd, 0, SEEK_END) >= static_cast<off_t>(kCollectivesEnd)) {
    at = ::mmap(nullptr, kCollectivesEnd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  }
  ::close(fd);
  if (at == MAP_FAILED) return nullptr;
  const auto* page = static_cast<const ProgressRecord*>(at);
  if (page->magic == kRecordMagic && page->major == kRecordMajor && page->minor >= 1) {
    return static_cast<std::byte*>(at);
  }
  ::munmap(at, kCollectivesEnd);
  return nullptr;
}

template <class Row>
Row* table(std::byte* base, std::size_t at) {
  return reinterpret_cast<Row*>(base + at);
}

// Clears what an earlier process left in this record. Rows written by Python are kept.
void clear(std::byte* base) {
  std::memset(base + kCountersAt, 0, sizeof(RecordCounters));
  std::memset(base + kOperationsAt, 0, kCollectivesEnd - kOperationsAt);
  for (std::size_t slot = 0; slot < kCommunicatorSlots; ++slot) {
    RecordCommunicator& row = g_tables.communicators[slot];
    if (row.source == static_cast<std::uint32_t>(RecordSource::kNccl)) row = {};
  }
}

// The record belongs to the first process that claims it, unless the boot module has recorded the
// worker's pid.
bool claim(std::byte* base) {
  const auto own = static_cast<std::uint64_t>(g_pid);
  const std::uint64_t worker = get(g_tables.page->worker_pid);
  if (worker != 0 && worker != own) return false;
  std::uint64_t writer = 0;
  if (exchange(g_tables.counters->writer_pid, writer, own)) return true;
  if (writer != own && worker != own) return false;
  clear(base);
  set(g_tables.counters->writer_pid, own);
  return true;
}

bool open_record() {
  std::byte* const base = map_record();
  if (base == nullptr) return false;
  g_tables.page = table<ProgressRecord>(base, 0);
  g_tables.counters = table<RecordCounters>(base, kCountersAt);
  g_tables.wanted_mask = table<std::uint64_t>(base, kWantedMaskAt);
  g_tables.communicators = table<RecordCommunicator>(base, kCommunicatorsAt);
  g_tables.operations = table<RecordOperation>(base, kOperationsAt);
  g_tables.flows = table<RecordFlow>(base, kFlowsAt);
  g_tables.signatures = table<RecordSignature>(base, kSignaturesAt);
  g_tables.histograms = table<RecordHistogram>(base, kHistogramsAt);
  g_tables.timings = table<RecordTiming>(base, kTimingsAt);
  g_tables.edges = table<RecordEdge>(base, kEdgesAt);
  g_tables.rates = table<RecordRate>(base, kRatesAt);
  g_tables.tags = table<std::uint64_t>(base, kTagsAt);
  g_pid = ::getpid();
  if (claim(base) && ::pthread_atfork(nullptr, nullptr, forget) == 0) return true;
  ::munmap(base, kCollectivesEnd);
  return false;
}

}  // namespace

void attach() {
  if (g_attached.load(std::memory_order_acquire) != Attached::kNotYet) return;
  ::pthread_mutex_lock(&g_mutex);
  if (g_attached.load(std::memory_order_relaxed) == Attached::kNotYet) {
    const bool opened = open_record();
    if (opened) g_current.store(&g_tables, std::memory_order_release);
    g_attached.store(opened ? Attached::kYes : Attached::kNo, std::memory_order_release);
  }
  ::pthread_mutex_unlock(&g_mutex);
}

Tables* tables() { return g_current.load(std::memory_order_acquire); }

pid_t own_pid() { return g_pid; }

std::uint64_t mask_of_environment() {
  const char* text = ::getenv("ROBUSTRUN_NCCL_MASK");
  if (text == nullptr) return 0;
  std::uint64_t base = 10;
  if (text[0] == '0' && text[1] == 'x') {
    base = 16;
    text += 2;
  }
  std::uint64_t value = 0;
  for (; *text != '\0'; ++text) {
    const int c = *text | 0x20;
    const int digit = c >= 'a' ? c - 'a' + 10 : *text - '0';
    if (digit < 0 || static_cast<std::uint64_t>(digit) >= base) return 0;
    value = value * base + static_cast<std::uint64_t>(digit);
    if (value > 0xffffffff) return 0;
  }
  return value;
}

const char* behind_of_environment() {
  const char* const path = ::getenv("ROBUSTRUN_NCCL_BEHIND");
  return path == nullptr || *path == '\0' ? nullptr : path;
}

bool is_shown(int version) {
  const char* const versions = ::getenv("ROBUSTRUN_NCCL_VERSIONS");
  if (versions == nullptr || *versions == '\0') return true;
  return std::strchr(versions, '0' + version) != nullptr;
}

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace robustrun::tracer::nccl
