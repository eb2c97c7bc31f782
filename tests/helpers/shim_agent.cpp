// A stand-in for an agent: starts `SHIM -- PROGRAM ARGS…` with a control socket, passes its
// stdout on, and sleeps until it is killed.   shim_agent SHIM PROGRAM ARGS…

#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pair[1], 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  std::string dashes = "--";
  std::vector<char*> arguments = {argv[1], dashes.data()};
  for (int i = 2; i <= argc; ++i) arguments.push_back(argv[i]);
  pid_t pid = 0;
  if (posix_spawn(&pid, argv[1], &actions, nullptr, arguments.data(), environ) != 0) return 1;
  close(pair[1]);
  for (;;) pause();
}
