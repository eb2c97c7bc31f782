// Waits in state D, where only SIGKILL reaches it: in vfork(), whose child does not end. Writes
// "ready\n" first. With an argument, a child does so, and the parent waits for signals.
#include <unistd.h>

namespace {

[[noreturn]] void block() {
  if (::vfork() == 0) {
    for (;;) ::pause();
  }
  ::_exit(1);
}

}  // namespace

int main(int argc, char**) {
  const bool in_child = argc > 1;
  if (in_child && ::fork() == 0) block();
  static_cast<void>(!::write(STDOUT_FILENO, "ready\n", 6));
  if (!in_child) block();
  for (;;) ::pause();
}
