// libnccl-profiler-recorder.so: a profiler plugin of NCCL as a site may have one. It writes down
// every call, for tests of plugins behind ours. Made for tests alone.
//
// NCCL's own example plugin (plugins/profiler/example of NVIDIA/nccl) is in no package of PyPI or
// Debian, so it cannot be used here. By its versions this one can look like each release of it:
// 1 (NCCL 2.23), 2 (2.24 to 2.26), 4 (2.27), 5 (2.28, 2.29; also NVIDIA's Inspector), 5 and 6
// (2.30).
//
//   NCCL_RECORDER_VERSIONS the versions of the interface that it has; default: 4 6 7
//   NCCL_RECORDER_LOG      the file to write to, when the process ends; "%p" is its pid
//   NCCL_RECORDER_MASK     its activation mask (hexadecimal); default: all events
//   NCCL_RECORDER_LATE     it asks for no events until a communicator is closed
//   NCCL_RECORDER_HANDLES  "null": it gives NCCL no handles; "high": numbers with high bits instead
//                          of pointers; "reused": few pointers, again and again
//   NCCL_RECORDER_QUICK    it writes nothing down, for measurements
//   NCCL_RECORDER_FAILS    N: its init() fails for every Nth communicator
//   NCCL_RECORDER_CRASHES  it crashes when it is loaded

#include <pthread.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "tracer/nccl/abi_tables.h"

namespace {

namespace abi = robustrun::tracer::nccl::abi;

constexpr std::uint64_t kHigh = 0x7000000000000000;
constexpr std::uint64_t kReusedMax = 64;

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

class Recorder {
 public:
  Recorder() {
    if (std::getenv("NCCL_RECORDER_CRASHES") != nullptr) std::raise(SIGSEGV);
  }
  ~Recorder() {
    const char* const named = std::getenv("NCCL_RECORDER_LOG");
    std::string path = named == nullptr ? "" : named;
    if (const auto at = path.find("%p"); at != std::string::npos) {
      path.replace(at, 2, std::to_string(::getpid()));
    }
    std::FILE* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
    if (file == nullptr) return;
    std::fputs(log_.c_str(), file);
    std::fclose(file);
  }

  void* begin(const char* what, std::uint64_t type, void* parent, void* group, std::size_t count,
              bool is_context = false) {
    const std::uint64_t number = ++newest_;
    void* const handle =
        is_context ? reinterpret_cast<void*>(0x1000 * (number + 1)) : handle_of(number);
    numbers_[handle] = number;
    log_ += std::string(what) + " " + std::to_string(type) + " of " + name_of(parent) + " in " +
            name_of(group) + " count " + std::to_string(count) + " -> " + std::to_string(number) +
            "\n";
    return handle;
  }
  void note(const char* what, void* handle, std::uint64_t detail) {
    log_ += std::string(what) + " " + name_of(handle) + " " + std::to_string(detail) + "\n";
  }

 private:
  static void* handle_of(std::uint64_t number) {
    const char* const kind = std::getenv("NCCL_RECORDER_HANDLES");
    const std::string style = kind == nullptr ? "" : kind;
    if (style == "null") return nullptr;
    if (style == "high") return reinterpret_cast<void*>(kHigh + number);
    if (style == "reused") number %= kReusedMax;
    return reinterpret_cast<void*>(0x100000000 + 16 * number);
  }
  // "strange": no handle of ours, which NCCL would never pass.
  std::string name_of(void* handle) {
    if (handle == nullptr) return "nothing";
    const auto found = numbers_.find(handle);
    return found == numbers_.end() ? "strange" : std::to_string(found->second);
  }

