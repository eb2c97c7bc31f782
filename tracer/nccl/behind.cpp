#include "tracer/nccl/behind.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/attach.h"
#include "tracer/nccl/words.h"

// With the oldest version of the symbols: they are in libc.so.6, before glibc 2.34 in libdl.so.2,
// which every interpreter has loaded.
#if defined(__x86_64__)
__asm__(".symver rr_dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver rr_dlsym, dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver rr_dlopen, dlopen@GLIBC_2.17");
__asm__(".symver rr_dlsym, dlsym@GLIBC_2.17");
#endif
extern "C" {
void* rr_dlopen(const char* path, int flags);
void* rr_dlsym(void* library, const char* name);
}

namespace robustrun::tracer::nccl {
namespace {

constexpr int kNow = 2;  // RTLD_NOW, as NCCL asks for; RTLD_LOCAL is 0

constexpr std::size_t kVersions = abi::kNewestVersion + 1;
std::array<std::atomic<const void*>, kVersions> g_tables;
std::array<bool, kVersions> g_is_looked_up;  // under g_mutex
void* g_library = nullptr;                   // never closed
bool g_is_tried = false;
int g_mask = 0;
std::atomic<int*> g_place{&g_mask};  // of the other plugin's mask
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

// One line, and only here: after the agent's own trial this is rare.
void complain(const char* path) {
  std::array<char, 512> line;
  constexpr const char kBefore[] = "robustrun: cannot load NCCL's profiler plugin ";
  constexpr const char kAfter[] = "; only robustrun's own is used\n";
  const std::size_t length = ::strnlen(path, line.size() - sizeof kBefore - sizeof kAfter);
  char* at = line.data();
  const auto add = [&at](const char* text, std::size_t size) {
    std::memcpy(at, text, size);
    at += size;
  };
  add(kBefore, sizeof kBefore - 1);
  add(path, length);
  add(kAfter, sizeof kAfter - 1);
  const auto size = static_cast<std::size_t>(at - line.data());
  static_cast<void>(!::write(STDERR_FILENO, line.data(), size));
}

const void* look_up(int version) {
  if (!g_is_tried) {
    g_is_tried = true;
    const char* const path = behind_of_environment();
    if (path == nullptr) return nullptr;
    g_library = rr_dlopen(path, kNow);
    if (g_library == nullptr) complain(path);
  }
  if (g_library == nullptr) return nullptr;
  std::array<char, 16> name = {"ncclProfiler_v"};
  name[14] = static_cast<char>('0' + version);
  return rr_dlsym(g_library, name.data());
}

// All tables begin with the plugin's name.
const char* name_in(const void* table) { return *static_cast<const char* const*>(table); }

bool is_ours(const void* found, const void* own) {
  const char* const name = name_in(found);
  return found == own || (name != nullptr && std::strcmp(name, name_in(own)) == 0);
}

}  // namespace

void load_behind(int version, const void* own) {
  const auto at = static_cast<std::size_t>(version);
  ::pthread_mutex_lock(&g_mutex);
  if (!g_is_looked_up[at]) {
    g_is_looked_up[at] = true;
    const void* const found = look_up(version);
    if (found != nullptr && !is_ours(found, own))
      g_tables[at].store(found, std::memory_order_release);
  }
  ::pthread_mutex_unlock(&g_mutex);
}

const void* behind(int version) {
  return g_tables[static_cast<std::size_t>(version)].load(std::memory_order_acquire);
}

int* mask_behind(int* nccls) {
  int* const place = tables() == nullptr ? nccls : &g_mask;
  g_place.store(place, std::memory_order_release);
  return place;
}

std::uint64_t events_behind() {
  return static_cast<std::uint32_t>(get(*g_place.load(std::memory_order_acquire)));
}

bool is_wanted(std::uint64_t type, std::uint64_t events) {
  using namespace abi;  // the bits
  constexpr std::uint64_t kInTask = kProxyOp | kProxyStep | kKernelCh | kKernelPhase | kNetPlugin;
  constexpr std::uint64_t kOfEngines = kCeColl | kCeSync | kCeBatch;
  constexpr std::uint64_t kTasks = kColl | kP2p | kInTask;
  std::uint64_t also = 0;
  switch (type) {
    case kGroup: also = kTasks; break;
    case kColl:
    case kP2p: also = kInTask; break;
    case kGroupApi: also = kGroup | kCollApi | kP2pApi | kKernelLaunch | kTasks | kOfEngines; break;
    case kCollApi: also = kColl | kInTask | kOfEngines; break;
    case kP2pApi: also = kP2p | kInTask; break;
    case kProxyOp: also = kProxyStep | kNetPlugin; break;
    case kProxyStep: also = kNetPlugin; break;
    case kKernelCh: also = kKernelPhase; break;
    case kCeColl: also = kOfEngines; break;
    default: break;
  }
  return (events & (type | also)) != 0;
}

}  // namespace robustrun::tracer::nccl
