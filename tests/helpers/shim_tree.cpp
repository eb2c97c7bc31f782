// Trees of processes for tests of killing. Every process writes one byte to stdout once it is set
// up and keeps stdout open: end of file means that all are dead. None outlives kLifeSeconds.
//   shim_tree family N [EXIT]   N processes, each with a session of its own and orphaned at once;
//                               the worker then sleeps, or exits with EXIT
//   shim_tree stubborn          ignores every signal that can be ignored
//   shim_tree bomb N            at most N processes, which replace each other as they are killed
//   shim_tree chain             each forks its successor, makes a session and exits
//   shim_tree hog               takes memory until it is stopped, at most kHogBytesMax

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>

namespace {

constexpr unsigned kLifeSeconds = 20;
constexpr std::size_t kHogBytesMax = std::size_t{256} << 20;
constexpr std::size_t kHogStep = std::size_t{1} << 20;
time_t end_of_life = 0;

time_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

// Alarms are not inherited, so every process sets its own.
void stand() {
  if (now() >= end_of_life) _exit(0);
  alarm(static_cast<unsigned>(end_of_life - now()));
  if (write(STDOUT_FILENO, ".", 1) != 1) _exit(1);
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

int family(int count, const char* exit_code) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      stand();
      sleep_for_ever();
    }
    waitpid(child, nullptr, 0);
  }
  stand();
  if (exit_code != nullptr) return std::atoi(exit_code);
  sleep_for_ever();
}

void ignore_all() {
  for (int signal = 1; signal < SIGRTMAX; ++signal) std::signal(signal, SIG_IGN);
}

// Shared by all processes of the bomb: the pid that holds each place, 0 for none.
struct Places {
  int count;
  std::atomic<pid_t> holders[1024];
};
constexpr pid_t kReserved = -1;

// A place that is free or whose process is dead; it is reserved before the fork, so that there are
// never more processes than places.
std::atomic<pid_t>* reserve_place(Places& places) {
  for (int i = 0; i < places.count; ++i) {
    auto& holder = places.holders[(getpid() + i) % places.count];
    pid_t pid = holder.load();
    const bool dead = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
    if ((pid == 0 || dead) && holder.compare_exchange_strong(pid, kReserved)) return &holder;
  }
  return nullptr;
}

[[noreturn]] void bomb(Places& places) {
  stand();
  for (;;) {
    if (now() >= end_of_life) _exit(0);
    usleep(200);
    std::atomic<pid_t>* place = reserve_place(places);
    if (place == nullptr) continue;
    const pid_t child = fork();
    if (child != 0) {
      place->store(child < 0 ? 0 : child);
      continue;
    }
    setsid();
    stand();
  }
}

[[noreturn]] void chain() {
  stand();
  for (;;) {
    if (now() >= end_of_life) _exit(0);
    if (fork() != 0) _exit(0);
    setsid();
  }
}

}  // namespace

int main(int argc, char** argv) {
  end_of_life = now() + kLifeSeconds;
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "family") return family(std::atoi(argv[2]), argc > 3 ? argv[3] : nullptr);
  if (mode == "stubborn") {
    ignore_all();
    stand();
    sleep_for_ever();
  }
  if (mode == "bomb") {
    void* memory =
        mmap(nullptr, sizeof(Places), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* places = new (memory) Places{};
    places->count = std::atoi(argv[2]);
    places->holders[0] = getpid();
    std::signal(SIGCHLD, SIG_IGN);
    bomb(*places);
  }
  if (mode == "chain") {
    if (fork() == 0) chain();
    stand();
    sleep_for_ever();
  }
  if (mode == "hog") {
    stand();
    for (std::size_t taken = 0; taken < kHogBytesMax; taken += kHogStep) {
      void* memory = std::malloc(kHogStep);
      if (memory == nullptr) return 1;
      std::memset(memory, 1, kHogStep);
    }
    return 0;
  }
  return 2;
}