  std::string log_;
  std::map<void*, std::uint64_t> numbers_;
  std::uint64_t newest_ = 0;
};

Recorder g_recorder;

class Locked {
 public:
  Locked() { ::pthread_mutex_lock(&g_mutex); }
  ~Locked() { ::pthread_mutex_unlock(&g_mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

int* g_mask = nullptr;

void ask_for(long events) {
  // All communicators share one mask, which other threads read meanwhile, as with NCCL itself.
  __atomic_store_n(g_mask, static_cast<int>(events), __ATOMIC_RELAXED);
}
void ask_for_events() {
  const char* const wanted = std::getenv("NCCL_RECORDER_MASK");
  ask_for(wanted == nullptr ? 0xffff : std::strtol(wanted, nullptr, 16));
}

abi::Result open(void** context, int* mask, const char* name, std::uint64_t comm) {
  const Locked locked;
  static unsigned long opened = 0;
  const char* const fails = std::getenv("NCCL_RECORDER_FAILS");
  if (fails != nullptr && ++opened % std::strtoul(fails, nullptr, 10) == 0) return 3;
  g_mask = mask;
  if (std::getenv("NCCL_RECORDER_LATE") == nullptr) {
    ask_for_events();
  } else {
    ask_for(0);
  }
  *context = g_recorder.begin(name, comm, nullptr, nullptr, 0, true);
  return 0;
}
abi::Result init1(void** context, int* mask) { return open(context, mask, "no name", 0); }
abi::Result init4(void** context, int* mask, const char* name, std::uint64_t comm, int, int, int,
                  abi::Log log) {
  if (log == nullptr) return 1;  // it would use it
  return open(context, mask, name, comm);
}
abi::Result init5(void** context, std::uint64_t comm, int* mask, const char* name, int, int, int,
                  abi::Log log) {
  if (log == nullptr) return 1;
  return open(context, mask, name, comm);
}

const bool g_is_quick = std::getenv("NCCL_RECORDER_QUICK") != nullptr;

template <class Event>
abi::Result start(void* context, void** handle, Event* event) {
  if (g_is_quick) {
    static std::uint64_t newest = 0;
    *handle = reinterpret_cast<void*>(0x100000000 + 64 * (++newest % 16384));
    return 0;
  }
  const Locked locked;
  void* group = nullptr;
  std::size_t count = 0;
  if (event->type == abi::kColl) count = event->coll.count;
  if constexpr (sizeof event->type == 8) {
    if (event->type == abi::kColl) group = event->coll.group;
    if (event->type == abi::kP2p) group = event->p2p.group;
  }
  g_recorder.note("context", context, 0);
  *handle = g_recorder.begin("start", event->type, event->parent, group, count);
  return 0;
}
abi::Result stop(void* handle) {
  if (g_is_quick) return 0;
  const Locked locked;
  g_recorder.note("stop", handle, 0);
  return 0;
}
template <class Args>
abi::Result record(void* handle, abi::State state, Args* args) {
  if (g_is_quick) return 0;
  const Locked locked;
  g_recorder.note("state", handle, static_cast<std::uint64_t>(state));
  if (args != nullptr) {
    std::uint64_t detail = 0;
    std::memcpy(&detail, args, sizeof detail);
    g_recorder.note("argument", handle, detail);
  }
  return 0;
}
abi::Result finalize(void* context) {
  const Locked locked;
  g_recorder.note("finalize", context, 0);
  if (std::getenv("NCCL_RECORDER_LATE") != nullptr) ask_for_events();
  return 0;
}

template <class Event>
constexpr abi::Table1<Event, abi::Args1> kOld = {"recorder",         init1,   start<Event>, stop,
                                                 record<abi::Args1>, finalize};
constexpr abi::Table4<abi::Event4> kFourth = {"recorder",         init4,   start<abi::Event4>, stop,
                                              record<abi::Args4>, finalize};
template <class Event>
constexpr abi::Table5<Event> kNew = {"recorder",         init5,   start<Event>, stop,
                                     record<abi::Args4>, finalize};

using Shown = void (*)();  // in truth data, but this is what an ifunc resolver returns

Shown if_shown(char version, const void* table) {
  const char* const versions = std::getenv("NCCL_RECORDER_VERSIONS");
  const char* const shown = versions == nullptr ? "4 6 7" : versions;
  return std::strchr(shown, version) == nullptr ? nullptr : std::bit_cast<Shown>(table);
}

}  // namespace

extern "C" {
#define RR_SHOW(version, digit, table)                                \
  Shown recorder_table_##version() { return if_shown(digit, table); } \
  __attribute__((ifunc("recorder_table_" #version),                   \
                 visibility("default"))) void ncclProfiler_v##version()
RR_SHOW(1, '1', &kOld<abi::Event1>);
RR_SHOW(2, '2', &kOld<abi::Event2>);
RR_SHOW(3, '3', &kOld<abi::Event3>);
RR_SHOW(4, '4', &kFourth);
RR_SHOW(5, '5', &kNew<abi::Event5>);
RR_SHOW(6, '6', &kNew<abi::Event6>);
RR_SHOW(7, '7', &kNew<abi::Event7>);
#undef RR_SHOW
}
